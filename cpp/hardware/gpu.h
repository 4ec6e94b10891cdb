// Facts about NVIDIA's GPUs, each stated once. They are from the CUDA C++ Programming Guide,
// "Compute Capabilities" (tables of features and of technical specifications), and from the PTX ISA
// manual. What one device has (its shared memory, its processors) is asked of the driver instead.
#pragma once

#include <array>
#include <cstdint>

namespace tilewright {

/// Threads that run together and can exchange registers.
inline constexpr std::int64_t warp_size = 32;

inline constexpr std::int64_t max_threads_in_block = 1024;
inline constexpr std::int64_t max_threads_in_z = 64; ///< of them, along z
inline constexpr std::int64_t max_blocks_x = 2147483647;
inline constexpr std::int64_t max_blocks_yz = 65535;

/// Shared memory of a block, on the devices that have the most of it (compute capability 9.0).
inline constexpr std::int64_t max_shared_bytes_of_block = std::int64_t{227} * 1024;

/// The bytes that a thread loads or stores at once at most (ld.v4.b32); cp.async copies as many.
inline constexpr std::int64_t widest_access = 16;

/// Compute capabilities, 80 for 8.0.
inline constexpr int turing = 75;
inline constexpr int ampere = 80;
inline constexpr int hopper = 90;
/// Those that code is made for, oldest first: LLVM and the PTX that we write know them.
inline constexpr std::array gpu_architectures = {turing, ampere, 86, 87, 89, hopper};
inline constexpr int oldest_architecture = gpu_architectures.front();
/// The one that has code for itself alone: sm_90a.
inline constexpr int exact_architecture = hopper;
/// cp.async, from global to shared memory.
inline constexpr int first_with_asynchronous_copies = ampere;
/// mma.m16n8k8 of float16; the other shapes that we use (float16 of depth 16, bfloat16, tf32).
inline constexpr int first_with_tensor_products = turing;
inline constexpr int first_with_all_tensor_products = ampere;

/// What a product of tensor cores gives: 16 x 8 sums, four of a row's in each of four threads.
inline constexpr std::int64_t mma_rows = 16;
inline constexpr std::int64_t mma_columns = 8;
inline constexpr std::int64_t lanes_of_row = 4; ///< threads that have a row's sums

} // namespace tilewright
