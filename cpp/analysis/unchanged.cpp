#include "analysis/unchanged.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright {

namespace {

// Plain equality compares isl's representations: what it calls different may be equal, never the
// other way round, and it takes no operations.

bool is_same(const isl::pw_aff &a, const isl::pw_aff &b) {
  return a.get() == b.get() || isl_pw_aff_plain_is_equal(a.get(), b.get()) == isl_bool_true;
}

bool is_same(const isl::set &a, const isl::set &b) {
  return a.get() == b.get() || isl_set_plain_is_equal(a.get(), b.get()) == isl_bool_true;
}

bool is_same(const isl::map &a, const isl::map &b) {
  return a.get() == b.get() || isl_map_plain_is_equal(a.get(), b.get()) == isl_bool_true;
}

bool is_same(const ValuePromise &a, const ValuePromise &b) {
  return a.array == b.array && is_same(a.values, b.values);
}

bool same_assumptions(const Statement &a, const Statement &b) {
  return std::equal(
      a.assumed.begin(), a.assumed.end(), b.assumed.begin(), b.assumed.end(),
      [](const ValuePromise &one, const ValuePromise &other) { return is_same(one, other); });
}

bool same_promises(const Statement &a, const Statement &b) {
  return a.atomic == b.atomic && same_assumptions(a, b) &&
         std::equal(a.independent.begin(), a.independent.end(), b.independent.begin(),
                    b.independent.end(), [](const auto &one, const auto &other) {
                      return one.first == other.first && is_same(one.second, other.second);
                    });
}

/// What a statement computes and reads follows from its computation, which never changes.
bool same_instances(const Statement &a, const Statement &b) {
  return a.computation == b.computation && a.piece == b.piece && a.role == b.role &&
         a.replicas == b.replicas && a.copied == b.copied && a.anew == b.anew &&
         a.iterators == b.iterators && is_same(a.domain, b.domain);
}

/// Which iterations of a loop are ordered, and for whom; how they are dealt out plays no part.
bool same_order(const LoopTag &a, const LoopTag &b) {
  const auto kind = [](const LoopTag &tag) {
    return tag.tag == Tag::Unroll ? Tag::Sequential : tag.tag;
  };
  return kind(a) == kind(b) && is_concurrent(a.strips) == is_concurrent(b.strips);
}

bool same_order_of_loops(const Statement &a, const Statement &b) {
  // Deeper loops are padding.
  for (size_t level = 0; level < a.loop_names.size(); ++level) {
    if (!same_order(a.tags[level], b.tags[level])) {
      return false;
    }
  }
  return true;
}

int sign_of_order(const Statement &a, const Statement &b, size_t level) {
  const int first = level < a.order.size() ? a.order[level] : 0;
  const int second = level < b.order.size() ? b.order[level] : 0;
  return first < second ? -1 : first > second ? 1 : 0;
}

/// Both pairs are ordered alike by their static positions.
bool same_positions(const Statement &first, const Statement &second, const Statement &one,
                    const Statement &other) {
  const size_t levels = std::max({first.order.size(), second.order.size(), one.order.size()});
  for (size_t level = 0; level < levels; ++level) {
    const int sign = sign_of_order(first, second, level);
    if (sign != sign_of_order(one, other, level)) {
      return false;
    }
    if (sign != 0) {
      return true;
    }
  }
  return true;
}

} // namespace

