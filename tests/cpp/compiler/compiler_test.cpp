// The whole road from a declared function to running machine code, and the cache beside it.
#include "compiler/canonical_text.h"
#include "compiler/compiler.h"
#include "compiler/kernel_metadata.h"
#include "planning/default_mapping.h"
#include "runtime/cache.h"
#include "runtime/parallel.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// C[i,j] = sum over k of A[i,k] * B[k,j], as in the papers.
std::shared_ptr<const Function> matrix_product(const std::string &name,
                                               const SourceLocation &where = {}) {
  const ExprPtr n = parameter("N");
  const ExprPtr m = parameter("M");
  const ExprPtr k_size = parameter("K");
  const ComputationPtr a = declare_input("A", {n, k_size}, Float32, where);
  const ComputationPtr b = declare_input("B", {k_size, m}, Float32, where);
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const ComputationPtr c =
      declare_computation("C", {{"i", zero, n}, {"j", zero, m}}, nullptr, Float32, {}, where);
  const ExprPtr product = binary(Op::Mul, access(a, {iterator("i"), iterator("k")}),
                                 access(b, {iterator("k"), iterator("j")}));
  define_piece(c, nullptr, reduce(Op::ReduceSum, {{"k", zero, k_size}}, product), where);
  return make_function(name, {c}, {a, b}, {}, where);
}

/// out[i] = in[index[i]] with a subscript that only a run can check.
std::shared_ptr<const Function> lookup() {
  const ExprPtr n = parameter("N");
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const ComputationPtr index = declare_input("index", {n}, Int64, {});
  const ComputationPtr in = declare_input("in", {parameter("M")}, Float32, {});
  const ComputationPtr out = declare_computation("out", {{"i", zero, n}}, nullptr, Float32, {}, {});
  define_piece(out, nullptr, access(in, {access(index, {iterator("i")})}), {});
  return make_function("lookup", {out}, {index, in}, {}, {});
}

std::int64_t parameter_of(const Function &function,
                          const std::map<std::string, std::int64_t> &sizes, size_t at) {
  return sizes.at(function.parameters.at(at));
}

/// Runs the matrix product on small whole numbers and compares.
void check_product(const CompiledKernel &kernel, const Function &function, std::int64_t n,
                   std::int64_t m, std::int64_t k_size) {
  std::vector<float> a(static_cast<size_t>(n * k_size));
  std::vector<float> b(static_cast<size_t>(k_size * m));
  std::vector<float> c(static_cast<size_t>(n * m), -1.0F);
  for (size_t at = 0; at < a.size(); ++at) {
    a[at] = static_cast<float>(at % 7) - 3.0F;
  }
  for (size_t at = 0; at < b.size(); ++at) {
    b[at] = static_cast<float>(at % 5) - 1.0F;
  }
  std::vector<std::int64_t> integers;
  for (size_t p = 0; p < function.parameters.size(); ++p) {
    integers.push_back(parameter_of(function, {{"N", n}, {"M", m}, {"K", k_size}}, p));
  }
  for (const std::int64_t stride :
       {4 * k_size, std::int64_t{4}, 4 * m, std::int64_t{4}, 4 * m, std::int64_t{4}}) {
    integers.push_back(stride);
  }
  void *data[] = {a.data(), b.data(), c.data()};
  CallRecord record;
  ASSERT_EQ(kernel.entry()(data, integers.data(), &record), KernelOk);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < k_size; ++k) {
        sum += a[static_cast<size_t>(i * k_size + k)] * b[static_cast<size_t>(k * m + j)];
      }
      ASSERT_EQ(c[static_cast<size_t>(i * m + j)], sum)
          << n << " " << m << " " << k_size << " at " << i << "," << j;
    }
  }
}

class CompilerTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tilewright-compiler-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    unsetenv("TILEWRIGHT_CACHE_DIR");
    set_cache_directory(folder_ + "/kernels");
    cache_clear_memory();
  }
  void TearDown() override {
    set_cache_directory("");
    cache_clear_memory();
    fs::remove_all(folder_);
  }
  std::string folder_;
};

TEST_F(CompilerTest, DefaultMappingOnAllSizes) {
  const auto function = matrix_product("matmul");
  const auto kernel = compile(default_mapping(function), {});
  for (const std::int64_t n : {0, 1, 5}) {
    for (const std::int64_t m : {0, 1, 9}) {
      for (const std::int64_t k : {0, 1, 6}) {
        check_product(*kernel, *function, n, m, k);
      }
    }
  }
}

