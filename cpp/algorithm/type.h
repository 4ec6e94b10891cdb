// Scalar types and NumPy's promotion rules over them. The table follows NumPy 2 (NEP 50): a Python
// number is weak and takes the other operand's type, where its kind allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright {

enum class TypeKind : std::uint8_t { Bool, Int, UInt, Float, BFloat, Complex };

struct ScalarType {
  TypeKind kind = TypeKind::Float;
  std::uint8_t bits = 32; ///< storage bits: bool 8, complex64 64, bfloat16 16

  bool operator==(const ScalarType &) const = default;
  constexpr int bytes() const { return bits / 8; }
  constexpr bool is_bool() const { return kind == TypeKind::Bool; }
  constexpr bool is_integer() const { return kind == TypeKind::Int || kind == TypeKind::UInt; }
  constexpr bool is_signed_integer() const { return kind == TypeKind::Int; }
  constexpr bool is_floating() const { return kind == TypeKind::Float || kind == TypeKind::BFloat; }
  constexpr bool is_complex() const { return kind == TypeKind::Complex; }
};

inline constexpr ScalarType Bool{TypeKind::Bool, 8};
inline constexpr ScalarType Int8{TypeKind::Int, 8};
inline constexpr ScalarType Int16{TypeKind::Int, 16};
inline constexpr ScalarType Int32{TypeKind::Int, 32};
inline constexpr ScalarType Int64{TypeKind::Int, 64};
inline constexpr ScalarType UInt8{TypeKind::UInt, 8};
inline constexpr ScalarType UInt16{TypeKind::UInt, 16};
inline constexpr ScalarType UInt32{TypeKind::UInt, 32};
inline constexpr ScalarType UInt64{TypeKind::UInt, 64};
inline constexpr ScalarType Float16{TypeKind::Float, 16};
inline constexpr ScalarType BFloat16{TypeKind::BFloat, 16};
inline constexpr ScalarType Float32{TypeKind::Float, 32};
inline constexpr ScalarType Float64{TypeKind::Float, 64};
inline constexpr ScalarType Complex64{TypeKind::Complex, 64};
inline constexpr ScalarType Complex128{TypeKind::Complex, 128};

/// NumPy's name: "bool", "int8" ... "uint64", "float16", "bfloat16", "float32", "float64",
/// "complex64", "complex128".
std::string type_name(ScalarType type);
std::optional<ScalarType> type_from_name(const std::string &name);

/// The type of `a op b` for two arrays (np.promote_types). bfloat16 behaves beside integers as
/// float16 does (8-bit integers keep it, 16-bit ones give float32, wider ones float64); bfloat16
/// with float16 gives float32.
ScalarType promote(ScalarType a, ScalarType b);

/// The type that a weak Python number of kind `weak` (Bool, Int, Float or Complex) takes beside an
/// operand of type `other`: int beside any number takes the number's type, float beside an integer
/// gives float64, complex beside float32 gives complex64.
ScalarType promote_weak(ScalarType other, TypeKind weak);

/// What a function such as sqrt gives for an argument of `type`: floats and complex numbers keep
/// their type; bool and 8-bit integers give float16, 16-bit ones float32, wider ones float64, as
/// NumPy's loops have it.
ScalarType math_type(ScalarType type);

/// The type of one component: float32 for complex64, float64 for complex128; any other type is its
/// own component.
ScalarType component_type(ScalarType type);
/// The complex type whose component holds `type`: complex64 up to float32 and 16-bit integers,
/// complex128 beyond.
ScalarType complex_type(ScalarType type);

/// np.can_cast(from, to, casting="same_kind"): what may be stored without an explicit cast. A
/// narrower type of the same kind is allowed, and so is unsigned to signed, but not signed to
/// unsigned, float to integer or complex to real.
bool can_cast_same_kind(ScalarType from, ScalarType to);

/// Smallest and largest value of an integer type (bool: 0 and 1).
std::int64_t integer_min(ScalarType type);
std::uint64_t integer_max(ScalarType type);

} // namespace tilewright
