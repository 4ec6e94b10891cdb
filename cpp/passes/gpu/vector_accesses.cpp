#include "passes/gpu/vector_accesses.h"

#include "loops/gpu_queries.h"
#include "loops/linear.h"
#include "loops/traverse.h"
#include "passes/gpu/private_memory.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tilewright {

namespace {

/// Statements of which two copies are made; larger ones are taken apart.
constexpr int max_copied = 64;

class VectorAligner {
public:
  explicit VectorAligner(Kernel &kernel) : kernel_(kernel), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (is<Launch>(statement)) {
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
      inside.is_fixed = inside.is_fixed || is<Barrier>(statement) || is<Allocate>(statement) ||
                        (is_loop_of(statement, LoopKind::GpuBlock));
      if (const auto *store = as<Store>(statement); store != nullptr && !store->mask) {
        ask(store->buffer, store->subscripts, store->value->type.lanes);
      }
      visit_values(statement, [&](const Value &value) {
        if (const auto *load = as<Load>(value)) {
          ask(load->buffer, load->subscripts(), load->type.lanes);
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
    const bool defines = is<Let>(statement) || is<DeclareLocal>(statement);
    if (!inside.is_fixed && !defines && inside.statements <= max_copied) {
      return twice(inside.questions, statement);
    }
    if (!is<Block>(statement)) {
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
      const bool is_simple = is<Store>(child) || is<AssignLocal>(child);
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

void align_vectors(Kernel &kernel) { kernel.body = VectorAligner(kernel)(kernel.body); }

} // namespace tilewright
