#include "runtime/gpu_tiles.h"

#include "hardware/gpu.h"
#include "runtime/gpu_emulator.h"

#include <array>
#include <cmath>
#include <cstring>

namespace tilewright {

namespace {

constexpr int rows = 16;
constexpr int columns = 8;
constexpr int max_depth = 16;
constexpr int max_registers = 6;

float float_of_bits(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float half_to_float(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 10U & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) {
    return fraction != 0 ? std::nanf("") : sign * INFINITY;
  }
  return exponent == 0 ? sign * std::ldexp(static_cast<float>(fraction), -24)
                       : sign * std::ldexp(static_cast<float>(fraction | 0x400U),
                                           static_cast<int>(exponent) - 25);
}

/// Element `index` of the registers of one thread.
float element(TileOperands operands, const std::uint32_t *registers, int index) {
  if (operands == TileOperands::Tf32) {
    return float_of_bits(registers[index] & ~0x1fffU); // the other bits are not looked at
  }
  const std::uint32_t bits = registers[index / 2] >> (index % 2 == 0 ? 0U : 16U) & 0xffffU;
  return operands == TileOperands::Half ? half_to_float(bits) : float_of_bits(bits << 16U);
}

struct Factors {
  std::array<std::array<float, max_depth>, rows> left{};
  std::array<std::array<float, columns>, max_depth> right{};
};

/// "Matrix fragments for mma.m16n8k8" and ".m16n8k16" of the PTX manual.
void take(Factors &into, TileOperands operands, int depth, const std::uint32_t *registers,
          int lane) {
  const int group = lane >> 2;
  const int in_group = lane % 4;
  const bool is_single = operands == TileOperands::Tf32;
  const int left = is_single ? 4 : depth / 2;
  const int left_registers = is_single ? left : left / 2;
  for (int i = 0; i < left; ++i) {
    const bool is_upper = is_single ? i == 0 || i == 2 : i < 2 || (i >= 4 && i < 6);
    const int row = is_upper ? group : group + 8;
    const int place =
        is_single ? (i < 2 ? in_group : in_group + 4) : in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    into.left.at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(place)) =
        element(operands, registers, i);
  }
  for (int i = 0; i < left / 2; ++i) {
    const int place =
        is_single ? in_group + (i == 0 ? 0 : 4) : in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    into.right.at(static_cast<std::size_t>(place)).at(static_cast<std::size_t>(group)) =
        element(operands, registers + left_registers, i);
  }
}

} // namespace

} // namespace tilewright

void tilewright_gpu_mma(std::int32_t number, std::int32_t operands, std::int32_t depth,
                        const std::uint32_t *factors, float *sums) {
  using namespace tilewright;
  const auto kind = static_cast<TileOperands>(operands);
  struct Given {
    std::uint32_t lane = 0;
    std::array<std::uint32_t, max_registers> registers{};
  };
  constexpr int registers_of_8 = 3;
  const int registers = kind == TileOperands::Tf32 ? max_registers
                        : depth == 8               ? registers_of_8
                                                   : max_registers;
  Given own;
  own.lane = static_cast<std::uint32_t>(tilewright_gpu_index(3));
  std::memcpy(own.registers.data(), factors, static_cast<std::size_t>(registers) * 4);
  std::array<Given, warp_size> all{};
  tilewright_gpu_exchange(number, &own, sizeof(own), all.data());
  Factors of;
  for (int lane = 0; lane < warp_size; ++lane) {
    take(of, kind, depth, all.at(static_cast<std::size_t>(lane)).registers.data(), lane);
  }
  const int group = static_cast<int>(own.lane) >> 2;
  for (int i = 0; i < 4; ++i) {
    const auto row = static_cast<std::size_t>(i < 2 ? group : group + 8);
    const auto column = static_cast<std::size_t>(static_cast<int>(own.lane) % 4 * 2 + (i & 1));
    for (std::size_t k = 0; k < static_cast<std::size_t>(depth); ++k) {
      sums[i] += of.left.at(row).at(k) * of.right.at(k).at(column);
    }
  }
}

void tilewright_gpu_matrices(std::int32_t number, std::int32_t buffer, std::int32_t count,
                             std::int32_t transposed, const void *row, std::uint32_t *registers) {
  constexpr std::size_t side = 8;
  using Row = std::array<std::uint16_t, side>;
  const auto lane = static_cast<std::size_t>(tilewright_gpu_index(3));
  Row own{};
  if (lane < side * static_cast<std::size_t>(count)) {
    tilewright_gpu_access(row, sizeof(own), buffer, 0, sizeof(own));
    std::memcpy(own.data(), row, sizeof(own));
  }
  std::array<Row, tilewright::warp_size> all{};
  tilewright_gpu_exchange(number, own.data(), sizeof(own), all.data());
  for (std::size_t matrix = 0; matrix < static_cast<std::size_t>(count); ++matrix) {
    std::array<std::uint32_t, 2> pair{};
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t down = lane / 4;
      const std::size_t across = 2 * (lane % 4) + k;
      pair.at(k) = transposed != 0 ? all.at(side * matrix + across).at(down)
                                   : all.at(side * matrix + down).at(across);
    }
    registers[matrix] = pair[0] | pair[1] << 16U;
  }
}

std::uint32_t tilewright_gpu_tf32(float value) {
  constexpr std::uint32_t half_of_last = 0x1000;
  constexpr std::uint32_t dropped = 0x1fff;
  constexpr std::uint32_t not_a_number = 0x7fffffff;
  if (std::isnan(value)) {
    return not_a_number;
  }
  return (tilewright::bits_of(value) + half_of_last) & ~dropped;
}
