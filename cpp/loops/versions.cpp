#include "loops/versions.h"

#include "algorithm/extern_function.h"
#include "loops/linear.h"
#include "loops/traverse.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

namespace {

/// Whether two temporaries of whole kernels can be one.
bool are_one(const KernelBuffer &a, const KernelBuffer &b, SameMapping same) {
  return a.name == b.name && a.type == b.type && a.record == b.record && !a.is_scoped &&
         !b.is_scoped &&
         (same == SameMapping::Yes ||
          std::equal(a.extents.begin(), a.extents.end(), b.extents.begin(), b.extents.end(),
                     [](const ValuePtr &x, const ValuePtr &y) { return same_value(x, y); }));
}

/// The statements of one kernel as those of another one, with what they use.
class Adoption {
public:
  Adoption(const Kernel &from, Kernel &into, SameMapping same)
      : into_(into), same_(same), first_site_(static_cast<std::int64_t>(into.sites.size())),
        first_nest_(static_cast<std::int64_t>(into.nests.size())),
        rewrite_([this](const ValuePtr &value) { return on_other_buffer(value); }) {
    for (const KernelBuffer &buffer : into.buffers) {
      names_.insert(buffer.name);
    }
    for (size_t b = 0; b < from.buffers.size(); ++b) {
      add_buffer(from.buffers[b], b);
    }
    for (const KernelStatement &statement : from.statements) {
      add_statement(statement);
    }
    into.sites.insert(into.sites.end(), from.sites.begin(), from.sites.end());
    into.nests.insert(into.nests.end(), from.nests.begin(), from.nests.end());
  }

  StmtPtr body(const StmtPtr &from) {
    StmtPtr moved = (*this)(from);
    for (const std::int64_t buffer : allocated_) {
      moved = allocate(buffer, into_.buffers[static_cast<size_t>(buffer)].name, moved);
    }
    return moved;
  }

private:
  void add_buffer(const KernelBuffer &buffer, size_t position) {
    if (buffer.is_argument) {
      // Arguments have the same places in both; store_in may have given an output another name.
      if (position >= into_.buffers.size() || !into_.buffers[position].is_argument ||
          !(into_.buffers[position].type == buffer.type)) {
        throw Error(ErrorKind::Internal, "two versions of a kernel differ in " + buffer.name);
      }
      KernelBuffer &own = into_.buffers[position];
      own.is_written = own.is_written || buffer.is_written;
      buffers_.push_back(static_cast<std::int64_t>(position));
      return;
    }
    const auto known =
        std::find_if(into_.buffers.begin(), into_.buffers.end(),
                     [&](const KernelBuffer &own) { return are_one(own, buffer, same_); });
    if (known != into_.buffers.end()) {
      buffers_.push_back(known - into_.buffers.begin());
      return;
    }
    if (!buffer.record.name.empty()) {
      throw Error(ErrorKind::Internal, "a version of a kernel has a record of its own");
    }
    const auto number = static_cast<std::int64_t>(into_.buffers.size());
    buffers_.push_back(number);
    KernelBuffer &own = into_.buffers.emplace_back(buffer);
    while (!names_.insert(own.name).second) {
      own.name += "_";
    }
    if (!own.is_scoped) { // of the whole other kernel: of its part of this one
      own.is_scoped = true;
      own.memory = "heap";
      allocated_.push_back(number);
    }
  }

  void add_statement(const KernelStatement &statement) {
    const auto known = std::find_if(
        into_.statements.begin(), into_.statements.end(), [&](const KernelStatement &own) {
          return own.name == statement.name && own.where.file == statement.where.file &&
                 own.where.line == statement.where.line;
        });
    statements_.push_back(known - into_.statements.begin());
    if (known == into_.statements.end()) {
      into_.statements.push_back(statement);
    }
  }

  StmtPtr operator()(const StmtPtr &statement) {
    std::vector<StmtPtr> children;
    children.reserve(statement->children.size());
    for (const StmtPtr &child : statement->children) {
      children.push_back((*this)(child));
    }
    if (const auto *nest = as<Timed>(statement)) {
      return timed(nest->nest + first_nest_, children.front());
    }
    std::shared_ptr<LoopStatement> moved = map_values(statement, std::ref(rewrite_));
    moved->children = std::move(children);
    if (auto *change = as<ElementChange>(*moved)) {
      change->buffer = at(buffers_, change->buffer);
      change->name = name_of(change->buffer);
      change->statement = change->statement < 0 ? -1 : at(statements_, change->statement);
    } else if (auto *definition = as<Definition>(*moved)) {
      definition->statement =
          definition->statement < 0 ? -1 : at(statements_, definition->statement);
    } else if (auto *memory = as<Allocate>(*moved)) {
      memory->buffer = at(buffers_, memory->buffer);
      memory->name = name_of(memory->buffer);
    } else if (auto *check = as<RuntimeCheck>(*moved)) {
      check->site += first_site_;
    } else if (auto *loop = as<For>(*moved)) {
      for (auto &[buffer, distance] : loop->prefetches) {
        buffer = at(buffers_, buffer);
      }
    }
    return moved;
  }

  ValuePtr on_other_buffer(const ValuePtr &value) {
    switch (value->kind) {
    case ValueKind::Load:
      return of_other_buffer<Load>(*value);
    case ValueKind::Matrices:
      return of_other_buffer<Matrices>(*value);
    case ValueKind::Aligned:
      return of_other_buffer<Aligned>(*value);
    case ValueKind::Extern:
      return given_buffer(*value) ? address_of_other_buffer(*value) : nullptr;
    default:
      return nullptr;
    }
  }

  ValuePtr address_of_other_buffer(const Value &value) {
    auto moved = copy_of<Extern>(value);
    auto address = std::make_shared<ExternFunction>(*moved->function);
    address->address_in = at(buffers_, address->address_in);
    moved->function = std::move(address);
    for (ValuePtr &operand : moved->operands) {
      operand = rewrite_(operand);
    }
    return moved;
  }

  template <typename Access>
  ValuePtr of_other_buffer(const Value &value) {
    auto moved = copy_of<Access>(value);
    moved->buffer = at(buffers_, moved->buffer);
    moved->name = name_of(moved->buffer);
    for (ValuePtr &operand : moved->operands) {
      operand = rewrite_(operand);
    }
    return moved;
  }

  static std::int64_t at(const std::vector<std::int64_t> &numbers, std::int64_t number) {
    return numbers.at(static_cast<size_t>(number));
  }
  const std::string &name_of(std::int64_t buffer) const {
    return into_.buffers.at(static_cast<size_t>(buffer)).name;
  }

  Kernel &into_;
  SameMapping same_;
  std::int64_t first_site_;
  std::int64_t first_nest_;
  std::vector<std::int64_t> buffers_;    ///< by number in the other kernel
  std::vector<std::int64_t> statements_; ///< the same
  std::vector<std::int64_t> allocated_;  ///< around the whole body
  std::set<std::string> names_;          ///< of buffers
  ValueRewriter rewrite_;
};

} // namespace

void add_version(Kernel &kernel, const Kernel &version, const ValuePtr &condition,
                 SameMapping same) {
  const StmtPtr body = Adoption(version, kernel, same).body(version.body);
  Numbers numbers(std::make_shared<Block>(std::vector{body, kernel.body}));
  kernel.body = if_then(condition, copy_with(body, {}, numbers), kernel.body);
}

} // namespace tilewright
