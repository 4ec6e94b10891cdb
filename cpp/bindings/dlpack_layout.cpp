#include "bindings/dlpack_layout.h"

#include <utility>

namespace tilewright::dlpack {

namespace {

constexpr std::pair<std::uint8_t, TypeKind> kinds[] = {
    {0, TypeKind::Int},    {1, TypeKind::UInt},    {2, TypeKind::Float},
    {4, TypeKind::BFloat}, {5, TypeKind::Complex}, {6, TypeKind::Bool},
};

} // namespace

std::optional<ScalarType> scalar_type(const ElementType &type) {
  for (const auto &[code, kind] : kinds) {
    const ScalarType candidate{kind, type.bits};
    if (code == type.code && type.lanes == 1 && type_from_name(type_name(candidate)) == candidate) {
      return candidate;
    }
  }
  return std::nullopt;
}

ElementType element_type(ScalarType type) {
  for (const auto &[code, kind] : kinds) {
    if (kind == type.kind) {
      return {code, type.bits, 1};
    }
  }
  return {};
}

std::string type_text(const ElementType &type) {
  static const char *const names[] = {"int",    "uint",    "float", "handle",
                                      "bfloat", "complex", "bool"};
  std::string text =
      type.code < 7 ? names[type.code] : "type " + std::to_string(type.code) + " of ";
  text += std::to_string(type.bits);
  return text + (type.lanes == 1 ? "" : " x " + std::to_string(type.lanes));
}

std::string device_text(const Device &device) {
  std::string name = "of DLPack type " + std::to_string(device.type);
  switch (device.type) {
  case 2:
    name = "CUDA";
    break;
  case 4:
    name = "OpenCL";
    break;
  case 7:
    name = "Vulkan";
    break;
  case 8:
    name = "Metal";
    break;
  case 10:
    name = "ROCm";
    break;
  case 13:
    name = "CUDA (managed)";
    break;
  case 14:
    name = "oneAPI";
    break;
  default:
    break;
  }
  return "device " + name + " " + std::to_string(device.number);
}

} // namespace tilewright::dlpack
