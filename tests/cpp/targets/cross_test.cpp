// Cross-target code generation: vector loops become vector instructions of AArch64. (That code can
// be made for all other kernels of these tests is checked where they are compiled.)
#include "targets/cross.h"
#include "targets/kernel_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// out[lanes * j ..] = out[...] + x[...] * x[...], in vectors.
Kernel squares(ScalarType type, int lanes) {
  Kernel kernel;
  kernel.name = "squares";
  kernel.parameters = {"N"};
  kernel.buffers = {argument("x", type, 1, false), argument("out", type, 1, true)};
  const std::vector<ValuePtr> at = {ramp(mul(integer(lanes), variable(1, "j")), 1, lanes)};
  const ValuePtr x = load(0, "x", {type, lanes}, at);
  const ValuePtr sum =
      binary_value(Op::Add, load(1, "out", {type, lanes}, at), binary_value(Op::Mul, x, x));
  kernel.body = for_loop(1, "j", integer(0), parameter_value(0, "N"), LoopKind::Serial, 0,
                         store(1, "out", at, sum));
  return kernel;
}

TEST(CrossTargets, VectorsBecomeNeon) {
  const std::string code = aarch64_assembly(squares(Float32, 8), "+neon", true);
  EXPECT_THAT(code, ContainsRegex("fmla\tv[0-9]+\\.4s"));
  EXPECT_THAT(aarch64_assembly(squares(Float64, 4), "+neon", false),
              ContainsRegex("fmul\tv[0-9]+\\.2d"));
  EXPECT_THAT(aarch64_assembly(squares(Float64, 4), "+neon", false), Not(HasSubstr("fmla")));
}

TEST(CrossTargets, VectorsRunOnMachinesWithSve) {
  // Vectors of a fixed length stay NEON's where the length of SVE's is not known.
  const std::string code = aarch64_assembly(squares(Float32, 8), "+sve", true);
  EXPECT_THAT(code, ContainsRegex("fml[a]\t[vz][0-9]+\\.(4s|s)"));
  EXPECT_THAT(aarch64_assembly(squares(Int64, 8), "+sve", false),
              ContainsRegex("m(ul|la)\tz[0-9]+\\.d")); // NEON has no product of 64-bit integers
}

} // namespace
} // namespace tilewright
