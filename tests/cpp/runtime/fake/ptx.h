// An interpreter of PTX for the double of libcuda: kernels run on the processor, one instruction at
// a time, so that programs which launch them can be tested from end to end. It knows the
// instructions that LLVM writes for loops over arrays of numbers; of another one it says so and the
// launch fails. Threads of a block run in turn from barrier to barrier.
#pragma once

#include "runtime/cuda_api.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fake_driver {

/// What LLVM calls the result of a function.
inline constexpr const char *result_name = "func_retval0";

class PtxKernel;

/// The functions of a module that are no kernels, by name; read when they are first called.
struct PtxModule {
  std::string text;
  std::map<std::string, std::unique_ptr<PtxKernel>> functions;
};

/// Whether so many bytes of a device's memory are at an address.
using IsMemory = std::function<bool(std::uint64_t address, std::size_t bytes)>;

struct PtxLaunch {
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  std::size_t shared_bytes = 0;
  void **arguments = nullptr;
  IsMemory is_memory;
};

class PtxKernel {
public:
  /// The entry `name` of a module. Throws std::runtime_error for what it does not know.
  PtxKernel(const std::string &module, const std::string &name);
  /// A function that kernels call.
  PtxKernel(std::shared_ptr<PtxModule> module, const std::string &name, const std::string &before);
  /// Success, or what a device would answer: IllegalAddress, IllegalInstruction for what the
  /// interpreter does not know, LaunchTimeout for threads that wait for ones that never come.
  tilewright::cuda::Result run(const PtxLaunch &launch) const;

private:
  struct Operand {
    enum class Kind { Register, Number, Special, Parameter, Shared, Local, Group } kind;
    std::uint64_t value = 0; ///< a register's, a parameter's or a special one's number; a number
    std::int64_t offset = 0; ///< in brackets, behind it
    std::vector<int> group = {}; ///< registers in braces
  };
  struct Instruction {
    std::vector<std::string> words; ///< "setp", "lt", "s64"
    std::string text;
    std::vector<Operand> operands;
    int guard = -1; ///< the register of the predicate
    bool guard_is_negated = false;
    std::size_t target = 0; ///< of a branch
    const PtxKernel *called = nullptr;
    std::vector<std::uint64_t> given; ///< parameters of a call
    std::vector<std::uint64_t> results;
  };
  struct Thread {
    std::vector<std::uint64_t> registers;
    std::vector<std::array<char, 16>> parameters; ///< and those of calls
    std::vector<char> local;
    std::size_t at = 0;
    bool is_done = false;
  };
  class Machine;

  void read(const std::string &text, std::size_t begin);
  int register_number(const std::string &name);
  std::uint64_t parameter_number(const std::string &name);
  void read_call(Instruction &made, const std::string &text);
  Operand operand(std::string text);
  void add(std::string text);

  std::map<std::string, int> registers_;
  std::map<std::string, int> parameters_;
  std::size_t own_parameters_ = 0; ///< so many of them are given
  std::shared_ptr<PtxModule> module_;
  std::map<std::string, std::size_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  std::vector<Instruction> code_;
  std::size_t local_bytes_ = 0;
};

} // namespace fake_driver
