// Tensor cores on the host, for the GPU emulator: the product of a warp's tile, from the registers
// of its 32 threads as the PTX manual lays them out. Which element is whose is written here a
// second time, apart from what the compiler goes by (mapping/mma_shapes.h): a mistake in one of
// them shows in the results.
#pragma once

#include <cstdint>

namespace tilewright {

/// What a register of 32 bits holds: two numbers of 16 bits, or one.
enum class TileOperands : std::int32_t { Half = 0, BFloat = 1, Tf32 = 2 };

} // namespace tilewright

extern "C" {
/// All threads of a warp come to this together. `factors`: the thread's registers, of the left
/// factor and then of the right one; `sums`: its four, which become those after. `number` says
/// which product of the kernel it is.
void tilewright_gpu_mma(std::int32_t number, std::int32_t operands, std::int32_t depth,
                        const std::uint32_t *factors, float *sums);
/// All threads of a warp come to this together, too: each gets its registers of `count` matrices of
/// 8 x 8 elements of two bytes. Thread t says where row t % 8 of matrix t / 8 is (those of the
/// first `count` groups of eight), in `buffer`, and gets of row t / 4 the columns 2 * (t % 4) and
/// the next one; or of the transposed matrices.
void tilewright_gpu_matrices(std::int32_t number, std::int32_t buffer, std::int32_t count,
                             std::int32_t transposed, const void *row, std::uint32_t *registers);
/// The bits of the nearest tf32: ten bits of fraction, ties away from zero.
std::uint32_t tilewright_gpu_tf32(float value);
}
