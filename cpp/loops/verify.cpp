#include "loops/verify.h"

#include "loops/build.h"

#include <map>
#include <set>

namespace tilewright {

namespace {

class Verifier {
public:
  explicit Verifier(const Kernel &kernel) : kernel_(kernel) {}

  void run() {
    for (const KernelBuffer &buffer : kernel_.buffers) {
      for (const ValuePtr &extent : buffer.extents) {
        require(extent && is_int64(extent), "the extents of '" + buffer.name + "' are int64");
        check(extent);
      }
    }
    require(kernel_.body != nullptr, "a kernel has a body");
    Scope scope(*this);
    check(kernel_.body);
  }

private:
  struct Scope {
    explicit Scope(Verifier &verifier)
        : verifier(verifier), variables(verifier.variables_), locals(verifier.locals_) {}
    ~Scope() {
      verifier.variables_ = variables;
      verifier.locals_ = locals;
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    Verifier &verifier;
    std::set<std::int64_t> variables;
    std::map<std::int64_t, ValueType> locals;
  };

  void require(bool holds, const std::string &what) const {
    if (!holds) {
      throw Error(ErrorKind::Internal, "loop IR of '" + kernel_.name + "': violated: " + what);
    }
  }

  void define(std::int64_t id, const std::string &name) {
    require(variables_.insert(id).second, "variable '" + name + "' is defined once");
  }

  void check_index_value(const ValuePtr &value, const std::string &what) {
    require(value && is_int64(value), what + " is an int64 scalar");
    check(value);
  }

