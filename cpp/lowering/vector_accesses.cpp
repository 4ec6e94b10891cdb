#include "lowering/vector_accesses.h"

#include "lowering/linear.h"
#include "lowering/private_memory.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tilewright {

namespace {

/// Statements of which two copies are made; larger ones are taken apart.
constexpr int most_copied = 64;

/// What lane 0 has of a subscript.
ValuePtr first_lane(const ValuePtr &subscript) {
  return subscript->kind == ValueKind::Ramp || subscript->kind == ValueKind::Broadcast
             ? subscript->operands[0]
             : subscript;
}

/// In bytes, where they are constants; else 0.
std::vector<std::int64_t> strides_of(const KernelBuffer &buffer) {
  const size_t rank = buffer.extents.size();
  std::vector<std::int64_t> strides(rank, 0);
  std::int64_t stride = buffer.type.bytes();
  strides[static_cast<size_t>(buffer.layout.unit)] = stride;
  const bool packed = !buffer.is_argument;
  for (size_t inner = rank - 1;
       inner > 0 && (packed || inner + static_cast<size_t>(buffer.layout.packed) >= rank);
       --inner) {
    const auto extent = as_integer(buffer.extents[inner]);
    if (!extent) {
      break;
    }
    stride *= *extent;
    strides[inner - 1] = stride;
  }
  return strides;
}

class VectorAligner {
public:
  explicit VectorAligner(Kernel &kernel) : kernel_(kernel), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->kind == StatementKind::Launch) {
      return map_children(statement, [&](const StmtPtr &child) { return split(child); });
    }
    return map_children(statement, *this);
  }

private:
  /// What is to be asked of arrays: the bytes that their addresses are to be multiples of.
  using Questions = std::map<std::int64_t, std::int64_t>;

  struct Inside {
    Questions questions;
    int statements = 0;
    bool is_fixed = false; ///< stays where it is: barriers, loops over blocks, memory
  };

  Inside look(const StmtPtr &root) const {
    Inside inside;
    const auto ask = [&](std::int64_t b, const std::vector<ValuePtr> &subscripts, int lanes) {
      const KernelBuffer &buffer = kernel_.buffers[static_cast<size_t>(b)];
      const std::int64_t width = vector_width(buffer, subscripts, lanes);
      if (width > 0 && !is_in_kernel(buffer)) {
        std::int64_t &asked = inside.questions[b];
        asked = std::max(asked, width);
      }
    };
    visit_statements(root, [&](const LoopStatement &statement) {
      ++inside.statements;
      inside.is_fixed =
          inside.is_fixed || statement.kind == StatementKind::Barrier ||
          statement.kind == StatementKind::Allocate ||
          (statement.kind == StatementKind::For && statement.loop == LoopKind::GpuBlock);
      if (statement.kind == StatementKind::Store && !statement.mask) {
        ask(statement.buffer, statement.subscripts, statement.value->type.lanes);
      }
      visit_values(statement, [&](const Value &value) {
        if (value.kind == ValueKind::Load) {
          ask(value.id, value.operands, value.type.lanes);
        }
      });
    });
    return inside;
  }

  ValuePtr answer(const Questions &questions) const {
    ValuePtr all = boolean(true);
    for (const auto &[buffer, bytes] : questions) {
      all = both(all, aligned(buffer, kernel_.buffers[static_cast<size_t>(buffer)].name,
                              static_cast<int>(bytes)));
    }
    return all;
  }

  StmtPtr twice(const Questions &questions, const StmtPtr &statement) {
    return if_then(answer(questions), statement, copy_with(statement, {}, numbers_));
  }

  StmtPtr split(const StmtPtr &statement) {
    const Inside inside = look(statement);
    if (inside.questions.empty()) {
      return statement;
    }
    const bool defines =
        statement->kind == StatementKind::Let || statement->kind == StatementKind::DeclareLocal;
    if (!inside.is_fixed && !defines && inside.statements <= most_copied) {
      return twice(inside.questions, statement);
    }
    if (statement->kind != StatementKind::Block) {
      return map_children(statement, [&](const StmtPtr &child) { return split(child); });
    }
    // Neighbours that ask the same have one answer.
    std::vector<StmtPtr> children;
    std::vector<StmtPtr> run;
    Questions of_run;
    const auto flush = [&] {
      if (!run.empty()) {
        children.push_back(twice(of_run, block(std::exchange(run, {}))));
      }
    };
    for (const StmtPtr &child : statement->children) {
      const bool is_simple =
          child->kind == StatementKind::Store || child->kind == StatementKind::AssignLocal;
      const Questions own = is_simple ? look(child).questions : Questions{};
      if (own.empty() || own != of_run) {
        flush();
      }
      if (own.empty()) {
        children.push_back(split(child));
      } else {
        of_run = own;
        run.push_back(child);
      }
    }
    flush();
    return block(std::move(children));
  }

  Kernel &kernel_;
  Numbers numbers_;
};

} // namespace

std::int64_t alignment_of(std::int64_t bytes) {
  const std::int64_t bits = bytes | widest_access;
  return bits & -bits;
}

std::int64_t known_alignment(const KernelBuffer &buffer, const std::vector<ValuePtr> &subscripts) {
  if (buffer.layout.unit < 0 || buffer.extents.empty() || !buffer.record.name.empty()) {
    return 0;
  }
  const std::vector<std::int64_t> strides = strides_of(buffer);
  std::int64_t known = widest_access;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const ValuePtr first = first_lane(subscripts[d]);
    const auto linear = is_index(first) ? linear_of(first) : std::nullopt;
    const std::int64_t stride = strides[d] == 0 ? widest_access : strides[d];
    if (!linear) {
      known = std::min(known, alignment_of(stride));
      continue;
    }
    for (const Linear::Term &term : linear->terms) {
      known = std::min(known, alignment_of(stride * term.coefficient));
    }
    known = std::min(known, alignment_of(stride * linear->constant));
  }
  return known;
}

std::int64_t vector_width(const KernelBuffer &buffer, const std::vector<ValuePtr> &subscripts,
                          int lanes) {
  const std::int64_t known = lanes > 1 ? known_alignment(buffer, subscripts) : 0;
  if (known == 0) {
    return 0;
  }
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const ValuePtr &subscript = subscripts[d];
    const bool is_unit = static_cast<int>(d) == buffer.layout.unit;
    const bool fits =
        is_unit ? subscript->kind == ValueKind::Ramp && subscript->id == 1 && subscript->inner == 1
                : subscript->type.lanes == 1;
    if (!fits) {
      return 0;
    }
  }
  const std::int64_t width = std::min(known, alignment_of(lanes * buffer.type.bytes()));
  const std::int64_t component = buffer.type.bytes() / (buffer.type.is_complex() ? 2 : 1);
  return width > component ? width : 0;
}

void align_vectors(Kernel &kernel) { kernel.body = VectorAligner(kernel)(kernel.body); }

} // namespace tilewright
