#include "targets/c_source/statements.h"

#include "loops/dispatch.h"
#include "loops/traverse.h"
#include "polyhedral/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace tilewright {

namespace {

[[noreturn]] void refuse_gpu() {
  throw Error(ErrorKind::Schedule,
              "C source has no loops over the blocks and threads of a GPU; take a schedule without "
              "them, or the target 'cpu', which makes them loops of the processor");
}

/// The operations of a value, each as often as it would be printed, up to a limit.
constexpr int many_operations = 1000;
constexpr int few_operations = 8; ///< are printed again where they are used again

/// A text in a comment.
std::string in_comment(std::string text) {
  for (size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at)) {
    text.replace(at, 2, "* /");
  }
  return text;
}

std::string file_name(const std::string &path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// How often each value of some trees is used, and how large it is.
class Sharing {
public:
  explicit Sharing(const std::vector<ValuePtr> &roots) {
    for (const ValuePtr &root : roots) {
      visit(*root);
    }
  }
  /// Operands before what is made of them.
  const std::vector<const Value *> &order() const { return order_; }
  bool is_worth_a_name(const Value &value) const {
    return uses_.at(&value) > 1 && size_.at(&value) > few_operations;
  }

private:
  int visit(const Value &value) {
    if (++uses_[&value] > 1) {
      return size_[&value];
    }
    int size = value.operands.empty() ? 0 : is<Call>(value) ? few_operations + 1 : 1;
    for (const ValuePtr &operand : value.operands) {
      size = std::min(many_operations, size + visit(*operand));
    }
    order_.push_back(&value);
    return size_[&value] = size;
  }

  std::unordered_map<const Value *, int> uses_;
  std::unordered_map<const Value *, int> size_;
  std::vector<const Value *> order_;
};

} // namespace

// ---- lines ----

void CStatements::line(const std::string &text) {
  text_ += std::string(2 * static_cast<size_t>(depth_), ' ') + text + "\n";
}

void CStatements::indented(const StmtPtr &body) {
  ++depth_;
  CNames::Scope outer = names_.open();
  if (const auto *memory = as<Allocate>(body)) {
    print_allocation(*memory); // the braces are there
  } else {
    print(body);
  }
  names_.close(std::move(outer));
  --depth_;
}

void CStatements::print(const StmtPtr &statement) {
  dispatch(*statement, [&](const auto &node) { print_statement(node); });
}

void CStatements::print_statement(const Block &sequence) {
  for (const StmtPtr &child : sequence.children) {
    print(child);
  }
}

/// One condition beside the other, as many as a line takes.
void CStatements::refuse_sizes(const std::vector<std::string> &refused) {
  if (refused.empty()) {
    return;
  }
  std::string text = "if (";
  for (const std::string &condition : refused) {
    const bool is_first = &condition == &refused.front();
    if (!is_first && text.size() + condition.size() > longest_line) {
      line(text + " ||");
      text = "    " + condition;
    } else {
      text += (is_first ? "" : " || ") + condition;
    }
  }
  line(text + ") {");
  line("  return " + status_prefix_ + "SIZES;");
  line("}");
}

std::string CStatements::body(const std::vector<std::string> &refused_sizes) {
  const auto is_on_heap = [](const KernelBuffer &buffer) {
    return is_temporary(buffer) && !buffer.extents.empty();
  };
  const bool has_heap = std::any_of(kernel_.buffers.begin(), kernel_.buffers.end(), is_on_heap);
  refuse_sizes(refused_sizes);
  if (device_ != nullptr) {
    return device_body();
  }
  const size_t begin = text_.size();
  if (has_heap) {
    exits_.back().label = labels_.take("end");
  }
  allocate_temporaries();
  print(kernel_.body);
  if (needs_status_) {
    text_.insert(begin, "  int status = " + status_prefix_ + "OK;\n");
  }
  if (has_heap) {
    text_ += exits_.back().label + ":\n";
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const KernelBuffer &buffer = kernel_.buffers[b];
      if (is_on_heap(buffer)) {
        line("free(" + arrays_.at(static_cast<std::int64_t>(b)).base + ");");
      }
    }
  }
  const std::string passed =
      "  if (status != " + status_prefix_ + "OK) {\n    return status;\n  }\n";
  if (text_.ends_with(passed)) { // the next line does the same
    text_.erase(text_.size() - passed.size());
  }
  line(needs_status_ ? "return status;" : "return " + status_prefix_ + "OK;");
  return text_;
}

// ---- what fails ----

void CStatements::fail(const std::string &status) {
  Exit &exit = exits_.back();
  if (exit.label.empty()) {
    line("return " + status + ";");
    return;
  }
  exit.used = true;
  needs_status_ = needs_status_ || exit.status == "status";
  line(exit.status + " = " + status + ";");
  line("goto " + exit.label + ";");
}

