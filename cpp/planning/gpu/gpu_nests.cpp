#include "planning/gpu/gpu_nests.h"

#include "algorithm/block.h"
#include "analysis/legality.h"
#include "planning/auto/element_steps.h"
#include "planning/auto/legal_mapping.h"
#include "planning/auto/local_scalars.h"
#include "planning/gpu/parallel_order.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/val.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace tilewright {

namespace {

constexpr const char *doing_gpu_nests = "kernels for a GPU";
/// What isl's scheduler may take for a whole program, and what asking whether its order is legal.
constexpr std::uint64_t order_operation_limit = 20'000'000;
constexpr std::uint64_t whole_operation_limit = 200'000'000;
/// Functions of more statements keep their order.
constexpr size_t most_statements = 128;
constexpr size_t most_axes = 3;
/// Threads of a block along one, two and three loops, as the command gpu has them.
const std::array<std::vector<std::int64_t>, most_axes> usual_tiles = {{{256}, {8, 32}, {4, 4, 32}}};

bool is_number(const isl::pw_aff &value) {
  return isl_pw_aff_is_cst(value.get()) == isl_bool_true && isl_pw_aff_n_piece(value.get()) == 1;
}

/// The iterator that a loop runs over, forwards and by one.
std::optional<size_t> iterator_of(const isl::pw_aff &value) {
  if (isl_pw_aff_n_piece(value.get()) != 1) {
    return std::nullopt;
  }
  const isl::aff affine = isl::manage(isl_pw_aff_as_aff(value.copy()));
  if (affine.is_null() || isl_aff_dim(affine.get(), isl_dim_div) != 0) {
    return std::nullopt;
  }
  std::optional<size_t> found;
  for (int d = 0; d < isl_aff_dim(affine.get(), isl_dim_in); ++d) {
    const isl::val factor = isl::manage(isl_aff_get_coefficient_val(affine.get(), isl_dim_in, d));
    if (isl_val_is_zero(factor.get()) == isl_bool_true) {
      continue;
    }
    if (found || isl_val_is_one(factor.get()) != isl_bool_true) {
      return std::nullopt;
    }
    found = static_cast<size_t>(d);
  }
  return found;
}

/// Loops that become the blocks and threads of one kernel.
struct Kernel {
  std::vector<std::string> members; ///< computations
  size_t first = 0;                 ///< position of its loops in the times of each of them
  size_t axes = 0;
};

class GpuNests {
public:
  GpuNests(const Mapping &given, std::shared_ptr<const LegalProgram> legal)
      : now_{given, std::move(legal)} {}

  AutoSchedule plan() {
    const LegalMapping given = now_;
    expand_scalars();
    auto order = now_.legal->program.statements.size() <= most_statements
                     ? parallel_order(now_.legal->program, order_operation_limit)
                     : std::nullopt;
    if (!order) {
      now_ = given;
      return kept("isl's scheduler finds no other one within " +
                  std::to_string(order_operation_limit) + " operations");
    }
    order_ = std::move(*order);
    find_kernels();
    tell_apart();
    auto ordered = after_commands(now_, {order_command()}, whole_operation_limit);
    if (!ordered) {
      now_ = given;
      return kept("the one that isl's scheduler finds is not legal where values are stored");
    }
    now_ = std::move(*ordered);
    for (const Kernel &kernel : kernels_) {
      map_kernel(kernel);
    }
    if (mapped_.empty()) {
      now_ = given;
      return kept("none of them is parallel: the processor runs it");
    }
    for (const auto &[name, levels] : order_) {
      if (!mapped_.contains(name)) {
        decisions_.push_back({name, "one thread runs it, since none of its loops is parallel"});
      }
    }
    return {now_.mapping, std::move(decisions_)};
  }

private:
  AutoSchedule kept(const std::string &why) {
    return {now_.mapping, {{"", "the loops keep their order, since " + why}}};
  }

  /// Scalars in one place would have iterations wait for each other: they get an element for each
  /// of them.
  void expand_scalars() {
    const auto nests = Nests::of(now_.mapping);
    std::vector<Command> stores;
    for (const ExpandedScalar &scalar :
         nests ? expanded_scalars(now_.mapping, *nests) : std::vector<ExpandedScalar>()) {
      stores.insert(stores.end(), scalar.stores.begin(), scalar.stores.end());
    }
    auto found =
        stores.empty() ? std::nullopt : after_commands(now_, stores, whole_operation_limit);
    if (found) {
      now_ = std::move(*found);
    }
  }

