#include "algorithm/call_evaluation.h"

#include <algorithm>

namespace tilewright {

namespace {

/// A part without gaps.
struct Part {
  ScalarType type;
  std::vector<std::int64_t> extents;
  std::vector<char> bytes;

  size_t elements() const {
    size_t count = 1;
    for (const std::int64_t extent : extents) {
      count *= static_cast<size_t>(extent);
    }
    return count;
  }
  void allocate() { bytes.resize(elements() * static_cast<size_t>(type.bytes())); }
  /// The next elements of `values`.
  void fill(std::span<const ScalarValue> &values) {
    const auto size = static_cast<size_t>(type.bytes());
    for (size_t e = 0; e < elements(); ++e) {
      store_value(type, bytes.data() + e * size, values[e]);
    }
    values = values.subspan(elements());
  }
  BlockMemory memory(bool is_written) {
    BlockMemory seen{type, bytes.data(), extents, {}, is_written};
    seen.strides.resize(extents.size());
    std::int64_t stride = type.bytes();
    for (size_t d = extents.size(); d-- > 0;) {
      seen.strides[d] = stride;
      stride *= std::max<std::int64_t>(extents[d], 1);
    }
    return seen;
  }
};

std::vector<std::int64_t> integers(std::span<const ScalarValue> values) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(values.size());
  for (const ScalarValue &value : values) {
    numbers.push_back(value.i);
  }
  return numbers;
}

} // namespace

ScalarValue CallEvaluation::call(const ExternCall &site, const ScalarValue *iterators,
                                 size_t depth) {
  ScalarValue value;
  if (site.function == nullptr) {
    gathered_[depth].push_back(arguments_.front());
  } else if (!site.function->block) {
    value = site.function->call(arguments_);
  } else if (site.function->result_of_block >= 0) {
    value = element(*site.function);
  } else {
    value = run(*site.function, {iterators, site.function->block->instances.size()}, depth);
  }
  arguments_.clear();
  return value;
}

ScalarValue CallEvaluation::run(const ExternFunction &call, std::span<const ScalarValue> instance,
                                size_t depth) {
  std::span<const ScalarValue> arguments = arguments_;
  const BlockFunction &block = *call.block;
  const std::vector<ScalarValue> values = std::exchange(gathered_[depth], {});
  std::span<const ScalarValue> rest = values;
  const auto next_range = [&] {
    const std::int64_t extent = arguments[1].i - arguments[0].i;
    arguments = arguments.subspan(2);
    return std::max<std::int64_t>(extent, 0);
  };
  std::vector<Part> reads;
  for (size_t r = 0; r < block.read_ranks.size(); ++r) {
    Part part{block.read_types[r], {}, {}};
    for (size_t d = 0; d < block.read_ranks[r]; ++d) {
      part.extents.push_back(next_range());
    }
    part.allocate();
    part.fill(rest);
    reads.push_back(std::move(part));
  }
  std::vector<Part> results;
  for (const BlockResult &result : block.results) {
    Part part{result.type, {}, {}};
    if (result.initial) {
      for (size_t d = 0; d < result.extents.size(); ++d) {
        part.extents.push_back(next_range());
      }
      part.allocate();
      part.fill(rest);
    }
    results.push_back(std::move(part));
  }
  for (size_t r = 0; r < results.size(); ++r) {
    const size_t rank = block.results[r].extents.size();
    if (!block.results[r].initial) {
      results[r].extents = integers(arguments.first(rank));
      for (std::int64_t &extent : results[r].extents) {
        extent = std::max<std::int64_t>(extent, 0);
      }
      results[r].allocate();
    }
    arguments = arguments.subspan(rank);
  }
  std::vector<BlockMemory> parts;
  std::vector<ScalarValue> numbers;
  for (const BlockArgument &argument : block.arguments) {
    if (argument.kind == BlockArgument::Kind::Number) {
      numbers.push_back(arguments[argument.index]);
    } else {
      const bool is_written = argument.kind == BlockArgument::Kind::Result;
      parts.push_back((is_written ? results : reads)[argument.index].memory(is_written));
    }
  }
  ScalarValue code;
  code.i = block.run(parts, numbers);
  std::vector<Written> &kept = written_[{&block, integers(instance)}];
  for (Part &part : results) {
    kept.push_back({std::move(part.extents), std::move(part.bytes)});
  }
  return code;
}

ScalarValue CallEvaluation::element(const ExternFunction &result) const {
  const BlockFunction &block = *result.block;
  const std::vector<std::int64_t> iterators = integers(std::span(arguments_).subspan(1));
  const auto rank = static_cast<std::ptrdiff_t>(block.instances.size());
  const Written &written = written_.at({&block, {iterators.begin(), iterators.begin() + rank}})
                               .at(static_cast<size_t>(result.result_of_block));
  std::int64_t position = 0;
  for (size_t d = 0; d < written.extents.size(); ++d) {
    position = position * written.extents[d] + iterators[static_cast<size_t>(rank) + d];
  }
  return load_value(result.result, written.bytes.data() + position * result.result.bytes());
}

} // namespace tilewright
