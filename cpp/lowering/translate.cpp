#include "lowering/translate.h"

#include "analysis/copies_ahead.h"
#include "analysis/mma_tiles.h"
#include "lowering/ast_translator.h"
#include "lowering/timed_nests.h"

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/id.h>
#include <isl/val.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_translate = "translating loops";

} // namespace

AstTranslator::AstTranslator(const Program &program, const GeneratedAst &ast,
                             const LoweringOptions &options)
    : program_(program), ast_(ast),
      state_{program, kernel_, {}, std::nullopt, {}, options.instrumentation},
      expressions_(program.parameters, program.fixed) {
  if (options.gpu && !options.instrumentation.is_serial()) {
    gpu_.emplace(program);
    check_copies_ahead(program, *gpu_);
    kernel_.is_gpu = true;
  }
  kernel_.name = program.function ? program.function->name : "kernel";
  kernel_.parameters = program.parameters;
  add_buffers(options);
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const Statement &statement = program.statements[i];
    statements_[statement.name] = i;
    kernel_.statements.push_back({statement.computation->name, statement.computation->where});
  }
}

Kernel AstTranslator::run() {
  if (program_.function && program_.function->stop) {
    last_ = local(state_.numbers.next(), "last", {Int64, 1});
  }
  std::vector<StmtPtr> parts;
  for (const GeneratedAst::Part &part : ast_.parts) {
    dimensions_ = part.dimensions;
    const bool is_scanned = part.root.is_null();
    StmtPtr loops;
    if (state_.instrumentation.times) {
      loops = is_scanned ? translate_timed(part.loops) : translate_timed(part.root);
    } else {
      loops = is_scanned ? translate(part.loops, false) : translate(part.root, false);
    }
    parts.push_back(with_memory(-1, loops));
  }
  kernel_.body = join_nests(with_iterations(block(std::move(parts))), kernel_);
  place_buffers();
  return std::move(kernel_);
}

StmtPtr AstTranslator::translate(const isl::ast_node &node, bool in_parallel) {
  switch (isl_ast_node_get_type(node.get())) {
  case isl_ast_node_for:
    return translate_for(node, in_parallel);
  case isl_ast_node_if:
    return translate_if(node, in_parallel);
  case isl_ast_node_block:
    return translate_body(node, in_parallel, false);
  case isl_ast_node_mark:
    return translate(checked(isl::manage(isl_ast_node_mark_get_node(node.get())), doing_translate),
                     in_parallel);
  case isl_ast_node_user:
    return gpu_ ? on_device(
                      statements_below(node), {}, [&] { return translate_user(node); }, true)
                : translate_user(node);
  default:
    throw_isl_error(doing_translate);
  }
}

StmtPtr AstTranslator::on_device(const std::vector<const Statement *> &below, const LoopTag &tag,
                                 const std::function<StmtPtr()> &make, bool is_leaf) {
  if (!gpu_ || in_kernel()) {
    return make();
  }
  const GpuKernel *kernel = nullptr;
  for (const Statement *statement : below) {
    const GpuKernel *own = gpu_->kernel_of(position_of(*statement));
    kernel = kernel == nullptr ? own : kernel;
  }
  if (below.empty() || (kernel != nullptr && !is_gpu(tag.tag) && !is_leaf)) {
    return make();
  }
  kernel_threads_ = kernel == nullptr ? std::array<std::int64_t, 3>{1, 1, 1} : kernel->threads;
  thread_axes_ = {};
  open_levels_.clear();
  const StmtPtr body = make();
  const StmtPtr result = launch(*kernel_threads_, body);
  kernel_threads_.reset();
  return result;
}

size_t AstTranslator::position_of(const Statement &statement) const {
  return static_cast<size_t>(&statement - program_.statements.data());
}

StmtPtr AstTranslator::sequence(std::vector<KernelPart> parts, bool is_loop_body) {
  std::vector<StmtPtr> children;
  if (in_kernel()) {
    const auto is_covered = [&](size_t axis) {
      return thread_axes_[axis] || (*kernel_threads_)[axis] == 1;
    };
    const bool is_one_thread = is_covered(0) && is_covered(1) && is_covered(2);
    if (std::none_of(thread_axes_.begin(), thread_axes_.end(), [](bool in) { return in; })) {
      return with_barriers(*gpu_, parts, levels_, is_loop_body);
    }
    if (!is_one_thread) {
      require_no_barriers(*gpu_, program_, parts, levels_, is_loop_body);
    }
  }
  for (KernelPart &part : parts) {
    children.push_back(std::move(part.loops));
  }
  return block(std::move(children));
}

