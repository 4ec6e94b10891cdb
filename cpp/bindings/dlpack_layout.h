// The published layout of DLPack's tensors (dlpack.h, versions 0.x and 1.x), for both directions.
#pragma once

#include "algorithm/type.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::dlpack {

struct Device {
  std::int32_t type;
  std::int32_t number;
};

struct ElementType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  std::int32_t rank;
  ElementType type;
  std::int64_t *shape;
  std::int64_t *strides; ///< in elements; null: row-major
  std::uint64_t byte_offset;
};

struct LegacyTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(LegacyTensor *self);
};

struct VersionedTensor {
  std::uint32_t major;
  std::uint32_t minor;
  void *context;
  void (*deleter)(VersionedTensor *self);
  std::uint64_t flags;
  Tensor tensor;
};

inline constexpr std::uint64_t read_only_flag = 1;
inline constexpr std::uint64_t is_copied_flag = 2;

inline constexpr const char *legacy_name = "dltensor";
inline constexpr const char *versioned_name = "dltensor_versioned";

enum DeviceType : std::int32_t {
  Host = 1,
  Cuda = 2,
  CudaHost = 3,
  RocmHost = 11,
  CudaManaged = 13
};

/// Nothing where the type does not exist here.
std::optional<ScalarType> scalar_type(const ElementType &type);
ElementType element_type(ScalarType type);
std::string type_text(const ElementType &type);
/// "device CUDA 0"
std::string device_text(const Device &device);

} // namespace tilewright::dlpack
