#include "planning/auto/nest_times.h"

#include "algorithm/block.h"
#include "planning/auto/iterator_steps.h"

#include <isl/aff.h>
#include <isl/val.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

namespace tilewright {

namespace {

constexpr const char *doing_nest_times = "the times of nests";

/// More than any place among others.
constexpr std::int64_t behind_all = std::numeric_limits<std::int64_t>::max() / 2;

/// A sum of iterators and parameters.
struct Sum {
  std::vector<std::int64_t> iterators;
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  std::int64_t constant = 0;

  bool is_constant() const {
    return parameters.empty() &&
           std::all_of(iterators.begin(), iterators.end(), [](auto each) { return each == 0; });
  }
};

std::optional<Sum> sum_of(const isl::pw_aff &value, size_t iterators) {
  if (isl_pw_aff_n_piece(value.get()) != 1) {
    return std::nullopt;
  }
  const isl::aff affine = isl::manage(isl_pw_aff_as_aff(value.copy()));
  if (affine.is_null() || isl_aff_dim(affine.get(), isl_dim_div) != 0) {
    return std::nullopt;
  }
  Sum sum;
  for (size_t d = 0; d < iterators; ++d) {
    const auto coefficient =
        whole_number(isl_aff_get_coefficient_val(affine.get(), isl_dim_in, static_cast<int>(d)));
    if (!coefficient) {
      return std::nullopt;
    }
    sum.iterators.push_back(*coefficient);
  }
  for (int p = 0; p < isl_aff_dim(affine.get(), isl_dim_param); ++p) {
    const auto coefficient =
        whole_number(isl_aff_get_coefficient_val(affine.get(), isl_dim_param, p));
    if (!coefficient) {
      return std::nullopt;
    }
    if (*coefficient != 0) {
      sum.parameters.emplace_back(isl_aff_get_dim_name(affine.get(), isl_dim_param, p),
                                  *coefficient);
    }
  }
  const auto constant = whole_number(isl_aff_get_constant_val(affine.get()));
  if (!constant) {
    return std::nullopt;
  }
  sum.constant = *constant;
  return sum;
}

/// An iterator in NestLoop::value.
std::string placeholder(size_t iterator) { return "{" + std::to_string(iterator) + "}"; }

/// A domain names an iterator like this where a loop of the iterator's name is something else.
std::string qualified(const std::string &iterator, const std::string &computation) {
  return iterator + "_of_" + computation;
}

std::string text_of(const Sum &sum) {
  std::string text;
  const auto add = [&](std::int64_t factor, const std::string &name) {
    if (factor != 0) {
      text +=
          (text.empty() ? "" : " + ") + (factor == 1 ? "" : std::to_string(factor) + "*") + name;
    }
  };
  for (size_t d = 0; d < sum.iterators.size(); ++d) {
    add(sum.iterators[d], placeholder(d));
  }
  for (const auto &[name, factor] : sum.parameters) {
    add(factor, name);
  }
  return text + (sum.constant == 0 ? "" : " + " + std::to_string(sum.constant));
}

/// As isl has it, of a value in one piece.
std::string text_of(const isl::pw_aff &value, size_t iterators) {
  constexpr const char *prefix = "tilewright_iterator_";
  isl_aff *named = isl_pw_aff_as_aff(value.copy());
  for (size_t d = 0; d < iterators; ++d) {
    const std::string name = prefix + std::to_string(d);
    named = isl_aff_set_dim_name(named, isl_dim_in, static_cast<unsigned>(d), name.c_str());
  }
  const isl::aff whole = checked(isl::manage(named), doing_nest_times);
  char *raw = isl_aff_to_str(whole.get()); // [n] -> { S[i] -> [(value)] }
  const std::string printed = raw == nullptr ? "" : raw;
  std::free(raw);
  checked(whole, doing_nest_times); // the text needs isl's work, too
  const size_t first = printed.rfind("-> [") + 4;
  std::string text = printed.substr(first, printed.rfind(']') - first);
  for (size_t d = iterators; d-- > 0;) { // 12 before 1
    const std::string name = prefix + std::to_string(d);
    for (size_t at; (at = text.find(name)) != std::string::npos;) {
      text.replace(at, name.size(), placeholder(d));
    }
  }
  return text;
}

/// A map from a computation's instances to its times, of so many loops.
std::string map_text(const std::string &computation, std::vector<std::string> iterators,
                     const NestTimes &times, size_t deepest) {
  const auto is_plain = [&](const NestLoop &loop) {
    return loop.iterator && loop.value == placeholder(*loop.iterator) &&
           loop.name == iterators[*loop.iterator];
  };
  const bool plain = std::all_of(times.loops.begin(), times.loops.end(), [&](const auto &loop) {
    return is_plain(loop) ||
           std::find(iterators.begin(), iterators.end(), loop.name) == iterators.end();
  });
  std::vector<std::string> named = iterators;
  std::string domain;
  for (std::string &iterator : named) {
    iterator = plain ? iterator : qualified(iterator, computation);
    domain += (domain.empty() ? "" : ", ") + iterator;
  }
  std::string text = computation + "[" + domain + "] -> [" + std::to_string(times.places.front());
  for (size_t d = 0; d < deepest; ++d) {
    if (d >= times.loops.size()) {
      text += ", 0, 0";
      continue;
    }
    std::string value = times.loops[d].value;
    for (size_t i = 0; i < named.size(); ++i) {
      for (size_t at; (at = value.find(placeholder(i))) != std::string::npos;) {
        value.replace(at, placeholder(i).size(), named[i]);
      }
    }
    text +=
        ", " + (plain && is_plain(times.loops[d]) ? value : times.loops[d].name + " = " + value);
    text += ", " + std::to_string(times.places[d + 1]);
  }
  return text + "]";
}

/// A loop over an iterator that counts in steps, whatever its value is made of besides: that counts
/// by one.
std::optional<NestLoop> counted_steps(const LoopDimension &dimension, const isl::set &domain,
                                      size_t iterators) {
  if (isl_pw_aff_n_piece(dimension.value.get()) != 1) {
    return std::nullopt;
  }
  for (size_t d = iterators; d-- > 0;) {
    const std::int64_t step = step_of(domain, d);
    if (step > 1 && counts(dimension.value, domain, d, step)) {
      return NestLoop{dimension.name, text_of(dimension.value, iterators), d};
    }
  }
  return std::nullopt;
}

std::optional<size_t> only_iterator(const Sum &sum) {
  std::optional<size_t> found;
  for (size_t d = 0; d < sum.iterators.size(); ++d) {
    if (sum.iterators[d] != 0) {
      if (found || std::abs(sum.iterators[d]) != 1) {
        return std::nullopt;
      }
      found = d;
    }
  }
  return found;
}

/// One dimension of a time: a number, or a loop.
struct Level {
  std::optional<std::int64_t> place;
  NestLoop loop;
};

/// Loops with the numbers before, between and behind them.
struct Turns {
  std::vector<std::vector<std::int64_t>> places;
  std::vector<NestLoop> loops;
};

Turns in_turns(const std::vector<Level> &levels) {
  Turns turns{{{}}, {}};
  for (const Level &level : levels) {
    if (level.place) {
      turns.places.back().push_back(*level.place);
    } else {
      turns.loops.push_back(level.loop);
      turns.places.emplace_back();
    }
  }
  return turns;
}

/// With one number for several that stand side by side: their rank among those of all times.
std::map<std::string, NestTimes> ranked(const std::map<std::string, std::vector<Level>> &levels) {
  std::map<std::string, Turns> turns;
  std::vector<std::set<std::vector<std::int64_t>>> known;
  for (const auto &[name, own] : levels) {
    turns[name] = in_turns(own);
    known.resize(std::max(known.size(), turns[name].places.size()));
    for (size_t d = 0; d < turns[name].places.size(); ++d) {
      known[d].insert(turns[name].places[d]);
    }
  }
  std::map<std::string, NestTimes> times;
  for (auto &[name, own] : turns) {
    times[name].loops = std::move(own.loops);
    for (size_t d = 0; d < own.places.size(); ++d) {
      times[name].places.push_back(std::distance(known[d].begin(), known[d].find(own.places[d])));
    }
  }
  return times;
}

/// Is each of two times a number, or a loop, wherever the other is, up to where they differ?
bool side_by_side(const std::vector<Level> &one, const std::vector<Level> &other) {
  for (size_t level = 0; level < one.size(); ++level) {
    if (one[level].place.has_value() != other[level].place.has_value()) {
      return false;
    }
    if (one[level].place != other[level].place) {
      return true;
    }
  }
  return false;
}

bool starts_alike(const NestTimes &one, const NestTimes &other, size_t places) {
  return one.places.size() >= places && other.places.size() >= places &&
         std::equal(one.places.begin(), one.places.begin() + static_cast<std::ptrdiff_t>(places),
                    other.places.begin());
}

} // namespace

std::optional<size_t> NestTimes::position(size_t iterator) const {
  const auto found = std::find_if(loops.begin(), loops.end(),
                                  [&](const NestLoop &loop) { return loop.iterator == iterator; });
  return found == loops.end() ? std::nullopt
                              : std::optional(static_cast<size_t>(found - loops.begin()));
}

std::optional<Nests> Nests::of(const Mapping &mapping) {
  Nests nests;
  nests.parameters_ = mapping.function().parameters;
  std::map<std::string, std::vector<Level>> levels;
  std::optional<size_t> depth;
  for (const auto &[name, map] : mapping.state().time_space) {
    const Computation &computation = **mapping.function().find(name);
    if (is_block_result(computation)) {
      continue; // it has the times of the call
    }
    if (!map.explicit_time || map.copies ||
        map.dimensions.size() != depth.value_or(map.dimensions.size())) {
      return std::nullopt;
    }
    depth = map.dimensions.size();
    const std::vector<std::string> names = instance_space(computation).iterators;
    nests.iterators_[name] = names;
    if (computation.is_view) { // shows what others have made: behind all of them
      NestTimes &last = nests.times_[name];
      last.places.assign(names.size() + 1, 0);
      last.places.front() = behind_all + static_cast<std::int64_t>(nests.times_.size());
      for (size_t d = 0; d < names.size(); ++d) {
        last.loops.push_back({names[d], placeholder(d), d});
      }
      continue;
    }
    for (const LoopDimension &dimension : map.dimensions) {
      if (dimension.tag.tag != Tag::Sequential) {
        return std::nullopt;
      }
      Level level;
      const auto sum = sum_of(dimension.value, names.size());
      if (!sum) {
        auto steps = counted_steps(dimension, instance_space(computation).domain, names.size());
        if (!steps) {
          return std::nullopt;
        }
        level.loop = std::move(*steps);
      } else if (sum->is_constant()) {
        level.place = sum->constant;
      } else {
        level.loop = {dimension.name, text_of(*sum), only_iterator(*sum)};
      }
      levels[name].push_back(level);
    }
  }
  nests.times_.merge(ranked(levels));
  for (auto one = levels.begin(); one != levels.end(); ++one) {
    for (auto other = std::next(one); other != levels.end(); ++other) {
      if (!side_by_side(one->second, other->second)) {
        return std::nullopt;
      }
    }
  }
  return nests;
}

size_t Nests::shared(const std::string &one, const std::string &other) const {
  const NestTimes &first = times(one);
  const NestTimes &second = times(other);
  size_t loops = 0;
  while (loops < first.loops.size() && loops < second.loops.size() &&
         first.places[loops] == second.places[loops]) {
    ++loops;
  }
  return loops;
}

std::vector<std::string> Nests::sharing(const std::string &computation, size_t loops) const {
  std::vector<std::string> names;
  for (const auto &[name, times] : times_) {
    if (name == computation || shared(name, computation) >= loops) {
      names.push_back(name);
    }
  }
  return names;
}

size_t Nests::shared(const std::string &computation) const {
  size_t most = 0;
  for (const auto &[name, times] : times_) {
    most = name == computation ? most : std::max(most, shared(name, computation));
  }
  return most;
}

void Nests::distribute(const std::string &computation, size_t depth) {
  const NestTimes own = times(computation);
  const std::vector<std::string> members = sharing(computation, depth + 1);
  const std::int64_t place = own.places[depth];
  for (auto &[name, times] : times_) {
    if (!starts_alike(times, own, depth) || times.places.size() <= depth) {
      continue;
    }
    if (times.places[depth] > place) {
      times.places[depth] += 2;
    } else if (name == computation) {
      times.places[depth] += 1;
    } else if (std::find(members.begin(), members.end(), name) != members.end()) {
      const bool is_before = std::lexicographical_compare(times.places.begin(), times.places.end(),
                                                          own.places.begin(), own.places.end());
      times.places[depth] += is_before ? 0 : 2;
    }
  }
}

void Nests::distribute_before(const std::string &computation, size_t depth) {
  const NestTimes own = times(computation);
  std::vector<std::pair<std::vector<std::int64_t>, std::string>> before;
  for (const std::string &name : sharing(computation, depth + 1)) {
    const std::vector<std::int64_t> &places = times(name).places;
    if (places[depth + 1] < own.places[depth + 1]) {
      before.emplace_back(places, name);
    }
  }
  std::sort(before.begin(), before.end());
  for (const auto &[places, name] : before) {
    distribute(name, depth);
  }
}

void Nests::strip(const std::string &computation, size_t depth, std::int64_t size, bool together) {
  for (const std::string &name : sharing(computation, depth + 1)) {
    NestTimes &times = times_.at(name);
    const NestLoop loop = times.loops[depth];
    const auto at = static_cast<std::ptrdiff_t>(depth);
    times.loops.insert(times.loops.begin() + at,
                       {loop.name + "_strip",
                        "floor((" + loop.value + ")/" + std::to_string(size) + ")", std::nullopt});
    times.places.insert(times.places.begin() + at + 1, together ? 0 : times.places[depth + 1]);
  }
}

void Nests::sink(const std::string &computation, size_t depth, std::int64_t size,
                 std::int64_t begin) {
  for (const std::string &name : sharing(computation, depth + 1)) {
    NestTimes &times = times_.at(name);
    NestLoop inner = times.loops[depth];
    times.loops[depth] = {inner.name + "_strip",
                          "floor((" + inner.value + " + " + std::to_string(-begin) + ")/" +
                              std::to_string(size) + ")",
                          std::nullopt};
    if (begin != 0) {
      inner.name += "_lane"; // the iterator's name is another value
      inner.value += " + " + std::to_string(-begin);
    }
    times.loops.push_back(std::move(inner));
    times.places.push_back(0);
  }
}

void Nests::sink_tiles(const std::string &computation, size_t depth, std::int64_t block,
                       std::int64_t rows, std::int64_t columns) {
  const auto cut = [](const NestLoop &loop, const std::string &suffix, std::int64_t size) {
    return NestLoop{loop.name + suffix, "floor((" + loop.value + ")/" + std::to_string(size) + ")",
                    std::nullopt};
  };
  for (const std::string &name : sharing(computation, depth + 2)) {
    NestTimes &times = times_.at(name);
    const NestLoop row = times.loops[depth];
    const NestLoop column = times.loops[depth + 1];
    times.loops[depth] = cut(row, "_block", block);
    times.loops[depth + 1] = cut(column, "_strip", columns);
    const auto behind = static_cast<std::ptrdiff_t>(depth) + 2;
    times.loops.insert(times.loops.begin() + behind, cut(row, "_strip", rows));
    times.places.insert(times.places.begin() + behind, 0);
    times.loops.insert(times.loops.end(), {row, column});
    times.places.insert(times.places.end(), {0, 0});
  }
}

void Nests::set_side_by_side(const std::string &computation, size_t depth, std::int64_t count,
                             std::int64_t skew) {
  for (const std::string &name : sharing(computation, depth + 2)) {
    NestTimes &times = times_.at(name);
    const NestLoop around = times.loops[depth];
    const NestLoop inner = times.loops[depth + 1];
    const std::string size = std::to_string(count);
    const std::string strip = "floor((" + around.value + ")/" + size + ")";
    times.loops.resize(depth);
    times.loops.push_back({around.name + "_strip", strip, std::nullopt});
    times.loops.push_back({inner.name,
                           inner.value + " + " + std::to_string(skew) + "*(" + around.value +
                               " - " + size + "*" + strip + ")",
                           std::nullopt});
    times.loops.push_back(around);
    times.places.insert(times.places.begin() + static_cast<std::ptrdiff_t>(depth) + 2, 0);
  }
}

void Nests::reorder(const std::string &computation, size_t depth,
                    const std::vector<size_t> &iterators, bool before) {
  const bool is_shared = shared(computation) > depth;
  std::int64_t place = 0;
  for (const std::string &name : sharing(computation, depth + 1)) {
    if (is_shared && name != computation) {
      const std::int64_t there = times(name).places[depth + 1];
      place = before ? std::min(place, there - 1) : std::max(place, there + 1);
    }
  }
  NestTimes &times = times_.at(computation);
  std::vector<NestLoop> loops(times.loops.begin(),
                              times.loops.begin() + static_cast<std::ptrdiff_t>(depth));
  for (const size_t iterator : iterators) {
    loops.push_back(times.loops[*times.position(iterator)]);
  }
  for (size_t d = depth; d < times.loops.size(); ++d) {
    if (std::find(loops.begin(), loops.end(), times.loops[d]) == loops.end()) {
      loops.push_back(times.loops[d]);
    }
  }
  times.loops = std::move(loops);
  std::fill(times.places.begin() + static_cast<std::ptrdiff_t>(depth) + 1, times.places.end(), 0);
  times.places[depth + 1] = place;
}

void Nests::slant(const std::string &computation, const Slant &slant) {
  NestTimes &times = times_.at(computation);
  const auto position = times.position(slant.iterator);
  if (!position || times.loops[*position].value != placeholder(slant.iterator)) {
    return;
  }
  std::string &value = times.loops[*position].value;
  for (const auto &[iterator, factor] : slant.along) {
    value += " + " + std::to_string(-factor) + "*" + placeholder(iterator);
  }
  value += slant.begin == 0 ? "" : " + " + std::to_string(-slant.begin);
}

Command Nests::command() const {
  std::map<std::string, NestTimes> ranked = times_;
  size_t deepest = 0;
  for (auto &[name, times] : ranked) {
    deepest = std::max(deepest, times.loops.size());
    for (size_t d = 0; d < times.places.size(); ++d) {
      std::set<std::int64_t> before;
      for (const auto &[other, theirs] : times_) {
        if (theirs.places.size() > d && starts_alike(theirs, times_.at(name), d) &&
            theirs.places[d] < times_.at(name).places[d]) {
          before.insert(theirs.places[d]);
        }
      }
      times.places[d] = static_cast<std::int64_t>(before.size());
    }
  }
  std::string text = "[";
  for (const std::string &parameter : parameters_) {
    text += (text == "[" ? "" : ", ") + parameter;
  }
  text += "] -> { ";
  std::string join;
  for (const auto &[name, times] : ranked) {
    text += join + map_text(name, iterators_.at(name), times, deepest);
    join = "; ";
  }
  return {"", "set_schedule", {text + " }"}, {}};
}

} // namespace tilewright