StmtPtr AstTranslator::translate_body(const isl::ast_node &node, bool in_parallel,
                                      bool is_loop_body) {
  if (isl_ast_node_get_type(node.get()) != isl_ast_node_block) {
    std::vector<KernelPart> only;
    only.push_back({translate(node, in_parallel), positions_below(node)});
    return sequence(std::move(only), is_loop_body);
  }
  std::vector<KernelPart> parts;
  const isl::ast_node_list list =
      checked(isl::manage(isl_ast_node_block_get_children(node.get())), doing_translate);
  const int count = isl_ast_node_list_size(list.get());
  for (int i = 0; i < count; ++i) {
    const isl::ast_node child =
        checked(isl::manage(isl_ast_node_list_get_at(list.get(), i)), doing_translate);
    parts.push_back({translate(child, in_parallel), positions_below(child)});
  }
  return sequence(std::move(parts), is_loop_body);
}

std::vector<size_t> AstTranslator::positions_below(const isl::ast_node &node) {
  std::vector<size_t> positions;
  if (in_kernel()) {
    for (const Statement *statement : statements_below(node)) {
      positions.push_back(position_of(*statement));
    }
  }
  return positions;
}

StmtPtr AstTranslator::translate(const std::vector<ScannedNode> &nodes, bool in_parallel,
                                 bool is_loop_body) {
  std::vector<KernelPart> children;
  for (const ScannedNode &node : nodes) {
    children.push_back({translate_node(node, in_parallel),
                        in_kernel() ? statements_of(node) : std::vector<size_t>()});
  }
  return sequence(std::move(children), is_loop_body);
}

StmtPtr AstTranslator::translate_node(const ScannedNode &node, bool in_parallel) {
  if (node.statement) {
    const std::vector<const Statement *> own = {&program_.statements[*node.statement]};
    return on_device(own, {}, [&] { return translate_scanned(*node.statement); }, true);
  }
  if (node.conditions.empty()) {
    return translate_loop(node, in_parallel);
  }
  ValuePtr all = boolean(true);
  for (const LoopBound &condition : node.conditions) {
    all = both(all, binary_value(Op::Ge, expressions_.translate(condition), integer(0)));
  }
  return if_then(all, translate(node.body, in_parallel));
}

StmtPtr AstTranslator::translate_loop(const ScannedNode &node, bool in_parallel) {
  const int dimension = 2 * node.level + 1;
  std::vector<const Statement *> below;
  for (const size_t position : statements_of(node)) {
    below.push_back(&program_.statements[position]);
  }
  const LoopLooks looks = looks_of(below, dimension);
  const auto body = [&](bool inside, bool ordered) {
    return translate(node.body, inside, ordered);
  };
  if (node.value) {
    return single_iteration(AstExpressions::loop_key(node.level), dimension, looks, below,
                            expressions_.translate(*node.value), in_parallel, body);
  }
  const auto chain = [&](Op op, const std::vector<LoopBound> &bounds) {
    ValuePtr value = expressions_.translate(bounds.front());
    for (size_t i = 1; i < bounds.size(); ++i) {
      value = binary_value(op, value, expressions_.translate(bounds[i]));
    }
    return value;
  };
  if (ends_by_data(dimension, below)) {
    return iterate(AstExpressions::loop_key(node.level), dimension, looks,
                   chain(Op::Max, node.lowers), chain(Op::Min, node.uppers), body);
  }
  return on_device(below, looks.tag, [&] {
    return make_loop(AstExpressions::loop_key(node.level), dimension, looks,
                     chain(Op::Max, node.lowers), chain(Op::Min, node.uppers), 1, in_parallel,
                     body);
  });
}

StmtPtr AstTranslator::single_iteration(const std::string &key, int dimension,
                                        const LoopLooks &looks,
                                        const std::vector<const Statement *> &below,
                                        const ValuePtr &value, bool in_parallel,
                                        const MakeBody &body) {
  if (ends_by_data(dimension, below)) {
    return iterate(key, dimension, looks, value, add(value, integer(1)), body);
  }
  if (gpu_ && is_gpu(looks.tag.tag)) {
    return on_device(below, looks.tag, [&] {
      return make_loop(key, dimension, looks, value, add(value, integer(1)), 1, in_parallel, body);
    });
  }
  return on_device(below, looks.tag, [&] {
    expressions_.set(key, value);
    const size_t outside = std::exchange(levels_, static_cast<size_t>((dimension + 1) / 2));
    const StmtPtr made = body(in_parallel, false);
    levels_ = outside;
    return made;
  });
}

