#include "targets/c_source/c_source.h"

#include "algorithm/extern_function.h"
#include "algorithm/size_parameters.h"
#include "loops/build.h"
#include "loops/traverse.h"
#include "polyhedral/error.h"
#include "runtime/cpu.h"
#include "targets/c_source/statements.h"
#include "targets/llvm/c_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tilewright {

namespace {

/// The functions of C that are called keep their names.
void reserve_externs(const Kernel &kernel, CNames &names) {
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) {
      if (const auto *call = as<Extern>(value)) {
        names.reserve(call->function->name);
      }
    });
  });
}

/// Those of a conjunction.
void add_conditions(const ValuePtr &value, std::vector<ValuePtr> &into) {
  if (value->type.scalar.is_bool() && is_binary(value, Op::And)) {
    add_conditions(cast<Binary>(value).left(), into);
    add_conditions(cast<Binary>(value).right(), into);
  } else {
    into.push_back(value);
  }
}

/// That a condition does not hold.
std::string negated(const ValuePtr &condition, CExpressions &expressions) {
  const auto *test = as<Binary>(condition);
  const char *sign = test == nullptr      ? nullptr
                     : test->op == Op::Ge ? " < "
                     : test->op == Op::Gt ? " <= "
                     : test->op == Op::Le ? " > "
                     : test->op == Op::Lt ? " >= "
                     : test->op == Op::Eq ? " != "
                                          : nullptr;
  if (sign == nullptr) {
    return "!(" + expressions.text(condition).text + ")";
  }
  return expressions.text(test->left()).at_least(CPrecedence::Sum) + sign +
         expressions.text(test->right()).at_least(CPrecedence::Sum);
}

/// Conditions under which the function is not defined.
std::vector<std::string> refused_sizes(const Kernel &kernel, const CSourceFunction &function,
                                       CExpressions &expressions, CHelpers &helpers) {
  std::vector<std::string> refused;
  const auto add = [&](const std::string &condition) {
    if (std::find(refused.begin(), refused.end(), condition) == refused.end()) {
      refused.push_back(condition);
    }
  };
  for (const size_t size : function.sizes) { // first: what follows counts in 64 bits
    const std::string &name = function.parameters.at(size);
    add(name + " > " + helpers.largest_size());
    add(name + " < -" + helpers.largest_size());
  }
  if (function.context && as_boolean(function.context) != true) {
    std::vector<ValuePtr> conditions;
    add_conditions(function.context, conditions);
    for (const ValuePtr &condition : conditions) {
      add(negated(condition, expressions));
    }
  }
  const auto each_extent = [&](const auto &use) {
    for (const KernelBuffer &buffer : kernel.buffers) {
      if (buffer.is_argument) {
        std::for_each(buffer.extents.begin(), buffer.extents.end(), use);
      }
    }
  };
  // First the sizes that are extents: others are not negative where they are not.
  each_extent([&](const ValuePtr &extent) {
    const auto *parameter = as<Parameter>(extent);
    if (parameter != nullptr) {
      const std::string &name = function.parameters.at(static_cast<size_t>(parameter->position));
      add(name + " < 0");
      std::erase(refused, name + " < -" + helpers.largest_size());
      expressions.add_extent(parameter->position);
    }
  });
  each_extent([&](const ValuePtr &extent) {
    if (!as_integer(extent) && expressions.range_of(extent).lower.value_or(-1) < 0) {
      add(expressions.text(extent).at_least(CPrecedence::Sum) + " < 0");
    }
  });
  return refused;
}

/// Whether a text has the name as a word.
bool mentions_name(const std::string &text, const std::string &name) {
  const auto is_letter = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    if (!(at > 0 && is_letter(at - 1)) && !is_letter(at + name.size())) {
      return true;
    }
  }
  return false;
}

/// Statements that tell compilers of arguments which are not used.
std::string unused_arguments(const CSourceFunction &function, const std::string &body) {
  std::vector<std::string> names = function.parameters;
  for (const CSourceArray &array : function.arrays) {
    if (std::find(names.begin(), names.end(), array.name) == names.end()) {
      names.push_back(array.name);
    }
  }
  std::string text;
  for (const std::string &name : names) {
    text += mentions_name(body, name) ? "" : "  (void)" + name + ";\n";
  }
  return text;
}

std::string includes(const CHelpers &helpers) {
  return std::string(helpers.uses_complex() ? "#include <complex.h>\n" : "") +
         "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
         "#include <string.h>\n\n";
}

/// GCC 12.2 puts statements that stand side by side, such as those of the parts of a complex
/// number, into vectors, and leaves out of those that a double was rounded to float before it was a
/// double again.
std::string options_where_numbers_are_rounded(const std::string &code) {
  const bool rounds =
      code.find("(float") != std::string::npos && code.find("(double") != std::string::npos;
  return rounds ? "#if defined(__GNUC__) && !defined(__clang__)\n"
                  "#pragma GCC optimize(\"no-tree-slp-vectorize\") /* which forgets roundings */\n"
                  "#endif\n\n"
                : "";
}

