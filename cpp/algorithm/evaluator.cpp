#include "algorithm/evaluator.h"

#include "algorithm/call_evaluation.h"
#include "algorithm/evaluator_domain.h"
#include "algorithm/evaluator_program.h"
#include "algorithm/expression_depth.h"
#include "polyhedral/counted.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilewright {

namespace {

/// isl finds the elements of each domain once; the values are found without it.
constexpr std::uint64_t evaluation_operation_limit = 100'000'000;

constexpr std::int64_t max_instances = std::int64_t{1} << 27;

enum class State : std::uint8_t { Absent, InProgress, Done };

struct CompiledPiece {
  DomainTest domain;
  InstanceProgram program;
  const Piece *piece;
};

/// An input with its view, or a computation with its pieces and the values computed so far.
struct Target {
  const Computation *computation = nullptr;
  const ArrayView *view = nullptr; ///< inputs only
  bool prepared = false;
  std::vector<CompiledPiece> pieces;
  Box box;
  std::vector<State> states;
  std::vector<ScalarValue> values;
};

/// One instance that waits for its value; its registers lie in the common stack from `base`.
struct Frame {
  std::int32_t target = 0;
  std::int32_t piece = 0;
  std::int32_t counter = 0;
  std::int64_t offset = 0;
  size_t base = 0;
};

std::string instance_text(const std::string &name, std::span<const std::int64_t> point) {
  std::string text = name + "[";
  for (size_t i = 0; i < point.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(point[i]);
  }
  return text + "]";
}

std::string shape_text(const std::vector<std::int64_t> &extents) {
  std::string text = "(";
  for (size_t i = 0; i < extents.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(extents[i]);
  }
  return text + (extents.size() == 1 ? ",)" : ")");
}

class Evaluation {
public:
  /// Error(Limit) ends an evaluation of a computation with more points, or with more reads.
  Evaluation(const std::map<std::string, std::int64_t> &parameters,
             const std::map<std::string, ArrayView> &inputs,
             std::int64_t max_points = max_instances,
             std::uint64_t max_reads = std::numeric_limits<std::uint64_t>::max())
      : parameters_(parameters), inputs_(inputs), max_points_(max_points), reads_left_(max_reads) {}

  /// Computes every instance of an output; stores nothing yet.
  void compute(const ComputationPtr &output) {
    const std::int32_t number = number_of(output);
    prepare(number);
    Target &target = targets_[static_cast<size_t>(number)];
    std::vector<std::int64_t> point(output->rank());
    for (std::int64_t offset = 0; offset < target.box.points; ++offset) {
      if (target.states[static_cast<size_t>(offset)] != State::Absent) {
        continue;
      }
      target.box.point_at(offset, point);
      if (const std::int32_t piece = piece_of(target, point); piece >= 0) {
        enter(number, piece, offset, point);
        run();
      }
    }
  }

  /// The first element of a bool computation of one iterator that holds; no later one is computed.
  std::optional<std::int64_t> first_that_holds(const ComputationPtr &test) {
    const std::int32_t number = number_of(test);
    prepare(number);
    std::vector<std::int64_t> point(1);
    for (std::int64_t offset = 0; offset < targets_[static_cast<size_t>(number)].box.points;
         ++offset) {
      Target &target = targets_[static_cast<size_t>(number)];
      target.box.point_at(offset, point);
      if (target.states[static_cast<size_t>(offset)] == State::Absent) {
        enter(number, piece_of(target, point), offset, point);
        run();
      }
      if (targets_[static_cast<size_t>(number)].values[static_cast<size_t>(offset)].u != 0) {
        return point[0];
      }
    }
    return std::nullopt;
  }