StmtPtr AstTranslator::translate_timed(const isl::ast_node &node) {
  if (isl_ast_node_get_type(node.get()) == isl_ast_node_block) {
    std::vector<StmtPtr> children;
    const isl::ast_node_list list =
        checked(isl::manage(isl_ast_node_block_get_children(node.get())), doing_translate);
    const int count = isl_ast_node_list_size(list.get());
    for (int i = 0; i < count; ++i) {
      children.push_back(translate_timed(
          checked(isl::manage(isl_ast_node_list_get_at(list.get(), i)), doing_translate)));
    }
    return block(std::move(children));
  }
  return in_nest(statements_below(node), [&] { return translate(node, false); });
}

StmtPtr AstTranslator::translate_timed(const std::vector<ScannedNode> &nodes) {
  std::vector<StmtPtr> children;
  for (const ScannedNode &node : nodes) {
    std::vector<const Statement *> below;
    for (const size_t position : statements_of(node)) {
      below.push_back(&program_.statements[position]);
    }
    children.push_back(
        in_nest(below, [&] { return translate(std::vector<ScannedNode>{node}, false); }));
  }
  return block(std::move(children));
}

StmtPtr AstTranslator::in_nest(const std::vector<const Statement *> &statements,
                               const std::function<StmtPtr()> &loops) {
  TimedNest nest;
  for (const Statement *statement : statements) {
    if (std::find(nest.statements.begin(), nest.statements.end(), statement->name) ==
        nest.statements.end()) {
      nest.statements.push_back(statement->name);
    }
  }
  kernel_.nests.push_back(std::move(nest));
  const auto number = static_cast<std::int64_t>(kernel_.nests.size()) - 1;
  return timed(number, loops());
}

StmtPtr AstTranslator::translate_if(const isl::ast_node &node, bool in_parallel) {
  const isl::ast_expr condition =
      checked(isl::manage(isl_ast_node_if_get_cond(node.get())), doing_translate);
  const ValuePtr value = expressions_.condition(condition);
  const StmtPtr then =
      translate(checked(isl::manage(isl_ast_node_if_get_then_node(node.get())), doing_translate),
                in_parallel);
  StmtPtr otherwise;
  if (isl_ast_node_if_has_else_node(node.get()) == isl_bool_true) {
    otherwise =
        translate(checked(isl::manage(isl_ast_node_if_get_else_node(node.get())), doing_translate),
                  in_parallel);
  }
  return if_then(value, then, otherwise);
}

AstTranslator::LoopLooks AstTranslator::looks_of(const std::vector<const Statement *> &below,
                                                 int dimension) const {
  LoopLooks looks;
  if (dimension % 2 == 0) {
    return {"s", {}, {}};
  }
  const size_t level = static_cast<size_t>(dimension / 2);
  bool first = true;
  for (const Statement *statement : below) {
    if (level >= statement->loop_names.size() || level >= statement->tags.size()) {
      continue;
    }
    if (first) {
      looks = {statement->loop_names[level], statement->tags[level], {}};
      first = false;
    } else if (!(looks.tag == statement->tags[level])) {
      looks.tag = {};
    }
    add_prefetches(*statement, statement->loop_names[level], looks);
  }
  if (looks.name.empty()) {
    looks.name = "t" + std::to_string(level);
  }
  if (looks.tag.tag == Tag::GpuMma && looks.tag.axis >= 2 && gpu_) {
    looks.tag.factor = static_cast<std::int64_t>(mma_shape(*below.front()));
  }
  return looks;
}

void AstTranslator::add_prefetches(const Statement &statement, const std::string &loop,
                                   LoopLooks &looks) const {
  const auto found = statement.prefetches.find(loop);
  if (found == statement.prefetches.end()) {
    return;
  }
  for (const Prefetch &prefetch : found->second) {
    const auto place = program_.places.find(prefetch.array);
    if (place != program_.places.end()) {
      const std::pair<std::int64_t, std::int64_t> one = {place->second.buffer, prefetch.distance};
      if (std::find(looks.prefetches.begin(), looks.prefetches.end(), one) ==
          looks.prefetches.end()) {
        looks.prefetches.push_back(one);
      }
    }
  }
}