TEST_F(CompilerTest, TiledParallelVectorised) {
  const auto function = matrix_product("matmul");
  Mapping mapping = default_mapping(function);
  mapping = mapping.with(
      {"C", "tile", {std::string("i"), std::string("j"), std::int64_t{4}, std::int64_t{16}}, {}});
  mapping = mapping.with({"C", "parallelize", {std::string("i0")}, {}});
  mapping = mapping.with({"C", "interchange", {std::string("j1"), std::string("k")}, {}});
  mapping = mapping.with({"C", "vectorize", {std::string("j1"), std::int64_t{8}}, {}});
  const auto kernel = compile(mapping, {});
  set_num_threads(3);
  for (const auto &[n, m, k] : std::vector<std::array<std::int64_t, 3>>{
           {16, 32, 8}, {17, 37, 5}, {1, 1, 1}, {0, 8, 8}, {3, 50, 0}}) {
    check_product(*kernel, *function, n, m, k);
  }
  set_num_threads(0);
  EXPECT_NE(code_text("llvm", mapping, {}).find("<8 x float>"), std::string::npos);
  EXPECT_NE(loops_text(mapping, {}).find("i0"), std::string::npos);
  EXPECT_NE(code_text("assembly", mapping, {}).find("tilewright_kernel_matmul"), std::string::npos);
}

TEST_F(CompilerTest, SecondCompileComesFromMemoryThirdFromDisk) {
  const auto function = matrix_product("matmul");
  const auto first = compile(default_mapping(function), {});
  EXPECT_FALSE(first->from_cache);
  EXPECT_TRUE(first->milliseconds.contains("codegen"));
  const auto second =
      compile(default_mapping(matrix_product("matmul", {"elsewhere.py", 7, "line"})), {});
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(second->entry(), first->entry());
  cache_clear_memory();
  const auto third = compile(default_mapping(function), {});
  EXPECT_TRUE(third->from_cache);
  EXPECT_FALSE(third->milliseconds.contains("codegen"));
  EXPECT_NE(third->entry(), first->entry());
  check_product(*third, *function, 5, 6, 7);
}

TEST_F(CompilerTest, CodeOutlivesTheCache) {
  const auto function = matrix_product("matmul");
  const auto kernel = compile(default_mapping(function), {});
  cache_clear();
  check_product(*kernel, *function, 5, 6, 7);
}

/// Without better code from the background, which would replace an entry on disk at any time.
CompileOptions foreground() {
  CompileOptions options;
  options.optimize = Optimization::Light;
  return options;
}

TEST_F(CompilerTest, DamagedEntriesAreCompiledAgain) {
  const auto function = matrix_product("matmul");
  const auto kernel = compile(default_mapping(function), foreground());
  const std::string path = folder_ + "/kernels/" + kernel->key + ".twk";
  const auto size = static_cast<std::streamoff>(fs::file_size(path));
  for (const std::streamoff at : {std::streamoff{0}, std::streamoff{30}, std::streamoff{90},
                                  std::streamoff{110}, std::streamoff{140}, size / 2, size - 1}) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at);
    const char old = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(~old));
    file.close();
    cache_clear_memory();
    const auto again = compile(default_mapping(function), foreground());
    EXPECT_FALSE(again->from_cache) << "byte " << at;
    check_product(*again, *function, 3, 4, 5);
    cache_clear_memory();
    EXPECT_TRUE(compile(default_mapping(function), foreground())->from_cache) << "byte " << at;
  }
}

TEST_F(CompilerTest, AWholeEntryThatDoesNotLinkIsCompiledAgain) {
  const auto function = matrix_product("matmul");
  const auto kernel = compile(default_mapping(function), foreground());
  for (const CacheEntry &entry :
       {CacheEntry{"{\"sites\":[]}", "not an object", ""}, CacheEntry{"?", "not an object", ""}}) {
    ASSERT_TRUE(cache_store(kernel->key, entry));
    cache_clear_memory();
    EXPECT_FALSE(compile(default_mapping(function), foreground())->from_cache);
  }
}

TEST_F(CompilerTest, WithoutADiskKernelsLiveInMemory) {
  std::ofstream(folder_ + "/file") << "x";
  set_cache_directory(folder_ + "/file");
  const auto function = matrix_product("matmul");
  EXPECT_FALSE(compile(default_mapping(function), {})->from_cache);
  EXPECT_TRUE(compile(default_mapping(function), {})->from_cache);
}