  void store(const ComputationPtr &output, const ArrayView &view) {
    Target &target = targets_[static_cast<size_t>(number_of(output))];
    check_view(*output, view, "output");
    std::vector<std::int64_t> point(output->rank());
    for (std::int64_t offset = 0; offset < target.box.points; ++offset) {
      if (target.states[static_cast<size_t>(offset)] != State::Done) {
        continue;
      }
      target.box.point_at(offset, point);
      char *address = static_cast<char *>(view.data);
      for (size_t i = 0; i < point.size(); ++i) {
        if (point[i] < 0 || point[i] >= view.extents[i]) {
          throw Error(ErrorKind::Index,
                      "output '" + output->name + "' has shape " + shape_text(view.extents) +
                          ", which has no place for " + instance_text(output->name, point) +
                          with_parameters(),
                      output->where);
        }
        address += point[i] * view.strides[i];
      }
      store_value(output->type, address, target.values[static_cast<size_t>(offset)]);
    }
  }

private:
  static void check_view(const Computation &computation, const ArrayView &view,
                         const std::string &role) {
    if (view.extents.size() != computation.rank() || view.strides.size() != computation.rank()) {
      throw Error(ErrorKind::Argument, role + " '" + computation.name + "' has " +
                                           counted(computation.rank(), "dimension") +
                                           ", but the array given has " +
                                           std::to_string(view.extents.size()));
    }
  }

  std::int32_t number_of(const ComputationPtr &computation) {
    const auto [entry, added] =
        numbers_.emplace(computation.get(), static_cast<std::int32_t>(targets_.size()));
    if (added) {
      Target target;
      target.computation = computation.get();
      if (computation->is_input) {
        const auto given = inputs_.find(computation->name);
        if (given == inputs_.end()) {
          throw Error(ErrorKind::Argument,
                      "input '" + computation->name + "' was not given an array");
        }
        check_view(*computation, given->second, "input");
        target.view = &given->second;
        target.prepared = true;
      }
      targets_.push_back(std::move(target));
    }
    return entry->second;
  }

  void prepare(std::int32_t number) {
    Target &target = targets_[static_cast<size_t>(number)];
    if (target.prepared) {
      return;
    }
    target.prepared = true;
    const Computation &computation = *target.computation;
    std::optional<isl::set> all;
    const std::function<std::int32_t(const ComputationPtr &)> numbering =
        [this](const ComputationPtr &producer) { return number_of(producer); };
    for (const Piece &piece : computation.pieces) {
      const isl::set domain = fix_parameters(piece.domain, parameters_);
      if (static_cast<size_t>(isl_set_dim(domain.get(), isl_dim_set)) != computation.rank()) {
        throw Error(ErrorKind::Internal,
                    "a piece of '" + computation.name + "' has another rank than its computation");
      }
      if (checked(domain.is_empty(), "testing a domain for emptiness")) {
        continue;
      }
      all = all ? checked(all->unite(domain), "the domain of a computation") : domain;
      target.pieces.push_back(
          {DomainTest(domain),
           compile_program(piece.value, computation.iterators, parameters_, numbering), &piece});
    }
    if (all) {
      target.box =
          bounding_box(*all, max_points_, "'" + computation.name + "'" + with_parameters());
    } else {
      target.box.lower.assign(computation.rank(), 0);
      target.box.extent.assign(computation.rank(), 0);
    }
    target.states.assign(static_cast<size_t>(target.box.points), State::Absent);
    target.values.resize(static_cast<size_t>(target.box.points));
  }

  static std::int32_t piece_of(Target &target, std::span<const std::int64_t> point) {
    for (size_t i = 0; i < target.pieces.size(); ++i) {
      if (target.pieces[i].domain.contains(point)) {
        return static_cast<std::int32_t>(i);
      }
    }
    return -1;
  }

  void enter(std::int32_t number, std::int32_t piece, std::int64_t offset,
             std::span<const std::int64_t> point) {
    Target &target = targets_[static_cast<size_t>(number)];
    Frame frame;
    frame.target = number;
    frame.piece = piece;
    frame.offset = offset;
    frame.base = registers_.size();
    const InstanceProgram &program = target.pieces[static_cast<size_t>(piece)].program;
    registers_.resize(frame.base + static_cast<size_t>(program.registers));
    for (size_t i = 0; i < point.size(); ++i) {
      registers_[frame.base + i].i = point[i];
    }
    target.states[static_cast<size_t>(offset)] = State::InProgress;
    frames_.push_back(frame);
  }

  /// The topmost instance has its value.
  void leave(Target &target, const Frame &frame, ScalarValue value) {
    target.values[static_cast<size_t>(frame.offset)] = value;
    target.states[static_cast<size_t>(frame.offset)] = State::Done;
    registers_.resize(frame.base);
    frames_.pop_back();
  }

  /// Runs until the stack of waiting instances is empty.
  void run() {
    while (!frames_.empty()) {
      step(frames_.back());
    }
  }

