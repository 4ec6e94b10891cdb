#include "analysis/unchanged.h"

#include "analysis/happens_before.h"

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

} // namespace

std::vector<Unchanged::Level> Unchanged::levels_of(const Statement &statement) {
  std::vector<Level> levels;
  size_t own = 0;
  for (size_t level = 0; level < statement.loops.size(); ++level) {
    const bool is_padding = level >= statement.loop_names.size();
    const bool may_be_place = is_padding || statement.tags[level] == LoopTag{};
    Level found;
    found.place = may_be_place ? place_of(statement.loops[level]) : std::nullopt;
    found.loop = found.place ? 0 : own++;
    levels.push_back(found);
  }
  return levels;
}

/// What decides about the order of their instances, level by level, beside the loops' values: which
/// of them comes first where both have a place; which loops are compared, and with which place
/// where one has none.
std::vector<Unchanged::Comparison> Unchanged::order_of(const Statement &first,
                                                       const std::vector<Level> &of_first,
                                                       const Statement &second,
                                                       const std::vector<Level> &of_second) {
  std::vector<Comparison> order;
  const auto sign = [](std::int64_t one, std::int64_t other) {
    return one < other ? -1 : one > other ? 1 : 0;
  };
  const auto position = [](const Statement &statement, size_t level) {
    return level < statement.order.size() ? statement.order[level] : 0;
  };
  const size_t levels = std::max(of_first.size(), of_second.size());
  for (size_t level = 0; level <= levels; ++level) {
    int ranked = sign(position(first, level), position(second, level));
    const Level one = level < of_first.size() ? of_first[level] : Level{0, 0};
    const Level other = level < of_second.size() ? of_second[level] : Level{0, 0};
    if (ranked == 0 && level < levels && one.place && other.place) {
      ranked = sign(*one.place, *other.place);
    } else if (ranked == 0 && level < levels) {
      order.push_back({0, one, other});
      continue;
    }
    if (ranked != 0) {
      order.push_back({ranked, {}, {}});
      break;
    }
  }
  return order;
}

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
  for (const Statement &statement : then.statements) {
    earlier_levels_.push_back(levels_of(statement));
  }
  for (size_t s = 0; s < now.statements.size(); ++s) {
    levels_.push_back(levels_of(now.statements[s]));
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

/// The levels of loops that are more than a place, outermost first.
std::vector<size_t> Unchanged::loops_of(const std::vector<Level> &levels) {
  std::vector<size_t> loops;
  for (size_t level = 0; level < levels.size(); ++level) {
    if (!levels[level].place) {
      loops.push_back(level);
    }
  }
  return loops;
}

bool Unchanged::same_but_for_tags(const Statement &now, const Statement &then) const {
  const Buffer &buffer = now_.buffers[now.buffer];
  const Buffer &earlier = before_->program.buffers[then.buffer];
  const bool plain = now.buffer == then.buffer && buffer.name == earlier.name &&
                     buffer.kind == earlier.kind && buffer.level == earlier.level;
  if (!plain || !same_instances(now, then) || !same_promises(now, then)) {
    return false;
  }
  const std::vector<size_t> loops = loops_of(levels(now));
  const std::vector<size_t> before = loops_of(earlier_levels(then));
  const auto is_same_loop = [&](size_t level, size_t other) {
    return now.loop_names[level] == then.loop_names[other] &&
           is_same(now.loops[level], then.loops[other]);
  };
  if (!std::equal(loops.begin(), loops.end(), before.begin(), before.end(), is_same_loop)) {
    return false;
  }
  const std::string &name = now.computation->name;
  return is_same(now_.places.at(name).relation, before_->program.places.at(name).relation);
}

/// Deeper loops are padding.
bool Unchanged::same_order_of_loops(const Statement &now, const Statement &then) const {
  const std::vector<size_t> loops = loops_of(levels(now));
  const std::vector<size_t> before = loops_of(earlier_levels(then));
  return std::equal(
      loops.begin(), loops.end(), before.begin(), before.end(),
      [&](size_t level, size_t other) { return same_order(now.tags[level], then.tags[other]); });
}

bool Unchanged::same_positions(const Statement &first, const Statement &second,
                               const Statement &one, const Statement &other) const {
  return order_of(first, levels(first), second, levels(second)) ==
         order_of(one, earlier_levels(one), other, earlier_levels(other));
}

bool Unchanged::pair(const Statement &first, const Statement &second) const {
  const Statement *one = earlier(first);
  const Statement *other = earlier(second);
  if (one == nullptr || other == nullptr || !same_positions(first, second, *one, *other)) {
    return false;
  }
  // What is private to iterations of loops of one value has to be asked about anew, whoever comes
  // first: they may not share the value any more.
  const auto inside = static_cast<size_t>(std::max(0, now_.buffers[first.buffer].level));
  const std::vector<Level> &own = levels(first);
  return std::none_of(own.begin(),
                      own.begin() + static_cast<std::ptrdiff_t>(std::min(inside, own.size())),
                      [](const Level &level) { return level.place.has_value(); });
}

std::optional<std::vector<size_t>> Unchanged::newly_concurrent(const Statement &first,
                                                               const Statement &second) const {
  const Statement *one = but_for_tags(first);
  const Statement *other = but_for_tags(second);
  if (one == nullptr || other == nullptr || !same_positions(first, second, *one, *other)) {
    return std::nullopt;
  }
  const auto is_new = [&](const Statement &now, const Statement &then, size_t level) {
    const Level &at = levels(now)[level];
    return !at.place &&
           !same_order(now.tags[level], then.tags[loops_of(earlier_levels(then))[at.loop]]);
  };
  std::vector<size_t> found;
  for (size_t level = 0; level < first.tags.size(); ++level) {
    if ((is_concurrent(first.tags[level]) || is_concurrent(second.tags[level])) &&
        (is_new(first, *one, level) || is_new(second, *other, level))) {
      found.push_back(level);
    }
  }
  return found;
}

bool Unchanged::was_shown(const Program::View &view) const {
  return before_ != nullptr && is_same(now_.context, before_->program.context) &&
         std::any_of(before_->program.views.begin(), before_->program.views.end(),
                     [&](const Program::View &earlier) {
                       return earlier.output == view.output && earlier.producer == view.producer &&
                              is_same(earlier.elements, view.elements);
                     });
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