Unchanged::Unchanged(const Program &now, const LegalProgram *before)
    : now_(now), before_(before), earlier_(now.statements.size(), nullptr),
      but_for_tags_(now.statements.size(), nullptr), buffers_(now.buffers.size(), false),
      same_writes_(now.buffers.size(), false) {
  if (before == nullptr || !is_same(now.context, before->program.context)) {
    return;
  }
  const Program &then = before->program;
  std::unordered_map<std::string, const Statement *> by_name;
  for (const Statement &statement : then.statements) {
    by_name.emplace(statement.name, &statement);
  }
  for (size_t s = 0; s < now.statements.size(); ++s) {
    const auto found = by_name.find(now.statements[s].name);
    if (found != by_name.end() && same_but_for_tags(now.statements[s], *found->second)) {
      but_for_tags_[s] = found->second;
      if (same_order_of_loops(now.statements[s], *found->second)) {
        earlier_[s] = found->second;
      }
    }
  }
  std::vector<std::vector<const Statement *>> writers(now.buffers.size());
  for (const Statement &statement : now.statements) {
    writers[statement.buffer].push_back(&statement);
  }
  std::vector<size_t> earlier_writers(then.buffers.size(), 0);
  for (const Statement &statement : then.statements) {
    ++earlier_writers[statement.buffer];
  }
  for (size_t b = 0; b < now.buffers.size(); ++b) {
    bool unchanged = b < then.buffers.size() && now.buffers[b].name == then.buffers[b].name &&
                     earlier_writers[b] == writers[b].size();
    same_writes_[b] = unchanged && std::all_of(writers[b].begin(), writers[b].end(),
                                               [&](const Statement *writer) {
                                                 return but_for_tags(*writer) != nullptr;
                                               });
    for (size_t i = 0; unchanged && i < writers[b].size(); ++i) {
      for (size_t j = i; unchanged && j < writers[b].size(); ++j) {
        unchanged = pair(*writers[b][i], *writers[b][j]);
      }
    }
    buffers_[b] = unchanged;
  }
}

bool Unchanged::same_but_for_tags(const Statement &now, const Statement &then) const {
  const Buffer &buffer = now_.buffers[now.buffer];
  const Buffer &earlier = before_->program.buffers[then.buffer];
  const bool plain = now.loop_names == then.loop_names && now.buffer == then.buffer &&
                     buffer.name == earlier.name && buffer.kind == earlier.kind &&
                     buffer.level == earlier.level;
  if (!plain || !same_instances(now, then) || !same_promises(now, then)) {
    return false;
  }
  for (size_t level = 0; level < now.loop_names.size(); ++level) {
    if (!is_same(now.loops[level], then.loops[level])) {
      return false;
    }
  }
  const std::string &name = now.computation->name;
  return is_same(now_.places.at(name).relation, before_->program.places.at(name).relation);
}

bool Unchanged::pair(const Statement &first, const Statement &second) const {
  const Statement *one = earlier(first);
  const Statement *other = earlier(second);
  return one != nullptr && other != nullptr && same_positions(first, second, *one, *other);
}

std::optional<std::vector<size_t>> Unchanged::newly_concurrent(const Statement &first,
                                                               const Statement &second) const {
  const Statement *one = but_for_tags(first);
  const Statement *other = but_for_tags(second);
  if (one == nullptr || other == nullptr || !same_positions(first, second, *one, *other)) {
    return std::nullopt;
  }
  const auto is_new = [](const Statement &now, const Statement &then, size_t level) {
    return level < now.loop_names.size() && !same_order(now.tags[level], then.tags[level]);
  };
  std::vector<size_t> levels;
  for (size_t level = 0; level < first.tags.size(); ++level) {
    if ((is_concurrent(first.tags[level]) || is_concurrent(second.tags[level])) &&
        (is_new(first, *one, level) || is_new(second, *other, level))) {
      levels.push_back(level);
    }
  }
  return levels;
}

bool Unchanged::was_apart(size_t buffer) const { return before_->stored_apart[buffer]; }

std::shared_ptr<const std::vector<ReadAccess>> Unchanged::reads(const Statement &statement) const {
  if (before_ == nullptr || !is_same(now_.context, before_->program.context)) {
    return nullptr;
  }
  const auto known = before_->reads.find(statement.name);
  const std::vector<Statement> &then = before_->program.statements;
  const auto earlier = std::find_if(then.begin(), then.end(), [&](const Statement &other) {
    return other.name == statement.name;
  });
  const bool same = known != before_->reads.end() && earlier != then.end() &&
                    same_instances(statement, *earlier) && same_assumptions(statement, *earlier);
  return same ? known->second : nullptr;
}

} // namespace tilewright