  /// Runs the topmost instance until it is done or waits for another one, which then lies above it.
  void step(Frame &frame) {
    check_interruption();
    Target &target = targets_[static_cast<size_t>(frame.target)];
    const InstanceProgram &program = target.pieces[static_cast<size_t>(frame.piece)].program;
    ScalarValue *registers = registers_.data() + frame.base;
    const auto read = [&](std::int32_t number) -> const ScalarValue & {
      return number >= 0 ? registers[number] : program.constants[static_cast<size_t>(~number)];
    };
    std::int32_t counter = frame.counter;
    while (true) {
      const Instruction &instruction = program.code[static_cast<size_t>(counter)];
      switch (instruction.code) {
      case InstructionCode::Unary:
        instruction.unary(read(instruction.a), registers[instruction.out]);
        break;
      case InstructionCode::Binary:
        instruction.binary(read(instruction.a), read(instruction.b), registers[instruction.out]);
        break;
      case InstructionCode::Load: {
        const InstanceRead &site = program.reads[static_cast<size_t>(instruction.target)];
        take_subscripts(site, read);
        frame.counter = counter; // comes back to this read when it has to wait
        if (!load(site, registers[instruction.out])) {
          return;
        }
        break;
      }
      case InstructionCode::Extern: {
        const ExternCall &call = program.calls[static_cast<size_t>(instruction.target)];
        for (const std::int32_t argument : call.arguments) {
          calls_.push(read(argument));
        }
        registers[instruction.out] = calls_.call(call, registers, frames_.size());
        break;
      }
      case InstructionCode::Move:
        registers[instruction.out] = read(instruction.a);
        break;
      case InstructionCode::Jump:
        check_interruption();
        counter = instruction.target;
        continue;
      case InstructionCode::JumpUnless:
        if (read(instruction.a).u == 0) {
          counter = instruction.target;
          continue;
        }
        break;
      case InstructionCode::LoopTest:
        if (read(instruction.a).i >= read(instruction.b).i) {
          counter = instruction.target;
          continue;
        }
        break;
      case InstructionCode::Next:
        ++registers[instruction.out].i;
        break;
      case InstructionCode::CountIteration:
        if (++registers[instruction.out].i > max_iterations) {
          report_endless();
        }
        break;
      case InstructionCode::Extremum:
        update_extremum(instruction, read(instruction.a), read(instruction.b),
                        registers + instruction.out);
        break;
      case InstructionCode::Check:
        require_inside(program, instruction, read(instruction.a).i, read(instruction.b).i);
        break;
      case InstructionCode::Nothing:
        report_nothing();
      case InstructionCode::Return:
        leave(target, frame, read(instruction.a));
        return;
      }
      ++counter;
    }
  }

  template <class Read>
  void take_subscripts(const InstanceRead &site, const Read &read) {
    subscripts_.clear();
    for (const std::int32_t subscript : site.subscripts) {
      subscripts_.push_back(read(subscript).i);
    }
  }

  /// Gives the value of a read, or makes its producer's instance the topmost one and answers false.
  bool load(const InstanceRead &site, ScalarValue &out) {
    if (reads_left_-- == 0) {
      throw Error(ErrorKind::Limit, "the evaluation takes too many reads");
    }
    const auto index = static_cast<size_t>(site.target);
    if (targets_[index].view != nullptr) {
      load_input(targets_[index], site, out);
      return true;
    }
    prepare(site.target);
    Target &target = targets_[index];
    const std::int64_t offset = has_wide_subscript(site) ? -1 : target.box.offset(subscripts_);
    const State state = offset < 0 ? State::Absent : target.states[static_cast<size_t>(offset)];
    if (state == State::Done) {
      out = target.values[static_cast<size_t>(offset)];
      return true;
    }
    if (state == State::InProgress) {
      report_cycle(site.target, offset);
    }
    const std::int32_t piece = offset < 0 ? -1 : piece_of(target, subscripts_);
    if (piece < 0) {
      const std::string instance = read_text(target, site);
      Error error(ErrorKind::Index,
                  current_instance() + " reads " + instance + ", which no piece of '" +
                      target.computation->name + "' defines" + with_parameters(),
                  site.access->where.known() ? site.access->where : current_piece().where);
      error.details["instance"] = current_instance();
      error.details["read"] = instance;
      throw error;
    }
    enter(site.target, piece, offset, subscripts_);
    return false;
  }

