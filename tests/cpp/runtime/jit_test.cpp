// Object code from LLVM modules into this process and out of it again.
#include "polyhedral/error.h"
#include "runtime/code_listing.h"
#include "runtime/jit.h"

#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstring>
#include <elf.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

// What a debugger reads: gdb's manual, "JIT Compilation Interface".
extern "C" {
struct JitCodeEntry {
  JitCodeEntry *next_entry;
  JitCodeEntry *prev_entry;
  const char *symfile_addr;
  std::uint64_t symfile_size;
};
struct JitDescriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  JitCodeEntry *relevant_entry;
  JitCodeEntry *first_entry;
};
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern JitDescriptor __jit_debug_descriptor;
}

namespace tilewright {
namespace {

/// int32 answer() { return value; }, or a call of an unknown function.
std::string make_object(int value, const std::string &callee = "") {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  const auto machine = make_target_machine(host_cpu(), false);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  llvm::IRBuilder<> builder(context);
  auto *type = llvm::FunctionType::get(builder.getInt32Ty(), false);
  auto *function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "answer", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value *result = builder.getInt32(static_cast<std::uint32_t>(value));
  if (!callee.empty()) {
    result = builder.CreateCall(module.getOrInsertFunction(callee, type));
  }
  builder.CreateRet(result);
  return compile_to_object(module, *machine, false);
}

int ask(const LoadedCode &code) { return reinterpret_cast<int (*)()>(code.address)(); }

TEST(Jit, TheSameSymbolManyTimes) {
  std::vector<LoadedCode> loaded;
  for (int k = 0; k < 20; ++k) {
    loaded.push_back(load_object(make_object(k), "answer"));
  }
  loaded.erase(loaded.begin(), loaded.begin() + 10);
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(ask(loaded[static_cast<size_t>(k)]), k + 10);
  }
}

/// The object files on the debuggers' list.
std::vector<std::string> listed() {
  std::vector<std::string> files;
  const JitCodeEntry *before = nullptr;
  for (const JitCodeEntry *entry = __jit_debug_descriptor.first_entry; entry != nullptr;
       entry = entry->next_entry) {
    EXPECT_EQ(entry->prev_entry, before);
    files.emplace_back(entry->symfile_addr, entry->symfile_size);
    before = entry;
  }
  return files;
}

/// Whether a section of code in the object file has this address in it.
bool has_code_at(const std::string &file, const void *address) {
  const auto wanted = reinterpret_cast<std::uint64_t>(address);
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (std::uint16_t s = 0; s < header.e_shnum; ++s) {
    Elf64_Shdr section;
    std::memcpy(&section, file.data() + header.e_shoff + s * sizeof section, sizeof section);
    if ((section.sh_flags & SHF_EXECINSTR) != 0 && section.sh_addr <= wanted &&
        wanted < section.sh_addr + section.sh_size) {
      return true;
    }
  }
  return false;
}

TEST(Jit, DebuggersSeeWhatIsThere) {
  const size_t before = listed().size();
  LoadedCode first = load_object(make_object(1), "answer");
  LoadedCode second = load_object(make_object(2), "answer");
  LoadedCode third = load_object(make_object(3), "answer");
  ASSERT_EQ(listed().size(), before + 3);
  EXPECT_TRUE(has_code_at(listed()[0], third.address));
  EXPECT_TRUE(has_code_at(listed()[1], second.address));
  EXPECT_FALSE(has_code_at(listed()[0], second.address));
  second = {};
  ASSERT_EQ(listed().size(), before + 2);
  EXPECT_TRUE(has_code_at(listed()[0], third.address));
  EXPECT_TRUE(has_code_at(listed()[1], first.address));
  third = {};
  first = {};
  EXPECT_EQ(listed().size(), before);
  EXPECT_THROW(load_object(make_object(1), "question"), Error);
  EXPECT_EQ(listed().size(), before);
  EXPECT_EQ(__jit_debug_descriptor.relevant_entry, nullptr);
}

TEST(Jit, ObjectsThatEndTooSoonAreNotListed) {
  const std::string object = make_object(1);
  const CodePlaces places{{}, {{".text", 0x1000}}};
  const size_t before = listed().size();
  EXPECT_NE(list_code(object, places), nullptr);
  for (size_t size = 0; size < object.size(); ++size) {
    EXPECT_EQ(list_code(object.substr(0, size), places), nullptr) << size;
  }
  std::string strange = object;
  for (size_t at = 0; at < sizeof(Elf64_Ehdr); ++at) {
    strange[at] = static_cast<char>(~strange[at]);
    list_code(strange, places);
    strange[at] = object[at];
  }
  EXPECT_EQ(listed().size(), before);
}

TEST(Jit, BadObjectsAreErrors) {
  for (const std::string &bytes :
       {std::string(), std::string("not an object"), make_object(1).substr(0, 200)}) {
    EXPECT_THROW(load_object(bytes, "answer"), Error);
  }
  EXPECT_THROW(load_object(make_object(1), "question"), Error);
  EXPECT_THROW(load_object(make_object(1, "tilewright_no_such_function"), "answer"), Error);
  EXPECT_EQ(ask(load_object(make_object(42), "answer")), 42);
}

TEST(Jit, MalformedModulesAreErrors) {
  llvm::LLVMContext context;
  llvm::Module module("broken", context);
  const auto machine = make_target_machine(host_cpu(), false);
  auto *type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), false);
  auto *function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "open", module);
  llvm::BasicBlock::Create(context, "entry", function);
  EXPECT_THROW(compile_to_object(module, *machine, false), Error);
  EXPECT_THROW(compile_to_assembly(module, *machine, false), Error);
}

TEST(Jit, SeveralThreadsAtOnce) {
  const std::string object = make_object(5);
  std::vector<std::thread> threads;
  std::vector<int> answers(4);
  for (size_t k = 0; k < answers.size(); ++k) {
    threads.emplace_back([&, k] {
      for (int round = 0; round < 20; ++round) {
        answers[k] += ask(load_object(object, "answer"));
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(answers, std::vector<int>(4, 100));
}

TEST(Jit, AChildOfForkCompilesAndLoads) {
  const LoadedCode before = load_object(make_object(1), "answer");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    _exit(ask(before) == 1 && ask(load_object(make_object(2), "answer")) == 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Jit, RefusesCodeForAnotherMachine) {
  // No CPU has both AMD's and Intel's extensions of their time.
  try {
    require_runnable({"x86-64", "+tbm,+fma4,+amx-tile", ""});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Argument);
    EXPECT_NE(std::string(error.what()).find("fma4"), std::string::npos);
  }
}

TEST(Jit, KnowsTheMachine) {
  EXPECT_FALSE(host_cpu().name.empty());
  EXPECT_EQ(host_cpu().tuning, host_model());
  EXPECT_EQ(llvm_version().substr(0, 3), "19.");
  EXPECT_EQ(describe_cpu("").name, host_cpu().name);
  EXPECT_EQ(describe_cpu("x86-64-v3").name, "x86-64-v3");
  EXPECT_THROW(describe_cpu("no-such-cpu"), Error);
  require_runnable(host_cpu());
  require_runnable(describe_cpu("x86-64"));
}

} // namespace
} // namespace tilewright
