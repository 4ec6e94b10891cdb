// The order of sums that a loop carries, as LLVM's text.
#include "targets/llvm/carried_sums.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

namespace tilewright::test {
namespace {

/// The module after the pass.
std::string passed(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const auto module = llvm::parseAssemblyString(text, error, context);
  if (!module) {
    return error.getMessage().str();
  }
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  AddCarriedLast::run(*module->getFunction("f"), functions);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  module->print(stream, nullptr);
  return printed;
}

/// A loop that carries y_1 and y_2, with this body, which makes %y.
std::string after(const std::string &body) {
  return passed(R"(
define double @f(double %b, double %c, double %a1, double %a2, ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %y_1 = phi double [ 0.0, %entry ], [ %y, %loop ]
  %y_2 = phi double [ 0.0, %entry ], [ %y_1, %loop ]
  %at = getelementptr double, ptr %x, i64 %i
  %value = load double, ptr %at
)" + body + R"(
  %next = add i64 %i, 1
  %goes_on = icmp ult i64 %next, %n
  br i1 %goes_on, label %loop, label %end
end:
  ret double %y
}
)");
}

const std::string products = R"(
  %p = fmul double %b, %value
  %p1 = fmul double %a1, %y_1
  %p2 = fmul double %a2, %y_2
)";

TEST(CarriedSums, TheLatestComesLast) {
  const std::string text = after(products + R"(
  %s = fsub reassoc nsz double %p, %p1
  %t = fsub reassoc nsz double %s, %p2
  %y = fadd reassoc nsz double %t, %c
)");
  const size_t first = text.find("fadd reassoc nsz double %p, %c");
  const size_t second = text.find("fsub reassoc nsz double %0, %p2");
  const size_t last = text.find("%y = fsub reassoc nsz double %1, %p1");
  ASSERT_NE(last, std::string::npos) << text;
  EXPECT_LT(first, second) << text;
  EXPECT_LT(second, last) << text;
}

TEST(CarriedSums, WhatIsSubtractedAloneIsNegated) {
  const std::string text = after(products + R"(
  %s = fsub reassoc nsz double %p1, %p2
  %y = fsub reassoc nsz double %s, %c
)");
  EXPECT_NE(text.find("fneg reassoc nsz double %c"), std::string::npos) << text;
  EXPECT_NE(text.find("%y = fadd reassoc nsz double %1, %p1"), std::string::npos) << text;
}

TEST(CarriedSums, SumsThatMayNotBeReorderedStay) {
  const std::string strict = R"(
  %s = fsub double %p, %p1
  %t = fsub double %s, %p2
  %y = fadd double %t, %c
)";
  EXPECT_NE(after(products + strict).find(strict.substr(1)), std::string::npos);
  const std::string sorted = R"(
  %s = fadd reassoc nsz double %p, %c
  %t = fsub reassoc nsz double %s, %p2
  %y = fsub reassoc nsz double %t, %p1
)";
  EXPECT_NE(after(products + sorted).find(sorted.substr(1)), std::string::npos);
  // A part that is read elsewhere, too, is a term of its own.
  const std::string used = R"(
  %s = fsub reassoc nsz double %p, %p1
  %y = fadd reassoc nsz double %s, %c
)";
  EXPECT_NE(after(products + used + "  store double %s, ptr %at\n").find(used.substr(1)),
            std::string::npos);
}

TEST(CarriedSums, OtherSumsOfTheIterationComeBehindIfThereIsEnoughToDo) {
  std::string body = products + "  %q0 = fmul double %c, %value\n";
  for (int k = 1; k < 20; ++k) {
    body += "  %q" + std::to_string(k) + " = fmul double %q" + std::to_string(k - 1) + ", %c\n";
  }
  const std::string text = after(body + R"(
  %s = fadd reassoc nsz double %q19, %p1
  %y = fadd reassoc nsz double %s, %p
)");
  EXPECT_NE(text.find("%y = fadd reassoc nsz double %0, %q19"), std::string::npos) << text;
}

TEST(CarriedSums, TheLeastOfWholeNumbersLikewise) {
  const auto after_minimum = [](const std::string &kind) {
    return passed(R"(
define i32 @f(i32 %b, ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %y_1 = phi i32 [ 0, %entry ], [ %y, %loop ]
  %at = getelementptr i32, ptr %x, i64 %i
  %value = load i32, ptr %at
  %left = add i32 %y_1, 1
  %m = call i32 @llvm.)" +
                  kind + R"(.i32(i32 %left, i32 %value)
  %y = call i32 @llvm.smin.i32(i32 %m, i32 %b)
  %next = add i64 %i, 1
  %goes_on = icmp ult i64 %next, %n
  br i1 %goes_on, label %loop, label %end
end:
  ret i32 %y
}
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
)");
  };
  const std::string text = after_minimum("smin");
  EXPECT_NE(text.find("%0 = call i32 @llvm.smin.i32(i32 %value, i32 %b)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("%y = call i32 @llvm.smin.i32(i32 %0, i32 %left)"), std::string::npos)
      << text;
  const std::string other = after_minimum("umin"); // that is no minimum of the same kind
  EXPECT_NE(other.find("%y = call i32 @llvm.smin.i32(i32 %m, i32 %b)"), std::string::npos) << other;
}

} // namespace
} // namespace tilewright::test