  /// Whether some subscript, of an unsigned type, is 2**63 or more.
  bool has_wide_subscript(const InstanceRead &site) const {
    for (size_t i = 0; i < subscripts_.size(); ++i) {
      if (subscripts_[i] < 0 && is_wide_unsigned(*site.access->operands[i])) {
        return true;
      }
    }
    return false;
  }

  void load_input(const Target &target, const InstanceRead &site, ScalarValue &out) const {
    const ArrayView &view = *target.view;
    const char *address = static_cast<const char *>(view.data);
    for (size_t i = 0; i < subscripts_.size(); ++i) {
      if (subscripts_[i] < 0 || subscripts_[i] >= view.extents[i]) {
        const std::string instance = read_text(target, site);
        const bool is_negative = subscripts_[i] < 0 && !is_wide_unsigned(*site.access->operands[i]);
        Error error(ErrorKind::Index,
                    current_instance() + " reads " + instance + ", outside '" +
                        target.computation->name + "' of shape " + shape_text(view.extents) +
                        (is_negative ? " (negative subscripts do not count from the end)" : "") +
                        with_parameters(),
                    site.access->where.known() ? site.access->where : current_piece().where);
        error.details["instance"] = current_instance();
        error.details["read"] = instance;
        throw error;
      }
      address += subscripts_[i] * view.strides[i];
    }
    out = load_value(target.computation->type, address);
  }

  /// What is read, with unsigned subscripts as they are.
  std::string read_text(const Target &target, const InstanceRead &site) const {
    std::string text = target.computation->name + "[";
    for (size_t i = 0; i < subscripts_.size(); ++i) {
      text +=
          (i == 0 ? "" : ",") + (is_wide_unsigned(*site.access->operands[i])
                                     ? std::to_string(static_cast<std::uint64_t>(subscripts_[i]))
                                     : std::to_string(subscripts_[i]));
    }
    return text + "]";
  }

  std::string text_of(std::int32_t number, std::int64_t offset) const {
    const Target &target = targets_[static_cast<size_t>(number)];
    std::vector<std::int64_t> point(target.box.extent.size());
    target.box.point_at(offset, point);
    return instance_text(target.computation->name, point);
  }
  std::string current_instance() const {
    return text_of(frames_.back().target, frames_.back().offset);
  }
  const Piece &current_piece() const {
    const Frame &frame = frames_.back();
    return *targets_[static_cast<size_t>(frame.target)]
                .pieces[static_cast<size_t>(frame.piece)]
                .piece;
  }

  std::string with_parameters() const {
    std::string text;
    for (const auto &[name, value] : parameters_) {
      text += (text.empty() ? " (with " : ", ") + name + " = " + std::to_string(value);
    }
    return text.empty() ? text : text + ")";
  }

  [[noreturn]] void report_endless() const {
    throw Error(ErrorKind::Limit,
                current_instance() + " has a while_loop that does not end within " +
                    std::to_string(max_iterations) + " iterations" + with_parameters() +
                    "; give it a limit= if that is meant",
                current_piece().where);
  }

  /// Data left out an element that a reader asks for.
  [[noreturn]] void report_nothing() const {
    throw Error(ErrorKind::Index,
                current_instance() + " does not exist: its conditions do not hold" +
                    with_parameters(),
                current_piece().where);
  }

  void require_inside(const InstanceProgram &program, const Instruction &instruction,
                      std::int64_t subscript, std::int64_t extent) const {
    if (subscript >= 0 && subscript < extent) {
      return;
    }
    const Expr &check = *program.checks[static_cast<size_t>(instruction.target)];
    Error error(ErrorKind::Index,
                current_instance() + " asks for " + outside_text(check, subscript, extent) +
                    with_parameters(),
                check.where.known() ? check.where : current_piece().where);
    error.details["instance"] = current_instance();
    error.details["read"] = index_text(check);
    throw error;
  }