  void check_subscripts(std::int64_t buffer, const std::vector<ValuePtr> &subscripts, int lanes) {
    require(buffer >= 0 && buffer < static_cast<std::int64_t>(kernel_.buffers.size()),
            "a buffer number is valid");
    const KernelBuffer &of = kernel_.buffers[static_cast<size_t>(buffer)];
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

  void check_mask(const StmtPtr &statement, int lanes) {
    if (statement->mask) {
      check(statement->mask);
      require(lanes > 1 && statement->mask->type == ValueType{Bool, lanes},
              "a mask is a bool for each lane");
    }
  }

  void check_reported(const StmtPtr &statement) {
    require(statement->id >= 0 && statement->id < static_cast<std::int64_t>(kernel_.sites.size()),
            "a check has a site");
    for (const ValuePtr &reported : statement->subscripts) {
      check(reported);
      require(reported->type.lanes == 1 || reported->type.lanes == statement->value->type.lanes,
              "what is reported has the lanes of the check");
    }
  }

  void check(const StmtPtr &statement) {
    require(statement != nullptr, "a statement is not null");
    switch (statement->kind) {
    case StatementKind::Block: {
      Scope scope(*this);
      for (const StmtPtr &child : statement->children) {
        check(child);
      }
      return;
    }
    case StatementKind::For: {
      check_index_value(statement->lower, "the lower bound of '" + statement->name + "'");
      check_index_value(statement->upper, "the upper bound of '" + statement->name + "'");
      require(statement->children.size() == 1, "a loop has one body");
      Scope scope(*this);
      define(statement->id, statement->name);
      check(statement->children[0]);
      return;
    }
    case StatementKind::While: {
      check(statement->value);
      require(statement->value->type == ValueType{Bool, 1}, "a condition is a bool scalar");
      require(statement->children.size() == 1, "a loop has one body");
      Scope scope(*this);
      check(statement->children[0]);
      return;
    }
    case StatementKind::If: {
      check(statement->value);
      require(statement->value->type == ValueType{Bool, 1}, "a condition is a bool scalar");
      require(statement->children.size() == 1 || statement->children.size() == 2,
              "an if has one or two branches");
      for (const StmtPtr &child : statement->children) {
        Scope scope(*this);
        check(child);
      }
      return;
    }
    case StatementKind::CopyAsync:
      require(in_launch_ && statement->value && statement->value->kind == ValueKind::Load &&
                  !statement->mask,
              "an asynchronous copy is of a load in a launch");
      [[fallthrough]];
    case StatementKind::AtomicUpdate:
    case StatementKind::Store: {
      check(statement->value);
      check_mask(statement, statement->value->type.lanes);
      check_subscripts(statement->buffer, statement->subscripts, statement->value->type.lanes);
      const KernelBuffer &buffer = kernel_.buffers[static_cast<size_t>(statement->buffer)];
      const bool combines = statement->combines != std::array<bool, 3>{};
      require(buffer.type == statement->value->type.scalar ||
                  (combines && statement->value->type == ValueType{Float32, 1}),
              "the type stored to '" + buffer.name + "' is its own");
      require(buffer.is_written,
              "buffer '" + buffer.name + "', which is stored to, is marked as written");
      return;
    }
    case StatementKind::Let:
      check_index_value(statement->value, "the value of '" + statement->name + "'");
      define(statement->id, statement->name);
      return;
    case StatementKind::DeclareLocal:
      check(statement->value);
      require(locals_.emplace(statement->id, statement->value->type).second,
              "local '" + statement->name + "' is declared once");
      return;
    case StatementKind::AssignLocal: {
      check(statement->value);
      const auto found = locals_.find(statement->id);
      require(found != locals_.end(),
              "local '" + statement->name + "' is declared before it is assigned");
      require(found->second == statement->value->type,
              "the type assigned to local '" + statement->name + "'");
      return;
    }
    case StatementKind::Allocate: {
      require(statement->buffer >= 0 &&
                  static_cast<size_t>(statement->buffer) < kernel_.buffers.size() &&
                  kernel_.buffers[static_cast<size_t>(statement->buffer)].is_scoped,
              "an allocation is of a scoped buffer");
      require(statement->children.size() == 1, "an allocation has one body");
      Scope scope(*this);
      check(statement->children[0]);
      return;
    }
    case StatementKind::Launch: {
      require(kernel_.is_gpu && !in_launch_, "a launch stands outside of others");
      require(statement->children.size() == 1, "a launch has one body");
      require(statement->subscripts.empty() || statement->subscripts.size() == 3,
              "a grid has three extents");
      for (const ValuePtr &extent : statement->subscripts) {
        check_index_value(extent, "the extent of a grid");
      }
      Scope scope(*this);
      in_launch_ = true;
      check(statement->children[0]);
      in_launch_ = false;
      return;
    }
    case StatementKind::Barrier:
      require(in_launch_, "a barrier stands in a launch");
      return;
    case StatementKind::CommitCopies:
    case StatementKind::WaitForCopies:
      require(in_launch_ && statement->id >= 0, "threads wait for copies in a launch");
      return;
    case StatementKind::Timed: {
      require(statement->id >= 0 && statement->id < static_cast<std::int64_t>(kernel_.nests.size()),
              "what is timed is a nest");
      require(statement->children.size() == 1, "a timed nest has one body");
      Scope scope(*this);
      check(statement->children[0]);
      return;
    }
    case StatementKind::CheckValue:
      check(statement->value);
      require(statement->value->type.scalar == Bool, "a check is a bool");
      check_mask(statement, statement->value->type.lanes);
      check_reported(statement);
      return;
    case StatementKind::CheckIndex:
      check(statement->value);
      check_reported(statement);
      require(statement->value->type.scalar == Int64, "a checked subscript is int64");
      check_mask(statement, statement->value->type.lanes);
      check_index_value(statement->upper, "the bound of a checked subscript");
      return;
    }
  }

  void check(const ValuePtr &root) {
    require(root != nullptr, "a value is not null");
    visit_value(root, [&](const Value &value) { check_node(value); });
  }

  void check_node(const Value &value) {
    const std::vector<ValuePtr> &operands = value.operands;
    const auto count = [&](size_t expected) {
      require(operands.size() == expected,
              "operation '" + op_name(value.op) + "' has its operands");
    };
    const auto same_lanes = [&] {
      for (const ValuePtr &operand : operands) {
        require(operand->type.lanes == value.type.lanes,
                "lanes of operation '" + op_name(value.op) + "' agree");
      }
    };
    switch (value.kind) {
    case ValueKind::Constant:
      return;
    case ValueKind::GpuIndex:
      require(in_launch_ && value.id >= 0 && value.id < 6, "a thread has its number in a launch");
      return;
    case ValueKind::Aligned:
      require(in_launch_ && value.id >= 0 &&
                  value.id < static_cast<std::int64_t>(kernel_.buffers.size()) && value.inner > 0,
              "what is asked for its alignment is a buffer");
      return;
    case ValueKind::Variable:
      require(variables_.contains(value.id),
              "variable '" + value.name + "' is defined where it is used");
      return;
    case ValueKind::Parameter:
      require(value.id >= 0 && value.id < static_cast<std::int64_t>(kernel_.parameters.size()),
              "parameter '" + value.name + "' exists");
      return;
    case ValueKind::Shuffle:
      count(1);
      same_lanes();
      require(in_launch_ && value.id > 0 && value.id < 32, "a shuffle is within a warp");
      return;
    case ValueKind::Local: {
      const auto found = locals_.find(value.id);
      require(found != locals_.end(), "local '" + value.name + "' is declared where it is used");
      require(found->second == value.type, "the type of local '" + value.name + "'");
      return;
    }
    case ValueKind::Load:
      check_subscripts(value.id, operands, value.type.lanes);
      require(kernel_.buffers[static_cast<size_t>(value.id)].type == value.type.scalar,
              "the type loaded from '" + value.name + "'");
      return;
    case ValueKind::Unary:
      count(1);
      same_lanes();
      return;
    case ValueKind::Binary:
      count(2);
      same_lanes();
      require(operands[0]->type.scalar == operands[1]->type.scalar,
              "operand types of '" + op_name(value.op) +
                  "' agree: " + type_name(operands[0]->type.scalar) + " and " +
                  type_name(operands[1]->type.scalar));
      require(value.type.scalar == (is_comparison(value.op) ? Bool : operands[0]->type.scalar),
              "the result type of '" + op_name(value.op) + "'");
      return;
    case ValueKind::Call:
      same_lanes();
      return;
    case ValueKind::Cast:
      require(operands.size() == 1, "a cast has one operand");
      same_lanes();
      return;
    case ValueKind::Select:
      require(operands.size() == 3, "a select has three operands");
      same_lanes();
      require(operands[0]->type.scalar == Bool, "the condition of a select is bool");
      require(operands[1]->type.scalar == value.type.scalar &&
                  operands[2]->type.scalar == value.type.scalar,
              "the types of a select agree");
      return;
    case ValueKind::Ramp:
      require(operands.size() == 1 && is_int64(operands[0]) && value.type.scalar == Int64 &&
                  value.type.lanes > 1 && value.inner >= 1 && value.type.lanes % value.inner == 0,
              "a ramp is an int64 vector over an int64 scalar");
      return;
    case ValueKind::Masked:
      require(operands.size() == 2 && operands[1]->kind == ValueKind::Load &&
                  operands[1]->type == value.type && value.type.lanes > 1 &&
                  operands[0]->type == ValueType{Bool, value.type.lanes},
              "a masked value is a vector load with a bool for each lane");
      return;
    case ValueKind::Reduce:
      require(operands.size() == 1 && operands[0]->type.lanes > 1 &&
                  value.type == ValueType{operands[0]->type.scalar, 1},
              "a reduction of lanes is the scalar of its vector");
      return;
    case ValueKind::Mma:
      require(in_launch_ && value.type == ValueType{Float32, 4} && operands.size() > 4,
              "a warp's tile gives a thread four sums, in a launch");
      for (size_t k = operands.size() - 4; k < operands.size(); ++k) {
        require(operands[k]->type == ValueType{Float32, 1}, "a warp's tile has sums of float32");
      }
      return;
    case ValueKind::Matrices:
      require(in_launch_ && value.type.scalar.bytes() == 2 &&
                  (value.type.lanes == 2 || value.type.lanes == 4 || value.type.lanes == 8),
              "a warp loads one, two or four matrices of two bytes, in a launch");
      check_subscripts(value.id, operands, 1);
      require(kernel_.buffers[static_cast<size_t>(value.id)].type == value.type.scalar,
              "the type of matrices from '" + value.name + "'");
      return;
    case ValueKind::Lane:
      require(operands.size() == 1 && value.id >= 0 && value.id < operands[0]->type.lanes &&
                  value.type == ValueType{operands[0]->type.scalar, 1},
              "a lane is one of its vector's");
      return;
    case ValueKind::Broadcast:
      require(operands.size() == 1 && operands[0]->type == ValueType{value.type.scalar, 1} &&
                  value.type.lanes > 1,
              "a broadcast is a vector of its scalar");
      return;
    }
  }

  const Kernel &kernel_;
  std::set<std::int64_t> variables_;
  bool in_launch_ = false;
  std::map<std::int64_t, ValueType> locals_;
};

} // namespace

void verify_kernel(const Kernel &kernel) { Verifier(kernel).run(); }

} // namespace tilewright
