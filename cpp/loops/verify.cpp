#include "loops/verify.h"

#include "algorithm/extern_function.h"
#include "loops/dispatch.h"
#include "loops/traverse.h"

#include <map>
#include <set>

namespace tilewright {

namespace {

/// What both kinds of checks below say when something does not hold.
class Requirements {
public:
  explicit Requirements(const Kernel &kernel) : kernel_(kernel) {}

protected:
  void require(bool holds, const std::string &what) const {
    if (!holds) {
      throw Error(ErrorKind::Internal, "loop IR of '" + kernel_.name + "': violated: " + what);
    }
  }

  const KernelBuffer &buffer_of(std::int64_t number) const {
    require(number >= 0 && number < static_cast<std::int64_t>(kernel_.buffers.size()),
            "a buffer number is valid");
    return kernel_.buffers[static_cast<size_t>(number)];
  }

  const Kernel &kernel_;
};

/// The checks of values: one for each kind.
class ValueVerifier : public Requirements {
public:
  using Requirements::Requirements;

  void check(const ValuePtr &root) const {
    require(root != nullptr, "a value is not null");
    visit_value(root, [&](const Value &value) {
      dispatch(value, [&](const auto &node) { check_node(node); });
    });
  }

protected:
  void check_index_value(const ValuePtr &value, const std::string &what) const {
    require(value && is_int64(value), what + " is an int64 scalar");
    check(value);
  }

  void check_subscripts(std::int64_t buffer, const std::vector<ValuePtr> &subscripts,
                        int lanes) const {
    const KernelBuffer &of = buffer_of(buffer);
    require(subscripts.size() == of.extents.size(),
            "subscripts of '" + of.name + "' match its rank");
    bool is_vector = lanes == 1;
    for (const ValuePtr &subscript : subscripts) {
      check(subscript);
      require(subscript->type.scalar == Int64, "subscripts of '" + of.name + "' are int64");
      require(subscript->type.lanes == 1 || subscript->type.lanes == lanes,
              "lanes of subscripts of '" + of.name + "'");
      is_vector = is_vector || subscript->type.lanes == lanes;
    }
    require(is_vector, "a vector access to '" + of.name + "' has a vector subscript");
  }

  void check_node(const Constant &) const {}

  void check_node(const Variable &variable) const {
    require(variables_.contains(variable.id),
            "variable '" + variable.name + "' is defined where it is used");
  }

  void check_node(const Parameter &parameter) const {
    require(parameter.position >= 0 &&
                parameter.position < static_cast<std::int64_t>(kernel_.parameters.size()),
            "parameter '" + parameter.name + "' exists");
  }

  void check_node(const Local &local) const {
    const auto found = locals_.find(local.id);
    require(found != locals_.end(), "local '" + local.name + "' is declared where it is used");
    require(found->second == local.type, "the type of local '" + local.name + "'");
  }

  void check_node(const Load &load) const {
    check_subscripts(load.buffer, load.subscripts(), load.type.lanes);
    require(buffer_of(load.buffer).type == load.type.scalar,
            "the type loaded from '" + load.name + "'");
  }

  void check_node(const Unary &unary) const { check_operands(unary, op_name(unary.op), 1); }

  void check_node(const Binary &binary) const {
    check_operands(binary, op_name(binary.op), 2);
    const ScalarType left = binary.left()->type.scalar;
    const ScalarType right = binary.right()->type.scalar;
    require(left == right, "operand types of '" + op_name(binary.op) +
                               "' agree: " + type_name(left) + " and " + type_name(right));
    require(binary.type.scalar == (is_comparison(binary.op) ? Bool : left),
            "the result type of '" + op_name(binary.op) + "'");
  }

  void check_node(const Call &call) const {
    check_operands(call, op_name(call.op), call.operands.size());
  }

  void check_node(const Extern &call) const {
    const std::string &name = call.function->name;
    require(call.operands.size() == call.function->arguments.size() + (call.has_mask ? 1 : 0),
            "the arguments of " + name);
    const std::vector<ValuePtr> arguments = call.arguments();
    for (size_t a = 0; a < arguments.size(); ++a) {
      require(arguments[a]->type == ValueType{call.function->arguments[a], call.type.lanes},
              "the type of an argument of " + name);
    }
    require(!call.has_mask || call.operands[0]->type == ValueType{Bool, call.type.lanes},
            "the mask of " + name);
    require(call.type.scalar == call.function->result, "the result of " + name);
  }

  void check_node(const Cast &conversion) const { check_operands(conversion, "cast", 1); }

  void check_node(const Select &select) const {
    check_operands(select, "select", 3);
    require(select.condition()->type.scalar == Bool, "the condition of a select is bool");
    require(select.then()->type.scalar == select.type.scalar &&
                select.otherwise()->type.scalar == select.type.scalar,
            "the types of a select agree");
  }