class CSourceTarget : public Target {
public:
  std::string_view name() const override { return "c-source"; }
  std::string key(const TargetOptions &options) const override {
    return has_fused_multiply_add(describe_cpu(options.cpu)) ? "c-source fma" : "c-source";
  }
  TargetFeatures features(const TargetOptions & /*options*/) const override {
    TargetFeatures features;
    features.plain_loops = true;
    return features;
  }
  void require_callable(const TargetOptions & /*options*/) const override {
    throw Error(ErrorKind::Argument,
                "C source is text, which nothing here calls; compile what f.export_source writes");
  }
  Artifact emit(const Kernel &kernel, const TargetOptions &options) const override {
    Artifact artifact;
    artifact.symbol = options.symbol.empty() ? kernel_symbol(kernel.name) : options.symbol;
    const Phase phase(artifact.milliseconds, "emit");
    CSourceFunction function = plain_c_function(kernel, artifact.symbol);
    function.fuses_products = has_fused_multiply_add(describe_cpu(options.cpu));
    const CSourceText made = c_source(kernel, function);
    artifact.text = made.includes + c_source_statuses(function.status_prefix) + "\n" + made.text;
    return artifact;
  }
  std::string text(std::string_view form, const Kernel &kernel,
                   const TargetOptions &options) const override {
    if (form != "c") {
      throw Error(ErrorKind::Argument, "C source has no form '" + std::string(form) + "'");
    }
    return emit(kernel, options).text;
  }
};

} // namespace

std::string c_source_statuses(const std::string &prefix, bool has_launches) {
  const auto row = [&](const char *name, CStatus status, const char *meaning) {
    return fmt::format("  {}{} = {}, /* {} */\n", prefix, name, static_cast<int>(status), meaning);
  };
  return "enum {\n" + row("OK", CStatus::Ok, "all outputs are written") +
         row("SUBSCRIPT", CStatus::Subscript,
             "a subscript that is computed from data is outside of its array") +
         row("OUT_OF_MEMORY", CStatus::OutOfMemory, "no memory for temporaries") +
         row("SIZES", CStatus::Sizes, "the function is not defined for these sizes") +
         (has_launches
              ? row("DEVICE", CStatus::Device,
                    "there is no GPU, or it failed; nothing is written") +
                    row("LOST", CStatus::Lost, "the outputs did not come back from the GPU")
              : "") +
         "};\n";
}

CSourceFunction plain_c_function(const Kernel &kernel, const std::string &symbol) {
  CSourceFunction function;
  function.symbol = symbol;
  function.status_prefix = symbol + "_";
  CNames names;
  reserve_externs(kernel, names);
  std::string declared;
  const auto declare = [&](const std::string &type, const std::string &name) {
    declared += (declared.empty() ? "" : ", ") + type + name;
  };
  for (const std::string &parameter : kernel.parameters) {
    function.parameters.push_back(names.take(parameter));
    function.sizes.push_back(function.sizes.size());
    declare("int64_t ", function.parameters.back());
  }
  for (const KernelBuffer &buffer : kernel.buffers) {
    if (buffer.is_argument) {
      function.arrays.push_back({names.take(buffer.name), "", false});
      declare((buffer.is_written ? "" : "const ") + c_memory_type(buffer.type) + " *restrict ",
              function.arrays.back().name);
    }
  }
  function.prototype = fmt::format("int {}({})", symbol, declared.empty() ? "void" : declared);
  return function;
}

CSourceText c_source(const Kernel &kernel, const CSourceFunction &function,
                     const DeviceProgram *device) {
  CHelpers helpers;
  CNames names;
  CArrays arrays;
  reserve_externs(kernel, names);
  for (const std::string &parameter : function.parameters) {
    names.reserve(parameter);
  }
  for (const CSourceArray &array : function.arrays) {
    names.reserve(array.name);
  }
  for (const char *status : {"OK", "SUBSCRIPT", "OUT_OF_MEMORY", "SIZES", "DEVICE", "LOST"}) {
    names.reserve(function.status_prefix + status);
  }
  CExpressions expressions(kernel, helpers, names, arrays, function.parameters,
                           {function.sizes.begin(), function.sizes.end()});
  size_t next = 0;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const KernelBuffer &buffer = kernel.buffers[b];
    if (!buffer.is_argument) {
      continue;
    }
    const CSourceArray &given = function.arrays.at(next++);
    CArrayName &array = arrays.at(static_cast<std::int64_t>(b));
    array.base = device == nullptr ? given.name : ""; // nothing but launches touches its elements
    array.member = given.member;
    array.by_value = given.by_value;
    for (const ValuePtr &extent : buffer.extents) {
      array.extents.push_back(expressions.text(extent));
    }
  }
  const std::vector<std::string> refused = refused_sizes(kernel, function, expressions, helpers);
  CStatements statements(kernel, helpers, names, arrays, expressions, function.status_prefix,
                         function.fuses_products);
  if (device != nullptr) {
    statements.set_device(*device, function);
  }
  const std::string body = statements.body(refused);
  const std::string launched = device == nullptr ? "" : statements.device_definitions();
  const std::string code = helpers.text() + launched + function.prototype + " {\n" +
                           unused_arguments(function, body) + body + "}\n";
  return {includes(helpers), options_where_numbers_are_rounded(code) + code};
}

const Target &c_source_target() {
  static const CSourceTarget target;
  return target;
}

} // namespace tilewright
