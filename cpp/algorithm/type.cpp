#include "algorithm/type.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace tilewright {

namespace {

struct NamedType {
  const char *name;
  ScalarType type;
};

constexpr std::array<NamedType, 15> named_types{{{"bool", Bool},
                                                 {"int8", Int8},
                                                 {"int16", Int16},
                                                 {"int32", Int32},
                                                 {"int64", Int64},
                                                 {"uint8", UInt8},
                                                 {"uint16", UInt16},
                                                 {"uint32", UInt32},
                                                 {"uint64", UInt64},
                                                 {"float16", Float16},
                                                 {"bfloat16", BFloat16},
                                                 {"float32", Float32},
                                                 {"float64", Float64},
                                                 {"complex64", Complex64},
                                                 {"complex128", Complex128}}};

ScalarType wider(ScalarType a, ScalarType b) { return a.bits >= b.bits ? a : b; }

ScalarType promote_integers(ScalarType a, ScalarType b) {
  if (a.kind == b.kind) {
    return wider(a, b);
  }
  const ScalarType with_sign = a.kind == TypeKind::Int ? a : b;
  const ScalarType without_sign = a.kind == TypeKind::Int ? b : a;
  if (with_sign.bits > without_sign.bits) {
    return with_sign;
  }
  if (without_sign.bits == 64) {
    return Float64;
  }
  return {TypeKind::Int, static_cast<std::uint8_t>(without_sign.bits * 2)};
}

ScalarType promote_floats(ScalarType a, ScalarType b) {
  if (a.bits == 16 && b.bits == 16 && a != b) {
    return Float32;
  }
  return wider(a, b);
}

} // namespace

std::string type_name(ScalarType type) {
  for (const NamedType &entry : named_types) {
    if (entry.type == type) {
      return entry.name;
    }
  }
  return "invalid";
}

std::optional<ScalarType> type_from_name(const std::string &name) {
  for (const NamedType &entry : named_types) {
    if (name == entry.name) {
      return entry.type;
    }
  }
  return std::nullopt;
}

ScalarType math_type(ScalarType type) {
  if (type.is_floating() || type.is_complex()) {
    return type;
  }
  return type.bits == 8 ? Float16 : type.bits == 16 ? Float32 : Float64;
}

ScalarType component_type(ScalarType type) {
  if (!type.is_complex()) {
    return type;
  }
  return type.bits == 64 ? Float32 : Float64;
}

ScalarType complex_type(ScalarType type) {
  if (type.is_complex()) {
    return type;
  }
  return math_type(type).bits <= 32 ? Complex64 : Complex128;
}

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == b || b.is_bool()) {
    return a;
  }
  if (a.is_bool()) {
    return b;
  }
  if (a.is_complex() || b.is_complex()) {
    return wider(complex_type(a), complex_type(b));
  }
  if (a.is_integer() && b.is_integer()) {
    return promote_integers(a, b);
  }
  if (a.is_floating() && b.is_floating()) {
    return promote_floats(a, b);
  }
  const ScalarType floating = a.is_floating() ? a : b;
  const ScalarType needed = math_type(a.is_floating() ? b : a);
  return floating.bits >= needed.bits ? floating : needed;
}

ScalarType promote_weak(ScalarType other, TypeKind weak) {
  switch (weak) {
  case TypeKind::Bool:
    return other;
  case TypeKind::Int:
  case TypeKind::UInt:
    return other.is_bool() ? Int64 : other;
  case TypeKind::Float:
  case TypeKind::BFloat:
    return other.is_floating() || other.is_complex() ? other : Float64;
  case TypeKind::Complex:
    return other.is_floating() || other.is_complex() ? complex_type(other) : Complex128;
  }
  return other;
}

bool can_cast_same_kind(ScalarType from, ScalarType to) {
  const auto rank = [](ScalarType type) {
    switch (type.kind) {
    case TypeKind::Bool:
      return 0;
    case TypeKind::UInt:
      return 1;
    case TypeKind::Int:
      return 2;
    case TypeKind::Float:
    case TypeKind::BFloat:
      return 3;
    case TypeKind::Complex:
      return 4;
    }
    return 4;
  };
  return rank(from) <= rank(to);
}

std::int64_t integer_min(ScalarType type) {
  if (!type.is_signed_integer()) {
    return 0;
  }
  return std::numeric_limits<std::int64_t>::min() >> (64 - type.bits);
}

std::uint64_t integer_max(ScalarType type) {
  if (type.is_bool()) {
    return 1;
  }
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max() >> (64 - type.bits);
  return type.is_signed_integer() ? all >> 1U : all;
}

} // namespace tilewright