  void check_node(const Ramp &ramp) const {
    require(ramp.operands.size() == 1 && is_int64(ramp.base()) && ramp.type.scalar == Int64 &&
                ramp.type.lanes > 1 && ramp.inner >= 1 && ramp.type.lanes % ramp.inner == 0,
            "a ramp is an int64 vector over an int64 scalar");
  }

  void check_node(const Broadcast &broadcast) const {
    require(broadcast.operands.size() == 1 &&
                broadcast.operand()->type == ValueType{broadcast.type.scalar, 1} &&
                broadcast.type.lanes > 1,
            "a broadcast is a vector of its scalar");
  }

  void check_node(const Masked &masked) const {
    require(masked.operands.size() == 2 && is<Load>(masked.load()) &&
                masked.load()->type == masked.type && masked.type.lanes > 1 &&
                masked.mask()->type == ValueType{Bool, masked.type.lanes},
            "a masked value is a vector load with a bool for each lane");
  }

  void check_node(const Reduce &reduce) const {
    require(reduce.operands.size() == 1 && reduce.operand()->type.lanes > 1 &&
                reduce.type == ValueType{reduce.operand()->type.scalar, 1},
            "a reduction of lanes is the scalar of its vector");
  }

  void check_node(const Lane &lane) const {
    require(lane.operands.size() == 1 && lane.number >= 0 &&
                lane.number < lane.operand()->type.lanes &&
                lane.type == ValueType{lane.operand()->type.scalar, 1},
            "a lane is one of its vector's");
  }

  void check_node(const GpuIndex &index) const {
    require(in_launch_ && index.number >= 0 && index.number < 6,
            "a thread has its number in a launch");
  }

  void check_node(const Mma &mma) const {
    require(in_launch_ && mma.type == ValueType{Float32, 4} && mma.operands.size() > 4,
            "a warp's tile gives a thread four sums, in a launch");
    for (size_t k = mma.operands.size() - 4; k < mma.operands.size(); ++k) {
      require(mma.operands[k]->type == ValueType{Float32, 1}, "a warp's tile has sums of float32");
    }
  }

  void check_node(const Matrices &matrices) const {
    const int lanes = matrices.type.lanes;
    require(in_launch_ && matrices.type.scalar.bytes() == 2 &&
                (lanes == 2 || lanes == 4 || lanes == 8),
            "a warp loads one, two or four matrices of two bytes, in a launch");
    check_subscripts(matrices.buffer, matrices.subscripts(), 1);
    require(buffer_of(matrices.buffer).type == matrices.type.scalar,
            "the type of matrices from '" + matrices.name + "'");
  }

  void check_node(const Shuffle &shuffle) const {
    require(shuffle.operands.size() == 1, "a shuffle has one operand");
    require(in_launch_ && shuffle.bits > 0 && shuffle.bits < warp_size,
            "a shuffle is within a warp");
  }

  void check_node(const Aligned &aligned) const {
    require(in_launch_ && aligned.bytes > 0 && !buffer_of(aligned.buffer).name.empty(),
            "what is asked for its alignment is a buffer");
  }

  /// So many operands, of as many lanes as the result.
  void check_operands(const Value &value, const std::string &name, size_t count) const {
    require(value.operands.size() == count, "operation '" + name + "' has its operands");
    for (const ValuePtr &operand : value.operands) {
      require(operand->type.lanes == value.type.lanes, "lanes of operation '" + name + "' agree");
    }
  }

  std::set<std::int64_t> variables_;
  std::map<std::int64_t, ValueType> locals_;
  bool in_launch_ = false;
};

/// The checks of statements, which say what the values in them may use.
class Verifier : ValueVerifier {
public:
  using ValueVerifier::ValueVerifier;

  void run() {
    for (const KernelBuffer &buffer : kernel_.buffers) {
      for (const ValuePtr &extent : buffer.extents) {
        require(extent && is_int64(extent), "the extents of '" + buffer.name + "' are int64");
        check(extent);
      }
    }
    require(kernel_.body != nullptr, "a kernel has a body");
    check_inside(kernel_.body);
  }

private:
  using ValueVerifier::check;

  void check(const StmtPtr &statement) {
    require(statement != nullptr, "a statement is not null");
    dispatch(*statement, [&](const auto &node) { check_statement(node); });
  }

  /// What is defined inside is not known afterwards.
  void check_inside(const StmtPtr &statement) {
    const std::set<std::int64_t> variables = variables_;
    const std::map<std::int64_t, ValueType> locals = locals_;
    check(statement);
    variables_ = variables;
    locals_ = locals;
  }

  void define(std::int64_t id, const std::string &name) {
    require(variables_.insert(id).second, "variable '" + name + "' is defined once");
  }

  void check_condition(const ValuePtr &condition) const {
    check(condition);
    require(condition->type == ValueType{Bool, 1}, "a condition is a bool scalar");
  }

  void check_mask(const ValuePtr &mask, int lanes) const {
    if (mask) {
      check(mask);
      require(lanes > 1 && mask->type == ValueType{Bool, lanes}, "a mask is a bool for each lane");
    }
  }