std::vector<const Statement *> AstTranslator::statements_below(const isl::ast_node &node) {
  struct Search {
    AstTranslator *translator;
    std::vector<const Statement *> found;
  } search{this, {}};
  isl_ast_node_foreach_descendant_top_down(
      node.get(),
      [](isl_ast_node *below, void *user) {
        auto &into = *static_cast<Search *>(user);
        if (isl_ast_node_get_type(below) == isl_ast_node_user) {
          const isl::ast_expr call = isl::manage(isl_ast_node_user_get_expr(below));
          const isl::ast_expr name = isl::manage(isl_ast_expr_op_get_arg(call.get(), 0));
          const isl::id id = isl::manage(isl_ast_expr_get_id(name.get()));
          const auto found =
              into.translator->statements_.find(id.is_null() ? "" : isl_id_get_name(id.get()));
          if (found != into.translator->statements_.end()) {
            into.found.push_back(&into.translator->program_.statements[found->second]);
          }
        }
        return isl_bool_true;
      },
      &search);
  return search.found;
}

StmtPtr AstTranslator::translate_for(const isl::ast_node &node, bool in_parallel) {
  const isl::ast_expr iterator =
      checked(isl::manage(isl_ast_node_for_get_iterator(node.get())), doing_translate);
  const isl::id id = checked(isl::manage(isl_ast_expr_get_id(iterator.get())), doing_translate);
  const std::string key = isl_id_get_name(id.get());
  const isl::ast_expr init =
      checked(isl::manage(isl_ast_node_for_get_init(node.get())), doing_translate);
  const ValuePtr lower = expressions_.translate(init);
  const isl::ast_node body =
      checked(isl::manage(isl_ast_node_for_get_body(node.get())), doing_translate);
  // Loops of isl's own, which tell instances apart that share all of ours, are behind all times:
  // no buffer lives there, and no tag is meant for them.
  const int dimension = key.front() == 't' ? std::stoi(key.substr(1)) : 2 * program_.depth + 2;
  const std::vector<const Statement *> below = statements_below(node);
  const LoopLooks looks = looks_of(below, dimension);
  const auto make_body = [&](bool inside, bool ordered) {
    return translate_body(body, inside, ordered);
  };
  if (isl_ast_node_for_is_degenerate(node.get()) == isl_bool_true) {
    // One iteration, of which isl may have made several pieces: memory comes from outside.
    return single_iteration(key, dimension, looks, below, lower, in_parallel, make_body);
  }
  const isl::ast_expr step =
      checked(isl::manage(isl_ast_node_for_get_inc(node.get())), doing_translate);
  const ValuePtr upper = upper_bound(
      checked(isl::manage(isl_ast_node_for_get_cond(node.get())), doing_translate), key);
  const auto stride = as_integer(expressions_.translate(step));
  if (!stride || *stride < 1) {
    throw Error(ErrorKind::Internal, "isl's loops have a step that is no positive number");
  }
  if (ends_by_data(dimension, below)) {
    return iterate(key, dimension, looks, lower, upper, make_body);
  }
  return on_device(below, looks.tag, [&] {
    return make_loop(key, dimension, looks, lower, upper, *stride, in_parallel, make_body);
  });
}

