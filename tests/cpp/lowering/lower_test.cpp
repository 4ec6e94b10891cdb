#include "fixture.h"

namespace tilewright::test {
namespace {

const std::vector<Parameters> matmul_sizes = {
    {{"N", 0}, {"M", 3}, {"K", 2}}, {{"N", 3}, {"M", 4}, {"K", 0}},  {{"N", 1}, {"M", 1}, {"K", 1}},
    {{"N", 8}, {"M", 16}, {"K", 4}}, {{"N", 9}, {"M", 21}, {"K", 7}}, {{"N", 17}, {"M", 35}, {"K", 5}}};

TEST(Lower, DefaultMatmul) {
  const Mapping mapping(matmul());
  const Kernel kernel = expect_all_stages(mapping, matmul_sizes);
  std::cout << print_loop_ir(kernel);
}

TEST(Lower, TiledMatmul) {
  const Mapping mapping = Mapping(matmul())
                              .with(command("C", "tile", {"i", "j", std::int64_t{8}, std::int64_t{16}}))
                              .with(command("C", "parallelize", {"i0"}))
                              .with(command("C", "vectorize", {"j1", std::int64_t{8}}));
  const Kernel kernel = expect_all_stages(mapping, matmul_sizes);
  std::cout << print_loop_ir(lower_mapping(mapping, {{}, false})) << "\n" << print_loop_ir(kernel);
}

}  // namespace
}  // namespace tilewright::test
