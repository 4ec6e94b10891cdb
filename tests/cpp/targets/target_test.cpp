// Targets as values: what selects one, what goes into keys, and which one makes a kernel's code.
#include "hardware/gpu.h"
#include "polyhedral/error.h"
#include "runtime/cpu.h"
#include "runtime/gpu_emulator.h"
#include "targets/emulator/emulator_target.h"
#include "targets/nvptx/cuda_target.h"
#include "targets/nvptx/machine.h"
#include "targets/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

std::string message_of(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Argument);
    return error.what();
  }
  return "no error";
}

TargetOptions for_device(const std::string &device) {
  TargetOptions options;
  options.device = device;
  return options;
}

TEST(TargetSelection, ComparesAndPrints) {
  const TargetSelection nobody_chose;
  EXPECT_EQ(nobody_chose, select_target("cpu"));
  EXPECT_EQ(nobody_chose.text(), "cpu");
  TargetSelection cuda = select_target("cuda");
  EXPECT_EQ(cuda.text(), "cuda:sm_75");
  EXPECT_NE(cuda, nobody_chose);
  EXPECT_NE(cuda, select_target("gpu-emulator"));
  cuda.device = "sm_90a";
  EXPECT_EQ(cuda.text(), "cuda:sm_90a");
  EXPECT_NE(cuda, select_target("cuda"));
}

TEST(TargetSelection, ErrorNamesTheRegisteredOnes) {
  EXPECT_EQ(message_of([] { select_target("tpu"); }),
            "target must be 'cpu', 'gpu-emulator' or 'cuda', not 'tpu'");
  for (const Target *target : all_targets()) {
    EXPECT_EQ(select_target(std::string(target->name())).target, target);
  }
}

TEST(Targets, KeysTellApartWhatDecidesTheCode) {
  std::set<std::string> keys;
  for (const std::string device : {"sm_75", "sm_80", "sm_90", "sm_90a"}) {
    keys.insert(cuda_target().key(for_device(device)));
    keys.insert(emulator_target().key(for_device(device)));
  }
  TargetOptions older;
  older.cpu = "x86-64-v2";
  keys.insert(cpu_target().key({}));
  keys.insert(cpu_target().key(older));
  TargetOptions older_host = for_device("sm_80");
  older_host.cpu = "x86-64-v2";
  keys.insert(cuda_target().key(older_host));
  EXPECT_EQ(keys.size(), 11U);
  EXPECT_THAT(cpu_target().key({}), HasSubstr(host_cpu().text()));
}

TEST(Targets, KernelsThatHaveNothingForADeviceAreTheCpus) {
  Instrumentation nothing;
  Instrumentation bounds;
  bounds.bounds = true;
  Instrumentation times;
  times.times = true;
  for (const Target *gpu : {&cuda_target(), &emulator_target()}) {
    EXPECT_EQ(&gpu->for_kernel(true, nothing), gpu);
    EXPECT_EQ(&gpu->for_kernel(true, times), gpu);
    EXPECT_EQ(&gpu->for_kernel(true, bounds), &cpu_target());
    EXPECT_EQ(&gpu->for_kernel(false, nothing), &cpu_target());
    EXPECT_TRUE(gpu->has_devices());
    EXPECT_FALSE(gpu->can_improve());
  }
  EXPECT_EQ(&cpu_target().for_kernel(true, nothing), &cpu_target());
  EXPECT_FALSE(cpu_target().has_devices());
}

TEST(Targets, FeaturesAreTheDevices) {
  EXPECT_FALSE(cpu_target().features({}).launches);
  EXPECT_EQ(cpu_target().features({}).masked_bytes, smallest_masked_element(host_cpu()));
  EXPECT_FALSE(cuda_target().features(for_device("sm_75")).asynchronous_copies);
  EXPECT_TRUE(cuda_target().features(for_device("sm_80")).asynchronous_copies);
  EXPECT_TRUE(emulator_target().features(for_device("sm_75")).asynchronous_copies);
  EXPECT_TRUE(emulator_target().runs_on(gpu_emulator()));
  EXPECT_FALSE(cuda_target().runs_on(gpu_emulator()));
  EXPECT_EQ(emulator_target().first_device(), &gpu_emulator());
}

TEST(Architectures, NamesAreReadAsTheyAreWritten) {
  for (const int number : gpu_architectures) {
    EXPECT_EQ(parse_architecture(architecture_name({number})).number, number);
  }
  EXPECT_TRUE(parse_architecture("sm_90a").is_exact);
  for (const std::string wrong : {"", "sm_", "sm_0", "sm_70", "sm_80a", "sm_90b", "90", "sm_900"}) {
    EXPECT_THAT(message_of([&] { parse_architecture(wrong); }),
                HasSubstr("is not known; known are sm_75, sm_80, sm_86, sm_87, sm_89, sm_90 and "
                          "sm_90a"))
        << wrong;
  }
  EXPECT_EQ(supported_architecture(70), 0);
  EXPECT_EQ(supported_architecture(88), 87);
  EXPECT_EQ(supported_architecture(120), 90);
}

} // namespace
} // namespace tilewright