TEST_F(CompilerTest, KeysDependOnEverythingThatMatters) {
  const auto function = matrix_product("matmul");
  const Mapping mapping = default_mapping(function);
  const std::string text = canonical_text(mapping, {});
  EXPECT_EQ(text, canonical_text(default_mapping(matrix_product("matmul")), {}));
  EXPECT_NE(text, canonical_text(default_mapping(matrix_product("other")), {}));
  EXPECT_NE(text,
            canonical_text(
                mapping.with({"C", "interchange", {std::string("i"), std::string("j")}, {}}), {}));
  CompileOptions options;
  options.cpu = host_cpu().name == "x86-64-v2" ? "x86-64" : "x86-64-v2";
  EXPECT_NE(text, canonical_text(mapping, options));
  options = {};
  options.target = select_target("gpu-emulator");
  EXPECT_NE(text, canonical_text(mapping, options)); // kernel_key_text asks who makes the code
  EXPECT_EQ(text, kernel_key_text(mapping, options));
  options = {};
  options.fast_math = true;
  EXPECT_NE(text, canonical_text(mapping, options));
  options = {};
  options.layouts = {{1, 0}, {1, 0}, {0, 0}};
  const std::string transposed = canonical_text(mapping, options);
  options.layouts[0].packed = 1;
  EXPECT_NE(transposed, canonical_text(mapping, options));
  EXPECT_NE(text, canonical_text(mapping, options));
  options = {};
  options.optimize = Optimization::Full;
  EXPECT_NE(text, canonical_text(mapping, options));
}

TEST_F(CompilerTest, MachinesOfOneLevelShareTheirKernels) {
  const CpuDescription one{"x86-64-v3", "", "znver3"};
  const CpuDescription other{"x86-64-v3", "", "haswell"};
  const CpuDescription more{"x86-64-v3", "+avxvnni", "alderlake"};
  EXPECT_EQ(one.text(), other.text());
  EXPECT_NE(one.text(), more.text());
  const std::string text = canonical_text(default_mapping(matrix_product("matmul")), {});
  EXPECT_NE(text.find("target cpu " + host_cpu().text() + "\n"), std::string::npos) << text;
}

/// Waits until nothing is made in the background for `kernel`.
void wait_for(const CompiledKernel &kernel) {
  while (kernel.code->improvement() == Improvement::Pending) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(CompilerTest, TheBackgroundReplacesTheCode) {
  const auto function = matrix_product("matmul");
  CompileOptions options;
  options.optimize = Optimization::Background;
  const auto kernel = compile(default_mapping(function), options);
  check_product(*kernel, *function, 5, 6, 7);
  wait_for(*kernel);
  EXPECT_EQ(kernel->code->improvement(), Improvement::Done) << kernel->code->problem();
  EXPECT_TRUE(kernel->is_full());
  check_product(*kernel, *function, 5, 6, 7);
  cache_clear_memory();
  const auto again = compile(default_mapping(function), options);
  EXPECT_TRUE(again->from_cache);
  EXPECT_TRUE(again->is_full());
  EXPECT_EQ(again->code->improvement(), Improvement::None);
  check_product(*again, *function, 5, 6, 7);
}

TEST_F(CompilerTest, WhatCannotBeImprovedRunsAsItIs) {
  const auto function = matrix_product("matmul");
  CompileOptions options;
  options.optimize = Optimization::Background;
  const auto kernel = compile(default_mapping(function), options);
  wait_for(*kernel);
  auto entry = cache_load(kernel->key);
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->module.empty());
  entry->module = "no module";
  ASSERT_TRUE(cache_store(kernel->key, *entry));
  cache_clear_memory();
  const auto again = compile(default_mapping(function), options);
  EXPECT_TRUE(again->from_cache);
  wait_for(*again);
  EXPECT_EQ(again->code->improvement(), Improvement::Failed);
  EXPECT_NE(again->code->problem().find("cannot read"), std::string::npos);
  check_product(*again, *function, 5, 6, 7);
}

TEST_F(CompilerTest, OtherCpusByName) {
  const auto function = matrix_product("matmul");
  CompileOptions options;
  options.cpu = "x86-64";
  const auto kernel = compile(default_mapping(function), options);
  check_product(*kernel, *function, 5, 6, 7);
  EXPECT_NE(kernel->key, compile(default_mapping(function), {})->key);
  options.cpu = "pentagon-9";
  EXPECT_THROW(compile(default_mapping(function), options), Error);
}