  /// The instance that is waited for already waits itself: the frames from it to the top are the
  /// circle.
  [[noreturn]] void report_cycle(std::int32_t number, std::int64_t offset) const {
    size_t first = frames_.size() - 1;
    while (first > 0 && (frames_[first].target != number || frames_[first].offset != offset)) {
      --first;
    }
    const size_t length = frames_.size() - first;
    const std::string name = text_of(number, offset);
    std::string chain;
    for (size_t i = 0; i < length; ++i) {
      if (length > 7 && i == 4) {
        const size_t left_out = length - 6;
        chain += "... (" + std::to_string(left_out) + " more) -> ";
        i += left_out;
      }
      chain += text_of(frames_[first + i].target, frames_[first + i].offset) + " -> ";
    }
    chain += name;
    const Frame &frame = frames_[first];
    const Target &target = targets_[static_cast<size_t>(number)];
    Error error(ErrorKind::Cycle,
                "computation '" + target.computation->name + "' needs its own value at " + name +
                    with_parameters() + ": " + chain,
                target.pieces[static_cast<size_t>(frame.piece)].piece->where);
    error.details["computation"] = target.computation->name;
    error.details["point"] = name;
    error.details["chain"] = chain;
    throw error;
  }

  const std::map<std::string, std::int64_t> &parameters_;
  const std::map<std::string, ArrayView> &inputs_;
  std::int64_t max_points_;
  std::uint64_t reads_left_;
  std::deque<Target> targets_;
  std::unordered_map<const Computation *, std::int32_t> numbers_;
  std::vector<Frame> frames_;
  std::vector<ScalarValue> registers_;
  std::vector<std::int64_t> subscripts_;
  CallEvaluation calls_;
};

ComputationPtr find_computation(const Function &function, const std::string &name) {
  for (const std::vector<ComputationPtr> *list : {&function.outputs, &function.computations}) {
    for (const ComputationPtr &computation : *list) {
      if (computation->name == name && !computation->is_input) {
        return computation;
      }
    }
  }
  throw Error(ErrorKind::Argument,
              "function '" + function.name + "' computes nothing named '" + name + "'");
}

/// With the iterations that a function makes that iterates until its data say so, where so far the
/// most are given. The first iterations are the same however many there are: each attempt may make
/// twice as many as the one before.
std::map<std::string, std::int64_t>
with_iterations(const Function &function, std::map<std::string, std::int64_t> parameters,
                const std::map<std::string, ArrayView> &inputs,
                std::int64_t max_points = max_instances,
                std::uint64_t max_reads = std::numeric_limits<std::uint64_t>::max()) {
  if (!function.stop) {
    return parameters;
  }
  std::int64_t &iterations = parameters[function.stop->parameter];
  const std::int64_t most = iterations;
  for (iterations = std::min<std::int64_t>(most, 4);; iterations = std::min(most, 2 * iterations)) {
    Evaluation evaluation(parameters, inputs, max_points, max_reads);
    const ComputationPtr test = find_computation(function, function.stop->test->name);
    if (const std::optional<std::int64_t> last = evaluation.first_that_holds(test)) {
      iterations = *last + 1;
      return parameters;
    }
    if (iterations == most) {
      return parameters;
    }
  }
}

} // namespace

void evaluate(const Function &function, const std::map<std::string, std::int64_t> &given,
              const std::map<std::string, ArrayView> &inputs,
              const std::map<std::string, ArrayView> &outputs) {
  require_stack(function);
  const OperationLimit limit(evaluation_operation_limit);
  const auto parameters = with_iterations(function, given, inputs);
  Evaluation evaluation(parameters, inputs);
  for (const auto &[name, view] : outputs) {
    evaluation.compute(find_computation(function, name));
  }
  // Only now, so that an output may share memory with an input.
  for (const auto &[name, view] : outputs) {
    evaluation.store(find_computation(function, name), view);
  }
}

std::optional<FailingRead> find_failing_read(const Function &function,
                                             const std::map<std::string, std::int64_t> &given,
                                             const std::map<std::string, ArrayView> &inputs) {
  constexpr std::int64_t max_points = 1 << 21;
  constexpr std::uint64_t max_reads = 1 << 22;
  require_stack(function);
  const OperationLimit limit(evaluation_operation_limit);
  try {
    const auto parameters = with_iterations(function, given, inputs, max_points, max_reads);
    Evaluation evaluation(parameters, inputs, max_points, max_reads);
    for (const ComputationPtr &output : function.outputs) {
      evaluation.compute(output);
    }
  } catch (const Error &error) {
    const auto instance = error.details.find("instance");
    const auto read = error.details.find("read");
    if (error.kind == ErrorKind::Index && instance != error.details.end() &&
        read != error.details.end()) {
      return FailingRead{instance->second, read->second};
    }
  }
  return std::nullopt;
}

} // namespace tilewright
