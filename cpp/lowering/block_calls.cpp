// The call of a block (algorithm/block.h) in the loop IR: the result that starts with other values
// is given these, parts become addresses, and the function is called as any function of C is. Where
// a part must lie without gaps, that is tested before each call: strides of the caller's arrays are
// not known earlier.
#include "algorithm/block.h"
#include "lowering/expressions.h"

#include <algorithm>
#include <limits>

namespace tilewright {

namespace {

/// No function can return it, since it is no int: the loops behind a call never run.
constexpr std::int64_t never_returned = std::int64_t{std::numeric_limits<std::int32_t>::min()} - 1;

ExprPtr coordinate_after(const ExprPtr &lower) {
  return binary(Op::Add, lower, constant(std::int64_t{1}, Int64));
}

} // namespace

ExpressionTranslator::BlockPart ExpressionTranslator::part_read(const ExprPtr &part) {
  const ExprPtr &read = part->operands.front();
  BlockPart result{read->producer, {}, {}, {}, read->operands};
  for (const ReduceRange &range : part->ranges) {
    result.iterators.push_back(range.iterator);
    result.lowers.push_back(range.lower);
    result.uppers.push_back(range.upper);
  }
  return result;
}

ExpressionTranslator::BlockPart
ExpressionTranslator::part_written(const Computation &call, const std::string &result,
                                   const std::vector<ExprPtr> &extents) const {
  BlockPart part{*state_.program.function->find(result), {}, {}, extents, {}};
  const std::vector<std::string> &iterators = part.array->iterators;
  part.iterators.assign(iterators.begin() + static_cast<std::ptrdiff_t>(call.rank()),
                        iterators.end());
  part.lowers.assign(part.iterators.size(), constant(std::int64_t{0}, Int64));
  for (const std::string &name : iterators) {
    part.subscripts.push_back(iterator(name));
  }
  return part;
}

std::vector<ValuePtr> ExpressionTranslator::place_in_part(const BlockPart &part,
                                                          const std::vector<ExprPtr> &coordinates) {
  Environment element;
  for (size_t d = 0; d < part.subscripts.size(); ++d) {
    const ExprPtr subscript =
        substitute(part.subscripts[d], [&](const std::string &name) -> ExprPtr {
          const auto found = std::find(part.iterators.begin(), part.iterators.end(), name);
          return found == part.iterators.end()
                     ? nullptr
                     : coordinates[static_cast<size_t>(found - part.iterators.begin())];
        });
    coordinates_.push_back(subscript);
    element[part.array->iterators.at(d)] = cast_value(translate(subscript), Int64);
  }
  return translate_place(state_.program.places.at(part.array->name).index, element);
}

ValuePtr ExpressionTranslator::address_in_part(const BlockPart &part,
                                               const std::vector<ExprPtr> &coordinates,
                                               const ExternFunction &external) {
  std::vector<ValuePtr> subscripts = place_in_part(part, coordinates);
  if (subscripts.empty()) {
    subscripts.push_back(integer(0)); // of an array without dimensions
  }
  auto address = std::make_shared<ExternFunction>();
  address->name = "&" + part.array->name; // for people: nothing is called
  address->arguments.assign(subscripts.size(), Int64);
  address->result = Int64;
  address->where = external.where;
  address->address_in =
      static_cast<std::int64_t>(state_.program.places.at(part.array->name).buffer);
  const std::int64_t id = state_.numbers.next();
  const std::string name = part.array->name + "_at";
  emit(declare_local(id, name, extern_value(address, std::move(subscripts))));
  return local(id, name, {Int64, 1});
}

std::vector<ValuePtr> ExpressionTranslator::strides_of_part(const BlockPart &part,
                                                            const ValuePtr &first,
                                                            const ExternFunction &external) {
  std::vector<ValuePtr> strides;
  for (size_t d = 0; d < part.iterators.size(); ++d) {
    std::vector<ExprPtr> next = part.lowers;
    next[d] = coordinate_after(next[d]);
    strides.push_back(sub(address_in_part(part, next, external), first));
  }
  return strides;
}

std::vector<ValuePtr> ExpressionTranslator::extents_of_part(const BlockPart &part) {
  std::vector<ValuePtr> extents;
  for (size_t d = 0; d < part.iterators.size(); ++d) {
    extents.push_back(maximum(sub(cast_value(translate(part.uppers[d]), Int64),
                                  cast_value(translate(part.lowers[d]), Int64)),
                              integer(0)));
  }
  return extents;
}

void ExpressionTranslator::loops_over_part(
    const BlockPart &part, const std::function<void(const std::vector<ExprPtr> &)> &body) {
  std::vector<ExprPtr> coordinates;
  const auto open = [&](const auto &self) -> void {
    const size_t d = coordinates.size();
    if (d == part.iterators.size()) {
      body(coordinates);
      return;
    }
    const ValuePtr lower = cast_value(translate(part.lowers[d]), Int64);
    const ValuePtr upper = cast_value(translate(part.uppers[d]), Int64);
    const std::int64_t id = state_.numbers.next();
    const std::string name = "part " + std::to_string(id); // no person's
    frame_.iterators[name] = variable(id, part.iterators[d]);
    coordinates.push_back(iterator(name));
    const StmtPtr inside = scoped([&] { self(self); });
    emit(for_loop(id, part.iterators[d], lower, upper, LoopKind::Serial, 0, inside));
    frame_.iterators.erase(name);
  };
  open(open);
}

void ExpressionTranslator::copy_part(const BlockPart &from, const BlockPart &to) {
  const auto source = static_cast<std::int64_t>(state_.program.places.at(from.array->name).buffer);
  const auto target = static_cast<std::int64_t>(state_.program.places.at(to.array->name).buffer);
  loops_over_part(to, [&](const std::vector<ExprPtr> &coordinates) {
    std::vector<ExprPtr> moved;
    for (size_t d = 0; d < coordinates.size(); ++d) {
      moved.push_back(binary(Op::Add, from.lowers[d], coordinates[d]));
    }
    const std::vector<ValuePtr> read = place_in_part(from, moved);
    const std::vector<ValuePtr> written = place_in_part(to, coordinates);
    if (source == target &&
        std::equal(read.begin(), read.end(), written.begin(), written.end(), same_value)) {
      return;
    }
    const KernelBuffer &memory = state_.kernel.buffers.at(static_cast<size_t>(source));
    const ValuePtr value = load(source, memory.name, {memory.type, 1}, read);
    const KernelBuffer &result = state_.kernel.buffers.at(static_cast<size_t>(target));
    emit(store(target, result.name, written, value));
  });
}

void ExpressionTranslator::check_without_gaps(const BlockPart &part,
                                              const std::vector<ValuePtr> &extents,
                                              const std::vector<ValuePtr> &strides,
                                              const ExternFunction &external) {
  const size_t buffer = state_.program.places.at(part.array->name).buffer;
  ValuePtr expected = integer(state_.kernel.buffers.at(buffer).type.bytes());
  ValuePtr gaps = boolean(false);
  ValuePtr is_there = boolean(true);
  for (size_t d = extents.size(); d-- > 0;) {
    const ValuePtr counts = binary_value(Op::Gt, extents[d], integer(1));
    gaps = either(gaps, both(counts, binary_value(Op::Ne, strides[d], expected)));
    is_there = both(is_there, binary_value(Op::Gt, extents[d], integer(0)));
    expected = mul(expected, extents[d]);
  }
  if (extents.empty()) {
    return;
  }
  IndexSite site;
  site.array = part.array->name;
  site.text =
      "block " + external.name + " takes the part of " + part.array->name +
      " as an array without gaps, in the order of its dimensions, and it does not lie so in "
      "memory: ";
  const KernelBuffer &memory = state_.kernel.buffers.at(buffer);
  site.text += memory.is_argument
                   ? "pass an array without gaps, such as np.ascontiguousarray(" + memory.name + ")"
                   : "give whole rows of the array, or copy the part into a computation of its own";
  state_.kernel.sites.push_back(std::move(site));
  const auto number = static_cast<std::int64_t>(state_.kernel.sites.size()) - 1;
  emit(check_value(number, both(is_there, gaps), nullptr, {}));
}

void ExpressionTranslator::show_accesses(const std::vector<BlockPart> &reads,
                                         const std::vector<BlockPart> &written,
                                         const ValuePtr &code) {
  const StmtPtr accesses = scoped([&] {
    for (const auto *parts : {&reads, &written}) {
      for (const BlockPart &part : *parts) {
        const size_t buffer = state_.program.places.at(part.array->name).buffer;
        const auto number = static_cast<std::int64_t>(buffer);
        const KernelBuffer &memory = state_.kernel.buffers.at(buffer);
        const std::int64_t id = state_.numbers.next();
        emit(declare_local(id, "element", zero_of(memory.type)));
        loops_over_part(part, [&](const std::vector<ExprPtr> &coordinates) {
          const std::vector<ValuePtr> element = place_in_part(part, coordinates);
          if (parts == &reads) {
            emit(assign_local(id, "element", load(number, memory.name, {memory.type, 1}, element)));
          } else {
            emit(store(number, memory.name, element, local(id, "element", {memory.type, 1})));
          }
        });
      }
    }
  });
  emit(if_then(binary_value(Op::Eq, cast_value(code, Int64), integer(never_returned)), accesses));
}

ValuePtr ExpressionTranslator::translate_block(const Expr &call) {
  const ExternFunction &external = *call.external;
  const BlockFunction &block = *external.block;
  const BlockOperands operands = operands_of_call(call);
  std::vector<BlockPart> reads;
  for (const ExprPtr &read : operands.reads) {
    reads.push_back(part_read(read));
  }
  std::vector<BlockPart> written;
  for (size_t r = 0; r < block.results.size(); ++r) {
    written.push_back(
        part_written(*statement_.computation, block.results[r].name, operands.extents[r]));
    state_.kernel.buffers.at(state_.program.places.at(block.results[r].name).buffer).is_written =
        true;
    if (operands.initial[r]) {
      copy_part(part_read(operands.initial[r]), written.back());
    }
  }
  std::vector<ValuePtr> arguments;
  for (const BlockArgument &argument : block.arguments) {
    if (argument.kind == BlockArgument::Kind::Number) {
      const ScalarType type = block.is_described ? Int64 : block.numbers[argument.index];
      arguments.push_back(cast_value(translate(operands.numbers[argument.index]), type));
      continue;
    }
    const BlockPart &part =
        (argument.kind == BlockArgument::Kind::Read ? reads : written)[argument.index];
    const ValuePtr first = address_in_part(part, part.lowers, external);
    const std::vector<ValuePtr> extents = extents_of_part(part);
    const std::vector<ValuePtr> strides = strides_of_part(part, first, external);
    arguments.push_back(first);
    if (block.is_described) {
      arguments.insert(arguments.end(), extents.begin(), extents.end());
      arguments.insert(arguments.end(), strides.begin(), strides.end());
    } else {
      check_without_gaps(part, extents, strides, external);
    }
  }
  const std::int64_t id = state_.numbers.next();
  emit(declare_local(id, external.name, extern_value(call.external, std::move(arguments))));
  const ValuePtr code = local(id, external.name, {Int32, 1});
  if (block.is_described) {
    IndexSite site;
    site.text = "block " + external.name + " failed";
    state_.kernel.sites.push_back(std::move(site));
    const auto number = static_cast<std::int64_t>(state_.kernel.sites.size()) - 1;
    emit(check_value(number, binary_value(Op::Ne, cast_value(code, Int64), integer(0)), nullptr,
                     {}));
  }
  show_accesses(reads, written, code);
  return code;
}

} // namespace tilewright