TEST_F(CompilerTest, PreparedKernelsAreFinishedWithoutTheMapping) {
  const auto function = matrix_product("matmul");
  PreparedKernel prepared = prepare(default_mapping(function), {});
  EXPECT_TRUE(prepared.loops);
  check_product(*complete(std::move(prepared)), *function, 4, 4, 4);
  prepared = prepare(default_mapping(function), {});
  EXPECT_FALSE(prepared.loops);
  check_product(*complete(std::move(prepared)), *function, 4, 4, 4);
}

TEST_F(CompilerTest, SitesOfSubscriptsSurviveTheDisk) {
  const auto function = lookup();
  for (const bool from_cache : {false, true}) {
    cache_clear_memory();
    const auto kernel = compile(default_mapping(function), {});
    EXPECT_EQ(kernel->from_cache, from_cache);
    std::vector<std::int64_t> index = {0, 2, 9, 1};
    std::vector<float> in = {1, 2, 3};
    std::vector<float> out(4);
    std::vector<std::int64_t> integers;
    for (size_t p = 0; p < function->parameters.size(); ++p) {
      integers.push_back(parameter_of(*function, {{"N", 4}, {"M", 3}}, p));
    }
    integers.insert(integers.end(), {8, 4, 4});
    void *data[] = {index.data(), in.data(), out.data()};
    CallRecord record;
    ASSERT_EQ(kernel->entry()(data, integers.data(), &record), KernelIndexError);
    EXPECT_EQ(record.failure.value, 9);
    EXPECT_EQ(record.failure.extent, 3);
    ASSERT_LT(static_cast<size_t>(record.failure.site), kernel->sites.size());
    EXPECT_EQ(kernel->sites[static_cast<size_t>(record.failure.site)].array, "in");
    index[2] = 0;
    ASSERT_EQ(kernel->entry()(data, integers.data(), &record), KernelOk);
    EXPECT_EQ(out, (std::vector<float>{1, 3, 1, 2}));
  }
}

TEST(KernelMetadata, SitesComeBackAndOtherTextsDoNot) {
  const std::vector<IndexSite> sites = {{"A[idx[i] + \"1\"]", "A", 0}, {"B[\n]", "B", 3}};
  const auto metadata = decode_metadata(encode_metadata({sites, {}, true}));
  ASSERT_TRUE(metadata);
  EXPECT_TRUE(metadata->is_full);
  const std::vector<IndexSite> &found = metadata->sites;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].text, sites[0].text);
  EXPECT_EQ(found[1].dimension, 3);
  for (const char *bad :
       {"", "{}", "[]", "{\"sites\":[1]}", "{\"sites\":[{\"text\":1}]}", "{\"sites\":"}) {
    EXPECT_FALSE(decode_metadata(bad)) << bad;
  }
}

TEST(KernelMetadata, WhatChecksReportAndNestsComeBack) {
  IndexSite site{"B[i]", "B", 1};
  site.computation = "C";
  site.iterators = {"i", "k"};
  site.rank = 1;
  site.piece = 2;
  site.memory = "B_cache";
  site.writes = true;
  site.is_complex = true;
  site.reads = {{"A", 2, false}, {"", 0, true}};
  const auto metadata = decode_metadata(encode_metadata({{site}, {{{"C", "C_init"}}, {}}, false}));
  ASSERT_TRUE(metadata);
  ASSERT_EQ(metadata->sites.size(), 1U);
  const IndexSite &found = metadata->sites[0];
  EXPECT_EQ(found.computation, "C");
  EXPECT_EQ(found.iterators, site.iterators);
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.piece, 2);
  EXPECT_EQ(found.memory, "B_cache");
  EXPECT_TRUE(found.writes);
  EXPECT_TRUE(found.is_complex);
  EXPECT_EQ(found.reads, site.reads);
  ASSERT_EQ(metadata->nests.size(), 2U);
  EXPECT_EQ(metadata->nests[0].statements, (std::vector<std::string>{"C", "C_init"}));
  EXPECT_TRUE(metadata->nests[1].statements.empty());
  for (const char *bad : {R"({"sites":[{"text":"","array":"","dimension":0,"computation":"C"}]})",
                          R"({"sites":[],"nests":[3]})"}) {
    EXPECT_FALSE(decode_metadata(bad)) << bad;
  }
}

} // namespace
} // namespace tilewright
