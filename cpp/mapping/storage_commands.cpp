// store_in: Layer III of one computation, an affine map from its elements to the elements of a
// buffer.
#include "algorithm/affine.h"
#include "mapping/accesses.h"
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/number_limits.h"
#include "mapping/packed_storage.h"
#include "polyhedral/counted.h"
#include "polyhedral/set_text.h"

#include <algorithm>

namespace tilewright {

namespace {

std::string element_text(const Computation &computation) {
  std::string text = computation.name + "[";
  for (size_t d = 0; d < computation.iterators.size(); ++d) {
    text += (d ? "," : "") + computation.iterators[d];
  }
  return text + "]";
}

isl::set written_elements(const MappingState &state, const Computation &computation) {
  isl::set written = isl::set::empty(computation.domain.space());
  for (const Piece &piece : computation.pieces) {
    written = written.unite(piece.domain);
  }
  return checked(written.intersect_params(state.function->context), "store_in");
}

bool is_output(const MappingState &state, const std::string &name) {
  return std::any_of(state.function->outputs.begin(), state.function->outputs.end(),
                     [&](const ComputationPtr &output) { return output->name == name; });
}

} // namespace

bool is_callers_array(const MappingState &state, const Computation &computation) {
  const ComputationPtr *stored_in = state.function->find(state.storage.at(computation.name).buffer);
  return is_output(state, computation.name) ||
         (stored_in != nullptr && ((*stored_in)->is_input || is_output(state, (*stored_in)->name)));
}

namespace {

std::string parameter_list(const MappingState &state) {
  std::string text;
  for (const std::string &name : state.function->parameters) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

/// Whether none of these characters is in a text that becomes a part of a map.
bool is_plain(const std::string &text, const char *characters) {
  return text.find_first_of(characters) == std::string::npos;
}

/// `buffer[index, ...]`, to which no condition is added. A choice within the brackets has signs of
/// its own: `x[(i < 3 ? (0) : (i))]`.
bool is_place(const std::string &text) {
  const bool chooses = text.find('?') != std::string::npos && text.find(']') == text.size() - 1 &&
                       text.find("->") == std::string::npos;
  return is_plain(text, chooses ? "{};" : "{}:;>");
}

ExprPtr size_expression(const Command &command, const std::string &parameters,
                        const std::string &text) {
  std::string problem;
  const isl::map size =
      is_plain(text, "[]{}:;")
          ? parse_map("[" + parameters + "] -> { [] -> [(" + text + ")] }", problem)
          : isl::map();
  if (size.is_null()) {
    refuse(command, "'" + text + "' is not an affine size in the parameters");
  }
  return from_affine(checked(size.as_pw_multi_aff().at(0), "the size of a buffer"), {});
}

/// A size along a dimension of a buffer, known where something is stored; 0 elsewhere.
ExprPtr size_of(isl::pw_aff extent, const isl::set &context) {
  const isl::pw_aff simple = extent.gist(extent.domain().intersect(context)).coalesce();
  const isl::pw_aff nothing = isl::pw_aff(context, isl::val(isl_context(), 0L));
  if (checked(context.is_subset(simple.ge_set(nothing)), "extent of a buffer")) {
    return from_affine(simple, {}); // the same formula where nothing is stored
  }
  const isl::set elsewhere = context.subtract(extent.domain());
  extent = extent.union_add(isl::pw_aff(elsewhere, isl::val(isl_context(), 0L)));
  return from_affine(checked(extent.gist(context).coalesce(), "extent of a buffer"), {});
}

/// One more than the largest index along a dimension.
ExprPtr derived_extent(const isl::set &image, unsigned dimension, const isl::set &context) {
  return size_of(image.dim_max(static_cast<int>(dimension)).add_constant(1L), context);
}

bool may_be_negative(const isl::set &image, unsigned dimension) {
  const isl::set negative =
      isl::manage(isl_set_upper_bound_si(image.copy(), isl_dim_set, dimension, -1));
  return !checked(negative.is_empty(), "extent of a buffer");
}

/// Of a buffer that holds the elements `image`, some of negative index: the first one along a
/// dimension, and how many there are.
void add_box(const isl::set &image, unsigned dimension, const isl::set &context, Storage &storage) {
  const auto d = static_cast<int>(dimension);
  const isl::pw_aff first = image.dim_min(d);
  const isl::pw_aff size = image.dim_max(d).sub(first).add_constant(1L);
  storage.origin.resize(dimension, constant(std::int64_t{0}, Int64));
  storage.origin.push_back(
      from_affine(checked(first.gist(context).coalesce(), "extent of a buffer"), {}));
  storage.extents.push_back(size_of(checked(size.coalesce(), "extent of a buffer"), context));
}

/// Which name in the place of an element stands for nothing that is known, for messages.
std::string unknown_subscript(const isl::map &given, const Computation &computation,
                              const std::vector<std::string> &parameters) {
  std::string list;
  for (const std::string &name : parameters) {
    list += (list.empty() ? "" : ", ") + name;
  }
  for (unsigned d = 0; d < checked(given.range_tuple_dim(), "store_in"); ++d) {
    const char *name = isl_map_get_dim_name(given.get(), isl_dim_out, d);
    const auto &iterators = computation.iterators;
    if (name != nullptr && std::find(iterators.begin(), iterators.end(), name) == iterators.end()) {
      return ": '" + std::string(name) + "' is neither an iterator of " +
             element_text(computation) + " nor a parameter" +
             (list.empty() ? "" : " (" + list + ")");
    }
  }
  return "";
}

std::string shape_text(const Computation &array) {
  std::string text;
  for (const ExprPtr &extent : array.extents) {
    text += (text.empty() ? "" : ", ") + to_string(extent);
  }
  return array.name + "[" + text + "]";
}

/// What an input's array has to be for `computation` to be stored in it.
void require_same_array(const MappingState &state, const Command &command,
                        const Computation &computation, const Computation &input, unsigned rank,
                        bool sized) {
  if (sized) {
    refuse(command, "the size of the input '" + input.name + "' is the caller's");
  }
  if (computation.type != input.type) {
    refuse(command, computation.name + " is " + type_name(computation.type) +
                        " and cannot overwrite the input " + input.name + " of " +
                        type_name(input.type));
  }
  if (rank != input.rank()) {
    refuse(command, "the input " + shape_text(input) + " has " +
                        counted(input.rank(), "dimension") + ", and " + counted(rank, "subscript") +
                        (rank == 1 ? " was given" : " were given"));
  }
  if (!is_output(state, computation.name)) {
    return;
  }
  bool same = computation.rank() == input.rank();
  for (size_t d = 0; same && d < input.rank(); ++d) {
    const auto own = to_affine(computation.extents[d], {"", {}});
    const auto its = to_affine(input.extents[d], {"", {}});
    same = own && its &&
           checked(state.function->context.is_subset(own->eq_set(*its).params()), "store_in");
  }
  if (!same) {
    refuse(command, "the call returns the array of " + input.name + " as the output " +
                        computation.name + ", and their shapes differ: " + shape_text(input) +
                        " and " + shape_text(computation) +
                        "; a call can be given a part of that array instead, as out=");
  }
}

/// The name of a buffer is none of isl's words and no parameter.
void require_buffer_name(const MappingState &state, const Command &command,
                         const std::string &name) {
  const std::vector<std::string> &parameters = state.function->parameters;
  if (!is_isl_identifier(name) ||
      std::find(parameters.begin(), parameters.end(), name) != parameters.end()) {
    refuse(command, "'" + name +
                        "' cannot name a buffer; expected letters, digits and "
                        "underscores, no word of isl's notation and no parameter's name");
  }
}

/// Two elements that `relation` puts in one place: "C[0,0] and C[1,0] (N = 2)".
std::string two_in_one_place(const std::string &name, const isl::map &relation) {
  isl::map pairs = relation.apply_range(relation.reverse());
  const isl::space elements = pairs.space().domain();
  pairs = pairs.intersect(isl::manage(isl_map_lex_lt(elements.copy())));
  Point both;
  if (!sample_point(checked(pairs.wrap(), "store_in"), both)) {
    return "";
  }
  Point second = both;
  const auto half = static_cast<std::ptrdiff_t>(both.coordinates.size() / 2);
  second.coordinates.erase(second.coordinates.begin(), second.coordinates.begin() + half);
  both.coordinates.resize(static_cast<size_t>(half));
  both.parameters.clear();
  return instance_text(name, both) + " and " + instance_text(name, second);
}

/// The caller's array says where the elements of an output are.
void require_output_as_it_is(const Command &command, const Computation &computation,
                             const isl::map &given, const isl::map &relation) {
  if (!checked(relation.is_injective(), "store_in")) {
    refuse(command, computation.name +
                        " is an output, and two of its elements would share one place, such as " +
                        two_in_one_place(computation.name, relation) +
                        "; declare a computation that reads the elements you want to keep and "
                        "return that one");
  }
  const isl::map itself = isl::map::identity(computation.domain.space().map_from_set());
  if (checked(given.range_tuple_dim(), "store_in") != computation.rank() ||
      !checked(relation.is_subset(isl::manage(isl_map_set_tuple_id(
                   itself.copy(), isl_dim_out, given.range_tuple_id().release()))),
               "store_in")) {
    refuse(command,
           computation.name +
               " is an output, and the caller's array decides where its elements are: pass "
               "an array with other strides, such as out=array.T, for another layout");
  }
}

/// Fills in the subscripts and the extents of `storage`, whose image is `image`: the extents are
/// those of the array that is `overwritten`, the given `sizes`, or as large as needed.
void lay_out(const MappingState &state, const Command &command, const Computation *overwritten,
             const std::vector<std::string> &sizes, const isl::set &image, Storage &storage) {
  const Computation &computation = **state.function->find(command.computation);
  const auto rank = checked(image.tuple_dim(), "store_in");
  const bool sized = !sizes.empty();
  if (sized && sizes.size() != rank) {
    refuse(command, "the buffer has " + counted(rank, "dimension") + " but " +
                        std::to_string(sizes.size()) + " sizes were given");
  }
  IterationSpace elements{storage.buffer, {}};
  for (unsigned d = 0; d < rank; ++d) {
    elements.iterators.push_back("b" + std::to_string(d));
  }
  const isl::pw_multi_aff index =
      checked(isl::manage(isl_pw_multi_aff_from_map(storage.relation.copy())), "store_in");
  isl::set inside = isl::set::universe(image.space());
  for (unsigned d = 0; d < rank; ++d) {
    storage.index.push_back(from_affine(index.at(static_cast<int>(d)), computation.iterators));
    const bool given = overwritten != nullptr || (sized && !sizes[d].empty());
    if (!given && may_be_negative(image, d)) {
      add_box(image, d, state.function->context, storage);
      continue;
    }
    storage.extents.push_back(!given ? derived_extent(image, d, state.function->context)
                              : overwritten != nullptr
                                  ? overwritten->extents[d]
                                  : size_expression(command, parameter_list(state), sizes[d]));
    const std::optional<isl::pw_aff> size = to_affine(storage.extents[d], elements);
    const isl::pw_aff position =
        isl::pw_aff::var_on_domain(isl::local_space(image.space()), isl::dim::set, d);
    inside = inside.lower_bound_si(isl::dim::set, d, 0).intersect(position.lt_set(size.value()));
  }
  storage.origin.resize(storage.origin.empty() ? 0 : rank, constant(std::int64_t{0}, Int64));
  Point point;
  if (sample_point(checked(image.subtract(inside), "store_in"), point)) {
    const bool below = std::any_of(point.coordinates.begin(), point.coordinates.end(),
                                   [](std::int64_t index) { return index < 0; });
    refuse(command,
           "element " + instance_text(storage.buffer, point) + " lies outside the " +
               (overwritten != nullptr ? "array" : "buffer") +
               (!below                   ? ""
                : overwritten != nullptr ? ", which begins at 0: shift the subscript"
                                         : ", which begins at 0 if its size is given: leave "
                                           "the size out, or shift the subscript"));
  }
}

/// What else lies in the array of an output goes where the output goes.
void take_along(MappingState &state, const Computation &output, const Storage &place) {
  for (auto &[name, storage] : state.storage) {
    if (name == output.name || storage.buffer != output.name || place.buffer == output.name) {
      continue;
    }
    storage.buffer = place.buffer;
    storage.extents = place.extents;
    storage.origin = place.origin;
    storage.relation = checked(isl::manage(isl_map_set_tuple_name(
                                   storage.relation.copy(), isl_dim_out, place.buffer.c_str())),
                               "store_in");
  }
}

/// What storage_fold says of each dimension of the buffer: its size, 0 where it stays as it is.
std::vector<std::int64_t> folds_of(const Storage &storage, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 2, "storage_fold(i, d)");
  if (arguments.size() == 1) {
    if (storage.index.empty()) {
      return {}; // [] has no elements that would tell a list of what it is
    }
    const auto *sizes = std::get_if<std::vector<std::int64_t>>(&command.arguments.front());
    if (sizes == nullptr || sizes->size() != storage.index.size()) {
      refuse(command, "expected a fold for each of the " + std::to_string(storage.index.size()) +
                          " dimensions of buffer '" + storage.buffer +
                          "' (0 for those that stay whole), got " +
                          (sizes == nullptr ? "none" : std::to_string(sizes->size())));
    }
    for (const std::int64_t size : *sizes) {
      if (size < 0 || size > largest_size) {
        refuse(command, "a fold must be 0 (the whole dimension) to " +
                            std::to_string(largest_size) + ", got " + std::to_string(size));
      }
    }
    return *sizes;
  }
  const std::string name = arguments.name(0, "an iterator");
  const std::int64_t size = arguments.integer(1, "the fold", 1);
  std::vector<std::int64_t> folds(storage.index.size(), 0);
  for (size_t d = 0; d < folds.size(); ++d) {
    if (storage.index[d]->kind == ExprKind::Iterator && storage.index[d]->name == name) {
      folds[d] = size;
    }
  }
  if (std::count(folds.begin(), folds.end(), 0) == static_cast<std::ptrdiff_t>(folds.size())) {
    refuse(command,
           "no dimension of buffer '" + storage.buffer + "' is indexed by '" + name + "' alone");
  }
  return folds;
}

} // namespace

/// Stores the command's computation by `given`: computation[iterators] -> buffer[index], in a
/// buffer of `sizes` (where they are empty: as large as needed).
void store(MappingState &state, const Command &command, const isl::map &given,
           const std::vector<std::string> &sizes) {
  const Computation &computation = **state.function->find(command.computation);
  state.allocations.erase(command.computation);
  if (!given.has_range_tuple_id().is_true()) {
    refuse(command, "the buffer needs a name, e.g. \"buffer[i]\"");
  }
  require_small_place(given, command.computation, command); // before its extents are formulas
  Storage storage;
  storage.buffer = given.range_tuple_id().name();
  storage.relation = given;
  const Computation *overwritten = nullptr; // in place: elements of an input's array
  for (const ComputationPtr &input : state.function->inputs) {
    overwritten = input->name == storage.buffer ? input.get() : overwritten;
  }
  if (overwritten != nullptr) {
    require_same_array(state, command, computation, *overwritten,
                       checked(given.range_tuple_dim(), "store_in"), !sizes.empty());
  }
  require_buffer_name(state, command, storage.buffer);
  const isl::set written = written_elements(state, computation);
  const isl::map relation = checked(given.intersect_domain(written), "store_in");
  if (!checked(given.is_single_valued(), "store_in")) {
    refuse(command, "the map gives several elements to one instance" +
                        unknown_subscript(given, computation, state.function->parameters));
  }
  if (is_output(state, computation.name)) {
    require_output_as_it_is(command, computation, given, relation);
  }
  Point point;
  if (sample_point(checked(written.subtract(relation.domain()), "store_in"), point)) {
    refuse(command, "the map gives no element to " + instance_text(computation.name, point));
  }
  lay_out(state, command, overwritten, sizes, checked(relation.range().coalesce(), "store_in"),
          storage);
  if (is_output(state, computation.name)) {
    take_along(state, computation, storage);
  }
  state.storage[computation.name] = std::move(storage);
}

/// store_in(buffer, sizes, record, [offset, size]): the buffer is a field of an array of
/// structures.
void place_in_record(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  const Computation &computation = **state.function->find(command.computation);
  Storage &storage = state.storage.at(computation.name);
  storage.record.name = arguments.name(2, "the name of the records");
  const auto *numbers = arguments.size() == 4
                            ? std::get_if<std::vector<std::int64_t>>(&command.arguments[3])
                            : nullptr;
  if (numbers == nullptr || numbers->size() != 2) {
    refuse(command, "a record needs the offset of the field and its own size, in bytes");
  }
  storage.record.offset = (*numbers)[0];
  storage.record.size = (*numbers)[1];
  const std::int64_t bytes = computation.type.bytes();
  constexpr std::int64_t largest = 4096;
  if (storage.record.offset < 0 || storage.record.size > largest ||
      storage.record.offset + bytes > storage.record.size) {
    refuse(command, type_name(computation.type) + " at byte " +
                        std::to_string(storage.record.offset) + " does not fit a record of " +
                        std::to_string(storage.record.size) + " bytes (at most " +
                        std::to_string(largest) + ")");
  }
  if (is_callers_array(state, computation)) {
    refuse(command, "the caller's array decides how elements lie in '" + storage.buffer +
                        "'; only temporaries have records of the schedule's choice");
  }
}

void store_in_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 4, "store_in(\"buffer[index, ...]\", sizes=None, record=None)");
  const std::string place = arguments.name(0, "a buffer element");
  const std::optional<std::string> unpacked = unpacked_place(place);
  const std::string target = unpacked.value_or(place);
  const std::string element = element_text(**state.function->find(command.computation));
  std::string problem;
  const isl::map given =
      is_place(target)
          ? parse_map("[" + parameter_list(state) + "] -> { " + element + " -> " + target + " }",
                      problem)
          : isl::map();
  if (given.is_null()) {
    refuse(command, "'" + target + "' is not a buffer with affine subscripts in the iterators of " +
                        element);
  }
  std::vector<std::string> sizes;
  if (arguments.size() > 1) {
    if (const auto *texts = std::get_if<std::vector<std::string>>(&command.arguments[1])) {
      sizes = *texts;
    } else if (const auto *numbers =
                   std::get_if<std::vector<std::int64_t>>(&command.arguments[1])) {
      for (std::int64_t number : *numbers) {
        sizes.push_back(std::to_string(number));
      }
    } else {
      refuse(command, "the sizes must be a list of integers or affine texts");
    }
  }
  store(state, command, given, unpacked ? unpacked_sizes(command, sizes) : sizes);
  if (unpacked) {
    const Computation &computation = **state.function->find(command.computation);
    pack(state, command, written_elements(state, computation),
         is_callers_array(state, computation));
  }
  if (arguments.size() > 2) {
    place_in_record(state, command);
  }
}

