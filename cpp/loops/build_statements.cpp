#include "loops/build.h"

namespace tilewright {

StmtPtr block(std::vector<StmtPtr> children) {
  std::vector<StmtPtr> flat;
  for (StmtPtr &child : children) {
    if (is<Block>(child)) {
      flat.insert(flat.end(), child->children.begin(), child->children.end());
    } else {
      flat.push_back(std::move(child));
    }
  }
  return flat.size() == 1 ? flat.front() : std::make_shared<Block>(std::move(flat));
}

std::shared_ptr<For> for_loop(std::int64_t id, const std::string &name, const ValuePtr &lower,
                              const ValuePtr &upper, LoopKind loop, std::int64_t factor,
                              const StmtPtr &body) {
  auto statement = std::make_shared<For>(id, name, lower, upper, body);
  statement->loop = loop;
  statement->factor = factor;
  return statement;
}

std::shared_ptr<For> for_loop(const For &like, const ValuePtr &lower, const ValuePtr &upper,
                              const StmtPtr &body) {
  auto statement = copy_of<For>(like);
  statement->lower = lower;
  statement->upper = upper;
  statement->children = {body};
  return statement;
}

StmtPtr while_loop(const ValuePtr &condition, const StmtPtr &body) {
  return std::make_shared<While>(condition, body);
}

StmtPtr if_then(const ValuePtr &condition, const StmtPtr &then, const StmtPtr &otherwise) {
  if (const auto known = as_boolean(condition)) {
    return *known ? then : otherwise ? otherwise : block({});
  }
  const bool has_otherwise = otherwise && !is_empty(otherwise);
  if (is_empty(then) && !has_otherwise) {
    return block({});
  }
  std::vector<StmtPtr> branches = {then};
  if (has_otherwise) {
    branches.push_back(otherwise);
  }
  return std::make_shared<If>(condition, std::move(branches));
}

std::shared_ptr<Store> store(std::int64_t buffer, const std::string &name,
                             std::vector<ValuePtr> subscripts, const ValuePtr &value, Op op,
                             const ValuePtr &mask) {
  auto statement = std::make_shared<Store>(buffer, name, std::move(subscripts), value);
  statement->op = op;
  statement->mask = mask;
  return statement;
}

std::shared_ptr<AtomicUpdate> atomic_update(Op op, std::int64_t buffer, const std::string &name,
                                            std::vector<ValuePtr> subscripts,
                                            const ValuePtr &value) {
  return std::make_shared<AtomicUpdate>(op, buffer, name, std::move(subscripts), value);
}

StmtPtr let(std::int64_t id, const std::string &name, const ValuePtr &value) {
  return std::make_shared<Let>(id, name, value);
}

StmtPtr declare_local(std::int64_t id, const std::string &name, const ValuePtr &value) {
  return std::make_shared<DeclareLocal>(id, name, value);
}

StmtPtr assign_local(std::int64_t id, const std::string &name, const ValuePtr &value, Op op) {
  auto made = std::make_shared<AssignLocal>(id, name, value);
  made->op = op;
  return made;
}

StmtPtr check_index(std::int64_t site, const ValuePtr &value, const ValuePtr &upper,
                    const ValuePtr &mask, std::vector<ValuePtr> reported) {
  return std::make_shared<CheckIndex>(site, value, upper, mask, std::move(reported));
}

StmtPtr check_value(std::int64_t site, const ValuePtr &fails, const ValuePtr &mask,
                    std::vector<ValuePtr> reported) {
  return std::make_shared<CheckValue>(site, fails, mask, std::move(reported));
}

StmtPtr timed(std::int64_t nest, const StmtPtr &body) {
  return std::make_shared<Timed>(nest, body);
}

StmtPtr launch(const std::array<std::int64_t, 3> &threads, const StmtPtr &body) {
  return std::make_shared<Launch>(threads, body);
}

StmtPtr barrier() { return std::make_shared<Barrier>(); }

StmtPtr copy_async(const Store &store) { return std::make_shared<CopyAsync>(store); }

StmtPtr commit_copies() { return std::make_shared<CommitCopies>(); }

StmtPtr wait_for_copies(std::int64_t groups) { return std::make_shared<WaitForCopies>(groups); }

StmtPtr allocate(std::int64_t buffer, const std::string &name, const StmtPtr &body) {
  return std::make_shared<Allocate>(buffer, name, body);
}

bool is_gpu(LoopKind loop) {
  return loop == LoopKind::GpuBlock || loop == LoopKind::GpuThread || loop == LoopKind::GpuSpread ||
         loop == LoopKind::GpuMma;
}

bool is_empty(const StmtPtr &statement) {
  return is<Block>(statement) && statement->children.empty();
}

} // namespace tilewright
