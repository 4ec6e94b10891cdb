// Written by scripts/math_coefficients.py, which derives every number here: minimax
// polynomials (lowest power first) with the largest error that remains, relative to the
// function's value, and constants split into parts whose products are exact.
#pragma once

#include <array>
#include <cstdint>

// clang-format off
namespace tilewright::math_coefficients {

/// (exp(r) - 1 - r) / r^2 on [-0.3466, 0.3466]; error 2^-60.29
inline constexpr std::array<double, 11> exp_tail = {
    0x1p-1,
    0x1.555555555555bp-3,
    0x1.5555555555503p-5,
    0x1.111111110ec5ep-7,
    0x1.6c16c16c304f5p-10,
    0x1.a01a01b37e103p-13,
    0x1.a01a0136788bap-16,
    0x1.71ddf0213260ep-19,
    0x1.27e5b46ccc3e1p-22,
    0x1.af6be72d71627p-26,
    0x1.1e3cfb5cc8788p-29,
};

/// (exp(r) - 1 - r) / r^2 on [-0.3466, 0.3466]; error 2^-37.46
inline constexpr std::array<double, 7> exp_short = {
    0x1.fffffffff59cap-2,
    0x1.555555737e04ep-3,
    0x1.55555579fc3a2p-5,
    0x1.1110b1cdb6c49p-7,
    0x1.6c163e9438d90p-10,
    0x1.a16fe79a69013p-13,
    0x1.a16f192b31ec9p-16,
};

/// (exp(r) - 1 - r) / r^2 on [-0.3466, 0.3466]; error 2^-28.18
inline constexpr std::array<double, 5> exp_single = {
    0x1.fffffc0000000p-2,
    0x1.55548e0000000p-3,
    0x1.5558a40000000p-5,
    0x1.123bce0000000p-7,
    0x1.6a5b040000000p-10,
};

/// (2^r - 1 - ln(2) r) / r^2 on [-0.5, 0.5]; error 2^-58.69
inline constexpr std::array<double, 11> exp2_tail = {
    0x1.ebfbdff82c58fp-3,
    0x1.c6b08d704a0c8p-5,
    0x1.3b2ab6fba4e2bp-7,
    0x1.5d87fe78a383ep-10,
    0x1.430912f883213p-13,
    0x1.ffcbfc7061f61p-17,
    0x1.62c021e058a29p-20,
    0x1.b524e58ca1cf6p-24,
    0x1.e4d0804cbfd07p-28,
    0x1.e9f60fa66ee32p-32,
    0x1.c2a76f36734a4p-36,
};

/// 2^r on [-0.5, 0.5]; error 2^-28.06
inline constexpr std::array<double, 7> exp2_single = {
    0x1p+0,
    0x1.62e4300000000p-1,
    0x1.ebfbd80000000p-3,
    0x1.c6af780000000p-5,
    0x1.3b30b00000000p-7,
    0x1.5f0a660000000p-10,
    0x1.3f906c0000000p-13,
};

/// (2 atanh(s) / s - 2) / s^2 in s^2 on [0.0, 0.02945]; error 2^-58.79
inline constexpr std::array<double, 7> log_tail = {
    0x1.5555555555593p-1,
    0x1.999999997fcb0p-2,
    0x1.2492494201f5ep-2,
    0x1.c71c51fa1c6fap-3,
    0x1.74664252bcf52p-3,
    0x1.39a15c12943e6p-3,
    0x1.2f0957e079f82p-3,
};

/// (2 atanh(s) / s - 2) / s^2 in s^2 on [0.0, 0.02945]; error 2^-44.93
inline constexpr std::array<double, 5> log_short = {
    0x1.555555561e9fdp-1,
    0x1.999996a80a37bp-2,
    0x1.24941283f3a25p-2,
    0x1.c62adfbd15f48p-3,
    0x1.9118b7894a677p-3,
};

/// ((2 atanh(s) / s - 2) / s^2 - 2/3) / s^2 in s^2 on [0.0, 0.02945]; error 2^-66.27
inline constexpr std::array<double, 8> log_second_tail = {
    0x1.9999999999996p-2,
    0x1.249249249303cp-2,
    0x1.c71c71c57f8e4p-3,
    0x1.745d1832bcdc9p-3,
    0x1.3b1362997bc54p-3,
    0x1.1120b9f4a676ap-3,
    0x1.de32bfeee3b0fp-4,
    0x1.eb16ea833f706p-4,
};

/// (log(1 + f) - f + f^2 / 2) / f^3 on [-0.29295, 0.41425]; error 2^-27.18
inline constexpr std::array<double, 8> log_single = {
    0x1.5555540000000p-2,
    -0x1.0002360000000p-2,
    0x1.999f080000000p-3,
    -0x1.546d900000000p-3,
    0x1.22f6860000000p-3,
    -0x1.0dd2260000000p-3,
    0x1.049bda0000000p-3,
    -0x1.3520e20000000p-4,
};

/// cbrt(m) on [0.7071, 1.41422]; error 2^-19.63
inline constexpr std::array<double, 6> cbrt_start = {
    0x1.afced572ffc86p-2,
    0x1.0e57beb10e00fp+0,
    -0x1.ac142c9cc7c4fp-1,
    0x1.05a000456166dp-1,
    -0x1.6fc0848c7ae42p-3,
    0x1.b9a8890816682p-6,
};

/// (sin(r) / r - 1) / r^2 in r^2 on [0.0, 0.617]; error 2^-57.26
inline constexpr std::array<double, 6> sin_tail = {
    -0x1.5555555555549p-3,
    0x1.111111110f878p-7,
    -0x1.a01a019c11473p-13,
    0x1.71de35776e828p-19,
    -0x1.ae5e6601cf07bp-26,
    0x1.5d92f07d6806cp-33,
};

/// (cos(r) - 1 + r^2 / 2) / r^4 in r^2 on [0.0, 0.617]; error 2^-59.9
inline constexpr std::array<double, 6> cos_tail = {
    0x1.555555555554cp-5,
    -0x1.6c16c16c1517ep-10,
    0x1.a01a019cb1c9ep-16,
    -0x1.27e4f809f3f0ep-22,
    0x1.1ee9ebe84b6e8p-29,
    -0x1.8fae9aa553382p-37,
};

/// (sin(r) / r - 1) / r^2 in r^2 on [0.0, 0.617]; error 2^-37.56
inline constexpr std::array<double, 4> sin_short = {
    -0x1.5555554cafbc7p-3,
    0x1.1111089005600p-7,
    -0x1.a00f9918d3713p-13,
    0x1.6cd756d641daap-19,
};

/// (cos(r) - 1 + r^2 / 2) / r^4 in r^2 on [0.0, 0.617]; error 2^-43.2
inline constexpr std::array<double, 4> cos_short = {
    0x1.5555554f4cd0cp-5,
    -0x1.6c16b897379bbp-10,
    0x1.a0111f205acdcp-16,
    -0x1.242aa0a438de0p-22,
};

/// (sin(r) / r - 1) / r^2 in r^2 on [0.0, 0.617]; error 2^-28.01
inline constexpr std::array<double, 3> sin_single = {
    -0x1.5555460000000p-3,
    0x1.11077e0000000p-7,
    -0x1.9956ae0000000p-13,
};

/// (cos(r) - 1 + r^2 / 2) / r^4 in r^2 on [0.0, 0.617]; error 2^-33.1
inline constexpr std::array<double, 3> cos_single = {
    0x1.55554a0000000p-5,
    -0x1.6c0c2e0000000p-10,
    0x1.99eace0000000p-16,
};

/// (tanh(x) / x - 1) / x^2 in x^2 on [0.0, 0.4]; error 2^-27.63
inline constexpr std::array<double, 5> tanh_single = {
    -0x1.5555300000000p-2,
    0x1.1106760000000p-3,
    -0x1.b823200000000p-5,
    0x1.5176b00000000p-6,
    -0x1.72a5720000000p-8,
};

/// erf(x) / x - 1 in x^2 on [0.0, 1.0]; error 2^-56.16
inline constexpr std::array<double, 13> erf_factor = {
    0x1.06eba8214db69p-3,
    -0x1.812746b0379fdp-2,
    0x1.ce2f21a04362dp-4,
    -0x1.b82ce312abefep-6,
    0x1.565bcd1298e84p-8,
    -0x1.c02db49afb8cbp-11,
    0x1.f9a335368c5f6p-14,
    -0x1.f4d3335ad34d6p-17,
    0x1.b9ee92f3c5200p-20,
    -0x1.5f9810fc0cc3fp-23,
    0x1.fc77ba102e001p-27,
    -0x1.4675d488fef9fp-30,
    0x1.296e609a1cc64p-34,
};

/// erf(x) / x - 1 in x^2 on [0.0, 1.0]; error 2^-40.18
inline constexpr std::array<double, 9> erf_factor_short = {
    0x1.06eba82146af4p-3,
    -0x1.812746adf8205p-2,
    0x1.ce2f20adeddc1p-4,
    -0x1.b82cbbbca94c8p-6,
    0x1.5658984722f40p-8,
    -0x1.bfe237bc5dd84p-11,
    0x1.f586d884ff3f3p-14,
    -0x1.d2e0d3566fb01p-17,
    0x1.1c92a1ee1595cp-20,
};

/// erf(x) / x - 1 in x^2 on [0.0, 1.0]; error 2^-24.39
inline constexpr std::array<double, 6> erf_factor_single = {
    0x1.06eba20000000p-3,
    -0x1.81267c0000000p-2,
    0x1.ce0a6a0000000p-4,
    -0x1.b5b1680000000p-6,
    0x1.4289b20000000p-8,
    -0x1.281aac0000000p-11,
};

/// erfc(x) exp(x^2) in (x - 2) / (x + 2) on [-0.333333, 0.5]; error 2^-60.37
inline constexpr std::array<double, 15> erfc_factor = {
    0x1.058671b52c776p-2,
    -0x1.b57034efd3f71p-2,
    0x1.eeea7dc8a78e4p-3,
    -0x1.437f0b68c0fb6p-4,
    0x1.e9471596ae078p-9,
    0x1.ca95ed525896ap-8,
    -0x1.bc25a356e2648p-11,
    -0x1.016b59a69787bp-10,
    0x1.6d5d94289e262p-15,
    0x1.6da57e8a87053p-13,
    0x1.cdae6245c739cp-16,
    -0x1.cd3872d3f3195p-16,
    -0x1.cc323d6f95364p-17,
    0x1.48bc6b7c06d55p-20,
    0x1.462eb5d407557p-19,
};

/// erfc(x) exp(x^2) in (x - 2) / (x + 2) on [-0.333333, 0.333333]; error 2^-43.74
inline constexpr std::array<double, 9> erfc_factor_short = {
    0x1.058671b52ea43p-2,
    -0x1.b57034f21c4d6p-2,
    0x1.eeea7d7257cb3p-3,
    -0x1.437f0962ac9f2p-4,
    0x1.e952e5b03142cp-9,
    0x1.cab33ea691a55p-8,
    -0x1.bdfb8f80a6e4ap-11,
    -0x1.0f3b35a3af0e1p-10,
    -0x1.e3160ff9ac08bp-14,
};

/// erfc(x) exp(x^2) in (x - 2) / (x + 2) on [-0.333333, 0.333333]; error 2^-33.48
inline constexpr std::array<double, 6> erfc_factor_single = {
    0x1.0586720000000p-2,
    -0x1.b570320000000p-2,
    0x1.eeea260000000p-3,
    -0x1.43877a0000000p-4,
    0x1.e8ae2a0000000p-9,
    0x1.d87ec00000000p-8,
};

/// (atan(x) / x - 1) / x^2 in x^2 on [0.0, 0.171573]; error 2^-58.35
inline constexpr std::array<double, 12> atan_tail = {
    -0x1.5555555555554p-2,
    0x1.999999999965bp-3,
    -0x1.2492492475df9p-3,
    0x1.c71c71b77d89dp-4,
    -0x1.745d14c073c6bp-4,
    0x1.3b136ebcddd86p-4,
    -0x1.110c7aa15937bp-4,
    0x1.e172921fc0895p-5,
    -0x1.ab81055d9ce36p-5,
    0x1.70fb0cffec6ddp-5,
    -0x1.1256b5018e821p-5,
    0x1.f26297e5b56eep-7,
};

/// (atan(x) / x - 1) / x^2 in x^2 on [0.0, 0.171573]; error 2^-40.25
inline constexpr std::array<double, 7> atan_short = {
    -0x1.5555554effb7cp-2,
    0x1.99999218dfbe9p-3,
    -0x1.2490c73bd056cp-3,
    0x1.c6d27cd5d96b7p-4,
    -0x1.7087aa9a15559p-4,
    0x1.1e718ddf3a761p-4,
    -0x1.36f4cff652b3ep-5,
};

/// (asin(x) / x - 1) / x^2 in x^2 on [0.0, 0.25]; error 2^-58.56
inline constexpr std::array<double, 13> asin_tail = {
    0x1.5555555555578p-3,
    0x1.333333332df97p-4,
    0x1.6db6db7224e70p-5,
    0x1.f1c71a8e32143p-6,
    0x1.6e8bdf9a05f26p-6,
    0x1.1c49e39e803d4p-6,
    0x1.ca20b86d8a5ffp-7,
    0x1.757c2d9ea313ep-7,
    0x1.616ff97cb4355p-7,
    0x1.e2fb2d0635972p-9,
    0x1.6480233327945p-6,
    -0x1.593a2d9a468cep-6,
    0x1.0ba8255e9e84bp-5,
};

/// (asin(x) / x - 1) / x^2 in x^2 on [0.0, 0.25]; error 2^-39.86
inline constexpr std::array<double, 8> asin_short = {
    0x1.55555547a49e5p-3,
    0x1.333340b60fb58p-4,
    0x1.6db2500df0f0dp-5,
    0x1.f2834baf8f634p-6,
    0x1.6634eeeb08ec4p-6,
    0x1.527788c71ef96p-6,
    0x1.ff0abc978b9bfp-10,
    0x1.0ddad28d6a55dp-5,
};

inline constexpr std::array<double, 2> ln2_parts = {
    0x1.62e42fefa4000p-1,
    -0x1.8432a1b0e2634p-43,
};

inline constexpr std::array<double, 2> ln2_single = {
    0x1.62e0000000000p-1,
    0x1.0bfbe80000000p-15,
};

inline constexpr std::array<double, 2> ln2_double = {
    0x1.62e42fefa39efp-1,
    0x1.abc9e3b39803fp-56,
};

inline constexpr std::array<double, 2> ln2_halves = {
    0x1.62e4300000000p-1,
    -0x1.05c610ca86c39p-29,
};

inline constexpr std::array<double, 2> log2_e_double = {
    0x1.71547652b82fep+0,
    0x1.777d0ffda0d24p-56,
};

inline constexpr std::array<double, 2> log2_e_halves = {
    0x1.7154768000000p+0,
    -0x1.6a3e80f444178p-27,
};

inline constexpr std::array<double, 2> log10_e_halves = {
    0x1.bcb7b18000000p-2,
    -0x1.6c8d78e6acaa4p-29,
};

inline constexpr std::array<double, 2> log10_e_double = {
    0x1.bcb7b1526e50ep-2,
    0x1.95355baaafad3p-57,
};

inline constexpr std::array<double, 2> log10_2_parts = {
    0x1.34413509f8000p-2,
    -0x1.80433b83b532ap-44,
};

inline constexpr std::array<double, 2> log10_2_single = {
    0x1.3440000000000p-2,
    0x1.3509f80000000p-18,
};

inline constexpr std::array<double, 3> half_pi_parts = {
    0x1.921fb54400000p+0,
    0x1.0b4611a600000p-34,
    0x1.3198a2e037073p-69,
};

inline constexpr std::array<double, 2> half_pi_short = {
    0x1.921fb54400000p+0,
    0x1.0b4611a626331p-34,
};

inline constexpr std::array<double, 4> half_pi_single = {
    0x1.9200000000000p+0,
    0x1.fb40000000000p-12,
    0x1.4440000000000p-24,
    0x1.68c2340000000p-39,
};

inline constexpr std::array<double, 2> half_pi_double = {
    0x1.921fb54442d18p+0,
    0x1.1a62633145c07p-54,
};

inline constexpr std::array<double, 2> two_thirds = {
    0x1.5555555555555p-1,
    0x1.5555555555555p-55,
};

inline constexpr std::array<double, 1> cbrt_of_two = {
    0x1.428a2f98d728bp+0,
};

/// The fraction bits of 2 / pi, most significant word first.
inline constexpr std::array<std::uint64_t, 20> two_over_pi = {
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
};

} // namespace tilewright::math_coefficients
// clang-format on