/// After what an inner exit had to do, where `failed` came by.
void CStatements::pass_on(const Exit &failed) {
  line("if (" + failed.status + " != " + status_prefix_ + "OK) {");
  ++depth_;
  Exit &outer = exits_.back();
  if (outer.label.empty()) {
    line("return " + failed.status + ";");
  } else {
    outer.used = true;
    line("goto " + outer.label + ";");
  }
  --depth_;
  line("}");
}

void CStatements::print_statement(const CheckIndex &check) {
  name_shared({check.value, check.upper});
  const IndexSite &site = kernel_.sites.at(static_cast<size_t>(check.site));
  const CText value = expressions_.text(check.value);
  line("if (" + value.at_least(CPrecedence::Sum) + " < 0 || " + value.at_least(CPrecedence::Sum) +
       " >= " + expressions_.text(check.upper).at_least(CPrecedence::Sum) + ") { /* " +
       in_comment(site.text) + " */");
  ++depth_;
  fail(fmt::format("{}SUBSCRIPT | {} << 8", status_prefix_, check.site));
  --depth_;
  line("}");
  expressions_.forget_names();
}

void CStatements::print_statement(const CheckValue & /*check*/) {
  throw Error(ErrorKind::Internal, "a check of values reached C source");
}

void CStatements::print_statement(const Launch &launch) {
  if (device_ == nullptr) {
    refuse_gpu();
  }
  print_launch(launch);
}
void CStatements::print_statement(const Barrier & /*barrier*/) { refuse_gpu(); }
void CStatements::print_statement(const CopyAsync & /*copy*/) { refuse_gpu(); }
void CStatements::print_statement(const CommitCopies & /*commit*/) { refuse_gpu(); }
void CStatements::print_statement(const WaitForCopies & /*wait*/) { refuse_gpu(); }

// ---- stores and definitions ----

bool CStatements::has_shared(const std::vector<ValuePtr> &roots) const {
  const Sharing sharing(roots);
  return std::any_of(sharing.order().begin(), sharing.order().end(),
                     [&](const Value *value) { return sharing.is_worth_a_name(*value); });
}

bool CStatements::name_shared(const std::vector<ValuePtr> &roots) {
  const Sharing sharing(roots);
  bool any = false;
  for (const Value *value : sharing.order()) {
    if (sharing.is_worth_a_name(*value)) {
      const std::string own = expressions_.text(*value).text;
      const std::string name = names_.take("t");
      line("const " + c_type(value->type.scalar) + " " + name + " = " + own + ";");
      expressions_.set_name(value, name);
      any = true;
    }
  }
  return any;
}

/// Announces the statement of which what follows is an instance, once for each run of them.
void CStatements::note(std::int64_t statement) {
  if (statement < 0) {
    return;
  }
  const KernelStatement &made = kernel_.statements.at(static_cast<size_t>(statement));
  std::string text = made.name;
  if (made.where.known()) {
    text += fmt::format(": {}:{}", file_name(made.where.file), made.where.line);
  }
  if (text != noted_) {
    line("/* " + in_comment(text) + " */");
    noted_ = text;
  }
}

/// On two lines where one would be long.
void CStatements::assignment(const std::string &target, const std::string &value) {
  if (target.size() + value.size() > longest_line) {
    line(target.substr(0, target.size() - 1)); // without the space
    line("    " + value + ";");
  } else {
    line(target + value + ";");
  }
}

std::optional<std::string> CStatements::fused(Op op, const ValuePtr &value, ScalarType type) {
  const bool may_fuse = fuses_products_ && op == Op::Add && value->type.scalar == type &&
                        (type == Float32 || type == Float64);
  const auto *sum = may_fuse ? as_binary(value, Op::Add) : nullptr;
  const auto *product = sum != nullptr ? as_binary(sum->right(), Op::Mul) : nullptr;
  if (product == nullptr || !(product->type.scalar == type)) {
    return std::nullopt;
  }
  return fmt::format("{}({}, {}, {})", type == Float64 ? "fma" : "fmaf",
                     expressions_.as(product->left(), type).text,
                     expressions_.as(product->right(), type).text,
                     expressions_.as(sum->left(), type).text);
}

/// `element += value` where C means the same by it. False: it does not, and nothing is printed.
bool CStatements::print_update(const Store &store, ScalarType type) {
  const auto *sum = as<Binary>(store.value);
  const bool plain_type = (type.is_floating() && type.bits > 16) ||
                          (type.is_integer() && !type.is_signed_integer() && type.bits > 16);
  if (sum == nullptr || !plain_type || !(store.value->type.scalar == type)) {
    return false;
  }
  const char *sign = sum->op == Op::Add                             ? " += "
                     : sum->op == Op::Sub                           ? " -= "
                     : sum->op == Op::Mul                           ? " *= "
                     : sum->op == Op::TrueDiv && type.is_floating() ? " /= "
                                                                    : nullptr;
  const auto *before = as_load_of(sum->left(), store.buffer);
  if (sign == nullptr || before == nullptr ||
      !std::equal(store.subscripts.begin(), store.subscripts.end(), before->subscripts().begin(),
                  before->subscripts().end(), same_value)) {
    return false;
  }
  assignment(expressions_.element(store.buffer, store.subscripts) + sign,
             expressions_.as(sum->right(), type).text);
  return true;
}