StmtPtr AstTranslator::make_loop(const std::string &key, int dimension, const LoopLooks &looks,
                                 const ValuePtr &lower, const ValuePtr &upper, std::int64_t stride,
                                 bool in_parallel, const MakeBody &body) {
  const std::int64_t number = state_.numbers.next();
  const ValuePtr counter = variable(number, looks.name);
  LoopKind kind = LoopKind::Serial;
  const bool is_serial = state_.instrumentation.is_serial();
  if (in_kernel() && is_gpu(looks.tag.tag)) {
    kind = kind_of(looks.tag.tag);
  } else if (looks.tag.tag == Tag::GpuBlock && !gpu_ && !in_parallel && !is_serial) {
    kind = LoopKind::Parallel; // on the CPU
  } else if (looks.tag.tag == Tag::Parallel && is_serial) {
    kind = LoopKind::Serial;
  } else if (looks.tag.tag == Tag::Parallel && !gpu_ && (!in_parallel || looks.tag.joined)) {
    kind = LoopKind::Parallel;
  } else if (looks.tag.tag == Tag::Vector) {
    kind = LoopKind::Vector;
  } else if (looks.tag.tag == Tag::Unroll) {
    kind = LoopKind::Unrolled;
  }
  // Of a longer stride: counted from zero.
  const bool steps = stride != 1;
  const ValuePtr from = steps ? integer(0) : lower;
  const ValuePtr to =
      steps ? floor_div(add(sub(upper, lower), integer(stride - 1)), integer(stride)) : upper;
  expressions_.set(key, steps ? add(lower, mul(integer(stride), counter)) : counter);
  const size_t outside = std::exchange(levels_, static_cast<size_t>((dimension + 1) / 2));
  const std::array<bool, 3> outer_axes = thread_axes_;
  const bool opens = is_gpu(kind) && open_levels_.insert(static_cast<size_t>(dimension / 2)).second;
  if (kind == LoopKind::GpuThread) {
    thread_axes_[static_cast<size_t>(looks.tag.axis)] = true;
  } else if (kind == LoopKind::GpuSpread) {
    thread_axes_ = {true, true, true};
  } else if (kind == LoopKind::GpuMma) {
    thread_axes_[0] = true; // of a warp
  }
  // isl may count through static positions: what comes after each of them is not asked.
  const bool counts_positions = in_kernel() && dimension % 2 == 0;
  StmtPtr inner = with_memory(
      dimension, body(in_parallel || kind == LoopKind::Parallel,
                      kind != LoopKind::Parallel && !is_gpu(kind) && !counts_positions));
  if (counts_positions &&
      std::none_of(thread_axes_.begin(), thread_axes_.end(), [](bool in) { return in; })) {
    inner = block({inner, barrier()});
  }
  thread_axes_ = outer_axes;
  if (opens) {
    open_levels_.erase(static_cast<size_t>(dimension / 2));
  }
  levels_ = outside;
  auto loop = for_loop(number, looks.name, from, to, kind, looks.tag.factor, inner);
  loop->prefetches = looks.prefetches;
  loop->axis = is_gpu(kind) ? looks.tag.axis : 0;
  if (looks.tag.counts > 0) {
    const Tag strips = looks.tag.strips;
    loop->counts = {looks.tag.counts, looks.tag.strip,
                    strips == Tag::Vector   ? LoopKind::Vector
                    : strips == Tag::Unroll ? LoopKind::Unrolled
                                            : LoopKind::Serial};
  }
  if (kind == LoopKind::Parallel) {
    loop->parallel = {looks.tag.dealing, looks.tag.chunk, looks.tag.joined && in_parallel};
  }
  return loop;
}

ValuePtr AstTranslator::upper_bound(const isl::ast_expr &condition,
                                    const std::string &iterator) const {
  const isl_ast_expr_op_type type = isl_ast_expr_op_get_type(condition.get());
  const isl::ast_expr left =
      checked(isl::manage(isl_ast_expr_op_get_arg(condition.get(), 0)), doing_translate);
  const isl::ast_expr right =
      checked(isl::manage(isl_ast_expr_op_get_arg(condition.get(), 1)), doing_translate);
  const isl::id id = isl_ast_expr_get_type(left.get()) == isl_ast_expr_id
                         ? isl::manage(isl_ast_expr_get_id(left.get()))
                         : isl::id();
  const bool known = type == isl_ast_expr_op_le || type == isl_ast_expr_op_lt;
  if (!known || id.is_null() || iterator != isl_id_get_name(id.get())) {
    throw Error(ErrorKind::Internal, "isl's loops have a condition that is no upper bound");
  }
  const ValuePtr bound = expressions_.translate(right);
  return type == isl_ast_expr_op_le ? add(bound, integer(1)) : bound;
}

Kernel translate(const Program &program, const GeneratedAst &ast, const LoweringOptions &options) {
  return AstTranslator(program, ast, options).run();
}

ValuePtr holds(const isl::set &context, const std::vector<std::string> &parameters) {
  const isl::ast_build build =
      checked(isl::manage(isl_ast_build_alloc(isl_context().get())), "testing a context");
  const isl::ast_expr test = checked(
      isl::manage(isl_ast_build_expr_from_set(build.get(), context.copy())), "testing a context");
  const ValuePtr value = AstExpressions(parameters).translate(test);
  return value->type.scalar.is_bool() ? value : binary_value(Op::Ne, value, integer(0));
}

} // namespace tilewright