  /// By the outermost band of each computation that has parallel loops.
  void find_kernels() {
    std::map<int, std::vector<std::string>> members;
    for (const auto &[name, levels] : order_) {
      const auto first = std::find_if(levels.begin(), levels.end(),
                                      [](const OrderLevel &level) { return level.coincident; });
      if (first != levels.end()) {
        members[first->band].push_back(name);
      }
    }
    for (const auto &[band, names] : members) {
      add_kernel(band, names);
    }
  }

  void add_kernel(int band, const std::vector<std::string> &names) {
    const std::vector<OrderLevel> &levels = order_.at(names.front());
    const auto is_own = [&](const OrderLevel &level) { return level.band == band; };
    const auto begin = std::find_if(levels.begin(), levels.end(), is_own);
    const auto first = static_cast<size_t>(begin - levels.begin());
    const auto count = static_cast<size_t>(std::count_if(begin, levels.end(), is_own));
    std::vector<size_t> axes = axes_of(first, count, names);
    if (axes.empty()) {
      return;
    }
    std::vector<size_t> loops = axes;
    for (size_t l = first; l < first + count; ++l) {
      if (std::find(axes.begin(), axes.end(), l) == axes.end()) {
        loops.push_back(l);
      }
    }
    for (const std::string &name : names) {
      const std::vector<OrderLevel> before = order_.at(name);
      for (size_t l = 0; l < count; ++l) {
        order_.at(name)[first + l] = before[loops[l]];
      }
    }
    kernels_.push_back({names, first, axes.size()});
  }

  /// The parallel loops that become axes, the one along which elements lie side by side last.
  std::vector<size_t> axes_of(size_t first, size_t count,
                              const std::vector<std::string> &names) const {
    std::vector<size_t> axes;
    for (size_t l = first; l < first + count; ++l) {
      const bool is_loop = std::any_of(names.begin(), names.end(), [&](const std::string &name) {
        return !is_number(order_.at(name)[l].value);
      });
      if (is_loop && order_.at(names.front())[l].coincident) {
        axes.push_back(l);
      }
    }
    std::vector<int> score(first + count, 0);
    for (const std::string &name : names) {
      const ElementSteps steps(now_.legal->program, name);
      for (const size_t l : axes) {
        if (const auto iterator = iterator_of(order_.at(name)[l].value)) {
          score[l] += steps.side_by_side(*iterator) ? 2 : 0;
          score[l] += steps.written(*iterator) == Step::Unit ? 1 : 0;
        }
      }
    }
    std::sort(axes.begin(), axes.end(),
              [&](size_t a, size_t b) { return std::tie(score[a], a) < std::tie(score[b], b); });
    if (axes.size() > most_axes) {
      axes.erase(axes.begin(), axes.end() - static_cast<std::ptrdiff_t>(most_axes));
    }
    return axes;
  }

  /// Computations whose times would be equal come one after the other.
  void tell_apart() {
    std::map<std::vector<std::pair<int, std::int64_t>>, std::vector<std::string>> alike;
    for (const auto &[name, levels] : order_) {
      std::vector<std::pair<int, std::int64_t>> path;
      for (const OrderLevel &level : levels) {
        path.emplace_back(level.band, level.is_place ? place(level) : -1);
      }
      alike[path].push_back(name);
    }
    for (const auto &[path, names] : alike) {
      for (size_t n = 0; names.size() > 1 && n < names.size(); ++n) {
        order_.at(names[n]).push_back(
            {number(order_.at(names[n]).empty() ? domain_of(names[n])
                                                : isl::manage(isl_pw_aff_get_domain_space(
                                                      order_.at(names[n]).front().value.get())),
                    static_cast<std::int64_t>(n)),
             true, false, -1});
      }
    }
  }

  static std::int64_t place(const OrderLevel &level) {
    const isl::aff affine = isl::manage(isl_pw_aff_as_aff(level.value.copy()));
    return isl_val_get_num_si(isl::manage(isl_aff_get_constant_val(affine.get())).get());
  }

  isl::space domain_of(const std::string &name) const {
    return instance_space(**now_.mapping.function().find(name)).domain.space();
  }

  static isl::pw_aff number(const isl::space &space, std::int64_t value) {
    return isl::manage(isl_pw_aff_from_aff(
        isl_aff_val_on_domain(isl_local_space_from_space(space.copy()),
                              isl_val_int_from_si(isl_context().get(), static_cast<long>(value)))));
  }