  /// The body of what stands around one statement.
  void check_body(const LoopStatement &statement, const std::string &what) {
    require(statement.children.size() == 1, what + " has one body");
    check_inside(statement.children[0]);
  }

  void check_statement(const Block &sequence) {
    const std::set<std::int64_t> variables = variables_;
    const std::map<std::int64_t, ValueType> locals = locals_;
    for (const StmtPtr &child : sequence.children) {
      check(child);
    }
    variables_ = variables;
    locals_ = locals;
  }

  void check_statement(const For &loop) {
    check_index_value(loop.lower, "the lower bound of '" + loop.name + "'");
    check_index_value(loop.upper, "the upper bound of '" + loop.name + "'");
    const std::set<std::int64_t> variables = variables_;
    define(loop.id, loop.name);
    check_body(loop, "a loop");
    variables_ = variables;
  }

  void check_statement(const While &loop) {
    check_condition(loop.condition);
    check_body(loop, "a loop");
  }

  void check_statement(const If &test) {
    check_condition(test.condition);
    require(test.children.size() == 1 || test.children.size() == 2,
            "an if has one or two branches");
    for (const StmtPtr &child : test.children) {
      check_inside(child);
    }
  }

  void check_change(const ElementChange &change, bool may_be_wider) const {
    check(change.value);
    check_subscripts(change.buffer, change.subscripts, change.value->type.lanes);
    const KernelBuffer &buffer = buffer_of(change.buffer);
    require(buffer.type == change.value->type.scalar ||
                (may_be_wider && change.value->type == ValueType{Float32, 1}),
            "the type stored to '" + buffer.name + "' is its own");
    require(buffer.is_written,
            "buffer '" + buffer.name + "', which is stored to, is marked as written");
  }

  void check_statement(const Store &store) {
    check_change(store, false);
    check_mask(store.mask, store.value->type.lanes);
  }

  void check_statement(const AtomicUpdate &update) {
    check_change(update, update.combines != std::array<bool, 3>{});
  }

  void check_statement(const CopyAsync &copy) {
    require(in_launch_ && copy.value && is<Load>(copy.value),
            "an asynchronous copy is of a load in a launch");
    check_change(copy, false);
  }

  void check_statement(const Let &let) {
    check_index_value(let.value, "the value of '" + let.name + "'");
    define(let.id, let.name);
  }

  void check_statement(const DeclareLocal &local) {
    check(local.value);
    require(locals_.emplace(local.id, local.value->type).second,
            "local '" + local.name + "' is declared once");
  }

  void check_statement(const AssignLocal &assignment) {
    check(assignment.value);
    const auto found = locals_.find(assignment.id);
    require(found != locals_.end(),
            "local '" + assignment.name + "' is declared before it is assigned");
    require(found->second == assignment.value->type,
            "the type assigned to local '" + assignment.name + "'");
  }

  void check_statement(const Allocate &allocation) {
    require(buffer_of(allocation.buffer).is_scoped, "an allocation is of a scoped buffer");
    check_body(allocation, "an allocation");
  }

  void check_site(const RuntimeCheck &given) const {
    check(given.value);
    require(given.site >= 0 && given.site < static_cast<std::int64_t>(kernel_.sites.size()),
            "a check has a site");
    for (const ValuePtr &reported : given.reported) {
      check(reported);
      require(reported->type.lanes == 1 || reported->type.lanes == given.value->type.lanes,
              "what is reported has the lanes of the check");
    }
    check_mask(given.mask, given.value->type.lanes);
  }

  void check_statement(const CheckIndex &given) {
    check_site(given);
    require(given.value->type.scalar == Int64, "a checked subscript is int64");
    check_index_value(given.upper, "the bound of a checked subscript");
  }

  void check_statement(const CheckValue &given) {
    check_site(given);
    require(given.value->type.scalar == Bool, "a check is a bool");
  }

  void check_statement(const Timed &timed) {
    require(timed.nest >= 0 && timed.nest < static_cast<std::int64_t>(kernel_.nests.size()),
            "what is timed is a nest");
    check_body(timed, "a timed nest");
  }

  void check_statement(const Launch &launch) {
    require(kernel_.is_gpu && !in_launch_, "a launch stands outside of others");
    require(launch.grid.empty() || launch.grid.size() == 3, "a grid has three extents");
    for (const ValuePtr &extent : launch.grid) {
      check_index_value(extent, "the extent of a grid");
    }
    in_launch_ = true;
    check_body(launch, "a launch");
    in_launch_ = false;
  }

  void check_statement(const Barrier &) const {
    require(in_launch_, "a barrier stands in a launch");
  }

  void check_statement(const CommitCopies &) const {
    require(in_launch_, "threads wait for copies in a launch");
  }

  void check_statement(const WaitForCopies &wait) const {
    require(in_launch_ && wait.groups >= 0, "threads wait for copies in a launch");
  }
};

} // namespace

void verify_kernel(const Kernel &kernel) { Verifier(kernel).run(); }

} // namespace tilewright