void CStatements::print_statement(const Store &store) {
  if (store.mask) {
    throw Error(ErrorKind::Internal, "a store under a mask reached C source");
  }
  note(store.statement);
  std::vector<ValuePtr> roots = store.subscripts;
  roots.push_back(store.value);
  name_shared(roots);
  const ScalarType type = kernel_.buffers.at(static_cast<size_t>(store.buffer)).type;
  if (const auto sum = fused(store.op, store.value, type)) {
    assignment(expressions_.element(store.buffer, store.subscripts) + " = ", *sum);
  } else if (!print_update(store, type)) {
    assignment(expressions_.element(store.buffer, store.subscripts) + " = ",
               expressions_.stored(store.value, type).text);
  }
  expressions_.forget_names();
}

/// Whether C has `element op= value` in one step, whatever the numbers are.
bool CStatements::has_operator(const AtomicUpdate &update) const {
  const ScalarType type = kernel_.buffers.at(static_cast<size_t>(update.buffer)).type;
  const bool narrow_float = type.is_floating() && type.bits == 16;
  if (type.is_complex() || type.is_bool() || narrow_float) {
    return false;
  }
  if (type.is_integer()) {
    return update.op == Op::Add || update.op == Op::And || update.op == Op::Or;
  }
  return update.op == Op::Add || update.op == Op::Mul;
}

void CStatements::print_statement(const AtomicUpdate &update) {
  note(update.statement);
  std::vector<ValuePtr> roots = update.subscripts;
  roots.push_back(update.value);
  name_shared(roots);
  const ScalarType type = kernel_.buffers.at(static_cast<size_t>(update.buffer)).type;
  const std::string element = expressions_.element(update.buffer, update.subscripts);
  const CText value = expressions_.as(update.value, type);
  if (has_operator(update)) {
    pragma("omp atomic");
    const bool wraps = type.is_signed_integer() && type.bits >= 32; // C's own sum may not
    const std::string own = "u" + c_type(type);
    const char *sign = update.op == Op::Add   ? "+="
                       : update.op == Op::Mul ? "*="
                       : update.op == Op::And ? "&="
                                              : "|=";
    line(wraps ? fmt::format("*({} *)&{} {} {};", own, element, sign, c_cast(own, value).text)
               : fmt::format("{} {} {};", element, sign, value.text));
  } else {
    pragma("omp critical(tw_update)");
    const CText before = expressions_.loaded(element, type);
    const CText after = expressions_.applied(update.op, type, before, value);
    const bool narrow_float = type.is_floating() && type.bits == 16;
    line(element + " = " + (narrow_float ? c_call(helpers_.to_bits(type), after) : after).text +
         ";");
  }
  expressions_.forget_names();
}

void CStatements::print_statement(const Let &let) {
  name_shared({let.value});
  const std::string value = expressions_.as(let.value, Int64).text;
  expressions_.forget_names();
  if (expressions_.is_index(*let.value)) {
    expressions_.add_index(let.id, expressions_.range_of(let.value));
  }
  const std::string name = names_.define(let.id, let.name);
  line("const int64_t " + name + " = " + value + ";");
}

void CStatements::print_statement(const DeclareLocal &local) {
  note(local.statement);
  name_shared({local.value});
  const ScalarType type = local.value->type.scalar;
  const std::string value = expressions_.text(local.value).text;
  expressions_.forget_names();
  locals_[local.id] = type;
  const std::string name = names_.define(local.id, local.name);
  assignment(c_type(type) + " " + name + " = ", value);
}

void CStatements::print_statement(const AssignLocal &assignment) {
  note(assignment.statement);
  name_shared({assignment.value});
  const ScalarType type = locals_.at(assignment.id);
  const auto sum = fused(assignment.op, assignment.value, type);
  this->assignment(names_.of(assignment.id) + " = ",
                   sum ? *sum : expressions_.as(assignment.value, type).text);
  expressions_.forget_names();
}

void CStatements::print_statement(const If &test) {
  name_shared({test.condition});
  line("if (" + expressions_.text(test.condition).text + ") {");
  expressions_.forget_names();
  indented(test.then());
  if (test.has_otherwise()) {
    line("} else {");
    indented(test.otherwise());
  }
  line("}");
}

void CStatements::print_statement(const While &loop) {
  if (!has_shared({loop.condition})) {
    line("while (" + expressions_.text(loop.condition).text + ") {");
    indented(loop.body());
    line("}");
    return;
  }
  line("for (;;) {");
  ++depth_;
  CNames::Scope outer = names_.open();
  name_shared({loop.condition});
  const CText condition = expressions_.text(loop.condition);
  line("if (!(" + condition.text + ")) {");
  line("  break;");
  line("}");
  expressions_.forget_names();
  print(loop.body());
  names_.close(std::move(outer));
  --depth_;
  line("}");
}

} // namespace tilewright