  /// set_schedule of the whole function. What has no statements shows what others have made: it is
  /// behind all of them.
  Command order_command() {
    size_t depth = 0;
    std::vector<std::string> shown;
    for (const auto &[name, map] : now_.mapping.state().time_space) {
      const Computation &computation = **now_.mapping.function().find(name);
      if (order_.contains(name)) {
        depth = std::max(depth, order_.at(name).size());
      } else if (!is_block_result(computation)) {
        shown.push_back(name);
        depth = std::max(depth, instance_space(computation).iterators.size());
      }
    }
    isl::union_map all = isl::union_map::empty(isl_context());
    for (const auto &[name, levels] : order_) {
      std::vector<isl::pw_aff> values;
      for (const OrderLevel &level : levels) {
        values.push_back(level.value);
      }
      all = all.unite(times(name, values, shown.empty() ? -1 : 0, depth));
    }
    for (const std::string &name : shown) {
      const InstanceSpace instances = instance_space(**now_.mapping.function().find(name));
      std::vector<isl::pw_aff> values;
      for (size_t d = 0; d < instances.iterators.size(); ++d) {
        values.push_back(isl::pw_aff::var_on_domain(isl::local_space(instances.domain.space()),
                                                    isl::dim::set, static_cast<unsigned>(d)));
      }
      all = all.unite(times(name, values, 1, depth));
    }
    prefix_ = shown.empty() ? 0 : 1;
    char *text = isl_union_map_to_str(checked(all, doing_gpu_nests).get());
    const std::string written = text;
    free(text);
    return {"", "set_schedule", {written}, {}};
  }

  /// `front`: a place before the times; -1: none.
  isl::union_map times(const std::string &name, const std::vector<isl::pw_aff> &values,
                       std::int64_t front, size_t depth) const {
    const isl::space space = domain_of(name);
    isl::map map = isl::map::from_domain(isl::set::universe(space));
    const auto add = [&](const isl::pw_aff &value) {
      map = map.flat_range_product(value.as_map());
    };
    if (front >= 0) {
      add(number(space, front));
    }
    for (const isl::pw_aff &value : values) {
      add(value);
    }
    for (size_t d = values.size(); d < depth; ++d) {
      add(number(space, 0));
    }
    return isl::union_map(checked(map, doing_gpu_nests));
  }

  /// Gives the loops of a kernel to blocks and threads, fewer of them where all are refused.
  void map_kernel(const Kernel &kernel) {
    for (size_t skipped = 0; skipped < kernel.axes; ++skipped) {
      std::vector<Command> commands;
      std::vector<std::string> named;
      for (const std::string &name : kernel.members) {
        named.clear();
        for (size_t l = skipped; l < kernel.axes; ++l) {
          named.push_back(
              now_.mapping.time_space(name).dimensions[prefix_ + kernel.first + l].name);
        }
        commands.push_back(mapped(name, named));
      }
      if (auto found = after_commands(now_, commands, whole_operation_limit)) {
        now_ = std::move(*found);
        mapped_.insert(kernel.members.begin(), kernel.members.end());
        decisions_.push_back({listed(kernel.members), sentence(kernel, named)});
        return;
      }
    }
  }

  /// `gpu` of these loops, or the same with names that are free.
  Command mapped(const std::string &computation, const std::vector<std::string> &loops) const {
    std::set<std::string> names;
    for (const LoopDimension &loop : now_.mapping.time_space(computation).dimensions) {
      names.insert(loop.name);
    }
    const bool is_free = std::none_of(loops.begin(), loops.end(), [&](const std::string &loop) {
      return names.contains(loop + "0") || names.contains(loop + "1");
    });
    std::vector<Argument> arguments(loops.begin(), loops.end());
    if (!is_free) {
      arguments.insert(arguments.end(), usual_tiles.at(loops.size() - 1).begin(),
                       usual_tiles.at(loops.size() - 1).end());
      for (const char *suffix : {"_block", "_thread"}) {
        for (const std::string &loop : loops) {
          arguments.emplace_back(loop + suffix);
        }
      }
    }
    return {computation, is_free ? "gpu" : "gpu_tile", arguments, {}};
  }

  std::string sentence(const Kernel &kernel, const std::vector<std::string> &loops) const {
    const bool host = std::any_of(
        order_.at(kernel.members.front()).begin(),
        order_.at(kernel.members.front()).begin() + static_cast<std::ptrdiff_t>(kernel.first),
        [](const OrderLevel &level) { return !level.is_place && !is_number(level.value); });
    return std::string("blocks and threads along ") + listed(loops) +
           (host ? ", a launch for each iteration of the loops around" : "");
  }

  LegalMapping now_;
  Decisions decisions_;
  ParallelOrder order_;
  std::vector<Kernel> kernels_;
  std::set<std::string> mapped_;
  size_t prefix_ = 0;
};

} // namespace

AutoSchedule with_gpu_nests(const Mapping &given, std::shared_ptr<const LegalProgram> legal) {
  if (legal == nullptr) {
    legal = require_legal(build_program(given), nullptr);
  }
  return GpuNests(given, std::move(legal)).plan();
}

} // namespace tilewright