void set_access_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "set_access(\"{ C[i,j] -> buffer[...] }\")");
  const isl::map given = read_command_map(state, command, arguments.name(0, "an isl map"),
                                          "{ C[i, j] -> buffer[j, i % 2] }");
  const Computation &computation = **state.function->find(command.computation);
  if (!given.has_domain_tuple_id().is_true() ||
      given.domain_tuple_id().name() != computation.name ||
      checked(given.domain_tuple_dim(), "set_access") != computation.rank()) {
    refuse(command, "the map must start from " + element_text(computation));
  }
  store(state, command, given, {});
}

void storage_fold_command(MappingState &state, const Command &command) {
  const Computation &computation = **state.function->find(command.computation);
  const Storage &storage = state.storage.at(computation.name);
  if (storage.packing != Packing::None) {
    refuse(command, "buffer '" + storage.buffer +
                        "' is a packed triangle, whose rows have no modulo; fold it first, or "
                        "store it as " +
                        element_text(computation) + " is");
  }
  const std::vector<std::int64_t> folds = folds_of(storage, command);
  isl::map relation = storage.relation;
  std::vector<std::string> sizes(folds.size());
  for (size_t d = 0; d < folds.size(); ++d) {
    if (folds[d] > 0) {
      relation = folded(relation, static_cast<unsigned>(d), folds[d]);
      sizes[d] = std::to_string(folds[d]);
    }
  }
  if (std::all_of(folds.begin(), folds.end(), [](std::int64_t fold) { return fold == 0; })) {
    sizes.clear(); // of an input's array, too
  }
  const Record record = storage.record;
  store(state, command, checked(relation, "storage_fold"), sizes);
  state.storage.at(computation.name).record = record;
}

void auto_allocate_map_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(0, 0, "auto_allocate_map()");
  const Computation &computation = **state.function->find(command.computation);
  state.allocations.erase(computation.name);
  state.storage[computation.name] = Storage::identity(computation);
}

} // namespace tilewright
