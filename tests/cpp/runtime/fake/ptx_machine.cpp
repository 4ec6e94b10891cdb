// Instructions of PTX, carried out.
#include "ptx.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace fake_driver {

using namespace tilewright::cuda;

namespace {

struct Fault {
  Result result;
};

template <class T>
T as(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

[[noreturn]] void unknown(const std::string &text) {
  std::fprintf(stderr, "the test double of libcuda does not know: %s\n", text.c_str());
  throw Fault{IllegalInstruction};
}

/// `use` of a number of the named type.
template <class Use>
auto with_type(const std::string &type, const std::string &text, const Use &use) {
  const char kind = type[0];
  const int bits = std::atoi(type.c_str() + 1);
  if (kind == 'f') {
    return bits == 64 ? use(double{}) : bits == 32 ? use(float{}) : (unknown(text), use(0.0));
  }
  if (kind == 's') {
    return bits == 64   ? use(std::int64_t{})
           : bits == 32 ? use(std::int32_t{})
           : bits == 16 ? use(std::int16_t{})
                        : use(std::int8_t{});
  }
  if (kind == 'u' || kind == 'b') {
    return bits == 64   ? use(std::uint64_t{})
           : bits == 32 ? use(std::uint32_t{})
           : bits == 16 ? use(std::uint16_t{})
                        : use(std::uint8_t{});
  }
  if (type == "pred") {
    return use(std::uint8_t{});
  }
  unknown(text);
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

template <class T>
bool compare(const std::string &how, T a, T b, const std::string &text) {
  if constexpr (std::is_floating_point_v<T>) {
    if (how.size() == 3 && how[2] == 'u') { // or one of them is NaN
      return is_nan(a) || is_nan(b) || compare(how.substr(0, 2), a, b, text);
    }
    if (how == "nan" || how == "num") {
      return (is_nan(a) || is_nan(b)) == (how == "nan");
    }
    if (how == "ne") {
      return a < b || a > b;
    }
  }
  return how == "eq"                  ? a == b
         : how == "ne"                ? a != b
         : how == "lt" || how == "lo" ? a < b
         : how == "le" || how == "ls" ? a <= b
         : how == "gt" || how == "hi" ? a > b
         : how == "ge" || how == "hs" ? a >= b
                                      : (unknown(text), false);
}

template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

/// The operations of two or three numbers of one type.
template <class T>
T computed(const std::string &name, T a, T b, T c, const std::string &text) {
  using W = Wrapping<T>;
  if (name == "add") {
    return static_cast<T>(W(a) + W(b));
  }
  if (name == "sub") {
    return static_cast<T>(W(a) - W(b));
  }
  if (name == "mul") {
    return static_cast<T>(W(a) * W(b));
  }
  if (name == "neg") {
    return static_cast<T>(-W(a));
  }
  if (name == "min" || name == "max") {
    const bool first = name == "min" ? a < b : b < a;
    return is_nan(a) ? b : is_nan(b) || first ? a : b;
  }
  if constexpr (std::is_integral_v<T>) {
    if (name == "mad") {
      return static_cast<T>(W(a) * W(b) + W(c));
    }
    if (name == "div" || name == "rem") {
      if (b == 0) {
        return static_cast<T>(-1);
      }
      return static_cast<T>(name == "div" ? a / b : a % b);
    }
    if (name == "abs") {
      return a < T{} ? static_cast<T>(-W(a)) : a;
    }
    if (name == "and") {
      return static_cast<T>(a & b);
    }
    if (name == "or") {
      return static_cast<T>(a | b);
    }
    if (name == "xor") {
      return static_cast<T>(a ^ b);
    }
  } else {
    if (name == "fma") {
      return std::fma(a, b, c);
    }
    if (name == "div") {
      return a / b;
    }
    if (name == "sqrt") {
      return std::sqrt(a);
    }
    if (name == "ex2") {
      const T power = std::exp2(a);
      return std::fpclassify(power) == FP_SUBNORMAL ? T{0} : power; // of .ftz
    }
    if (name == "rcp") {
      return T{1} / a;
    }
    if (name == "abs") {
      return std::fabs(a);
    }
    if (name == "copysign") { // the sign is the first one's
      return std::copysign(b, a);
    }
  }
  unknown(text);
}

/// A float as an integer: what does not fit ends at the type's range, NaN is 0.
template <class To, class From>
To saturated(From value) {
  if (is_nan(value)) {
    return 0;
  }
  const auto low = static_cast<From>(std::numeric_limits<To>::min());
  const auto high = static_cast<From>(std::numeric_limits<To>::max());
  return value <= low    ? std::numeric_limits<To>::min()
         : value >= high ? std::numeric_limits<To>::max()
                         : static_cast<To>(value);
}

} // namespace

class PtxKernel::Machine {
public:
  Machine(const PtxKernel &kernel, const PtxLaunch &launch, std::array<unsigned, 3> block_number)
      : code_(&kernel), launch_(launch), block_number_(block_number), shared_(launch.shared_bytes) {
  }

  void run() {
    const auto &size = launch_.block;
    std::vector<Thread> threads(std::size_t{size[0]} * size[1] * size[2]);
    for (Thread &thread : threads) {
      prepare(thread);
      for (std::size_t p = 0; p < code_->own_parameters_; ++p) {
        std::memcpy(thread.parameters[p].data(), launch_.arguments[p], 8);
      }
    }
    for (bool waiting = true; waiting;) {
      waiting = false;
      for (std::size_t t = 0; t < threads.size(); ++t) {
        thread_ = &threads[t];
        const auto own = static_cast<unsigned>(t);
        thread_number_ = {own % size[0], own / size[0] % size[1], own / size[0] / size[1]};
        if (!thread_->is_done) {
          go_on();
          waiting = waiting || !thread_->is_done;
        }
      }
      const auto done = [](const Thread &thread) { return thread.is_done; };
      if (waiting && std::any_of(threads.begin(), threads.end(), done)) {
        throw Fault{LaunchTimeout};
      }
    }
  }

private:
  using Kind = Operand::Kind;

  void prepare(Thread &thread) const {
    thread.registers.resize(code_->registers_.size());
    thread.parameters.resize(code_->parameters_.size());
    thread.local.resize(code_->local_bytes_);
  }

  /// A function, which waits for nobody.
  void call(const Instruction &call) {
    const PtxKernel *outer_code = std::exchange(code_, call.called);
    Thread inner;
    prepare(inner);
    for (std::size_t p = 0; p < call.given.size(); ++p) {
      inner.parameters[p] = thread_->parameters[call.given[p]];
    }
    Thread *outer = std::exchange(thread_, &inner);
    go_on();
    if (!inner.is_done) {
      unknown("a barrier in a function");
    }
    code_ = outer_code;
    thread_ = outer;
    if (!call.results.empty()) {
      const int result = call.called->parameters_.at(result_name);
      outer->parameters[call.results[0]] = inner.parameters[static_cast<std::size_t>(result)];
    }
  }

  /// To the next barrier, or to the end.
  void go_on() {
    while (true) {
      const Instruction &next = code_->code_.at(thread_->at++);
      if (next.guard >= 0 && (number(next.guard) != 0) == next.guard_is_negated) {
        continue;
      }
      const std::string &name = next.words[0];
      if (name == "bra") {
        thread_->at = next.target;
      } else if (name == "call") {
        call(next);
      } else if (name == "ret" || name == "exit") {
        thread_->is_done = true;
        return;
      } else if (name == "bar" || name == "barrier") {
        return;
      } else {
        execute(next);
      }
    }
  }

  std::uint64_t &number(std::uint64_t at) { return thread_->registers[at]; }

  std::uint64_t value(const Operand &operand) {
    switch (operand.kind) {
    case Kind::Register:
      return number(operand.value) + static_cast<std::uint64_t>(operand.offset);
    case Kind::Special:
      return operand.value < 3   ? thread_number_[operand.value]
             : operand.value < 6 ? block_number_[operand.value - 3]
                                 : launch_.block[operand.value - 6];
    case Kind::Shared:
      return reinterpret_cast<std::uint64_t>(shared_.data()) +
             static_cast<std::uint64_t>(operand.offset);
    case Kind::Local:
      return reinterpret_cast<std::uint64_t>(thread_->local.data()) +
             static_cast<std::uint64_t>(operand.offset);
    default:
      return operand.value;
    }
  }

  char *memory(std::uint64_t address, std::size_t bytes) {
    const auto lies_in = [&](const std::vector<char> &own) {
      const auto begin = reinterpret_cast<std::uint64_t>(own.data());
      return address >= begin && address + bytes <= begin + own.size();
    };
    if (address % bytes != 0) {
      throw Fault{MisalignedAddress};
    }
    if (!lies_in(shared_) && !lies_in(thread_->local) && !launch_.is_memory(address, bytes)) {
      throw Fault{IllegalAddress};
    }
    return reinterpret_cast<char *>(address);
  }

  void move(const Instruction &move) {
    const bool loads = move.words[0] == "ld";
    const Operand &place = move.operands[loads ? 1 : 0];
    const Operand &what = move.operands[loads ? 0 : 1];
    const std::string &type = move.words.back();
    const auto bytes = static_cast<std::size_t>(std::atoi(type.c_str() + 1)) / 8;
    std::vector<int> registers = what.group;
    if (registers.empty() && what.kind == Kind::Register) {
      registers.push_back(static_cast<int>(what.value));
    }
    const std::size_t count = std::max<std::size_t>(1, registers.size());
    char *at = place.kind == Kind::Parameter
                   ? thread_->parameters[place.value].data() + place.offset
                   : memory(value(place), bytes * count);
    for (std::size_t each = 0; each < count; ++each, at += bytes) {
      if (!loads) {
        const std::uint64_t stored =
            registers.empty() ? value(what) : number(static_cast<std::uint64_t>(registers[each]));
        std::memcpy(at, &stored, bytes);
        continue;
      }
      number(static_cast<std::uint64_t>(registers[each])) =
          with_type(type, move.text, [&](auto of) {
            std::memcpy(&of, at, bytes);
            if constexpr (std::is_integral_v<decltype(of)>) {
              return static_cast<std::uint64_t>(of);
            } else {
              return bits_of(of);
            }
          });
    }
  }

  void convert(const Instruction &convert) {
    const std::string &from = convert.words.back();
    const std::string &to = convert.words[convert.words.size() - 2];
    const std::string &how = convert.words[1];
    const std::uint64_t given = value(convert.operands[1]);
    number(convert.operands[0].value) = with_type(from, convert.text, [&](auto source) {
      using From = decltype(source);
      From a = as<From>(given);
      if constexpr (std::is_floating_point_v<From>) {
        a = how == "rni"   ? std::nearbyint(a)
            : how == "rzi" ? std::trunc(a)
            : how == "rmi" ? std::floor(a)
            : how == "rpi" ? std::ceil(a)
                           : a;
      }
      return with_type(to, convert.text, [&](auto target) {
        using To = decltype(target);
        if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
          return bits_of(saturated<To>(a));
        } else {
          return bits_of(static_cast<To>(a));
        }
      });
    });
  }

  void shift(const Instruction &shift) {
    const std::uint64_t by = value(shift.operands[2]) & 0xffffffff;
    number(shift.operands[0].value) = with_type(shift.words.back(), shift.text, [&](auto of) {
      using T = decltype(of);
      if constexpr (std::is_integral_v<T>) {
        const T a = as<T>(value(shift.operands[1]));
        const std::uint64_t most = 8 * sizeof(T) - 1;
        if (shift.words[0] == "shl") {
          return bits_of(static_cast<T>(by > most ? T{} : static_cast<T>(std::uint64_t(a) << by)));
        }
        return bits_of(static_cast<T>(by > most ? (a < T{} ? T(-1) : T{}) : a >> by));
      } else {
        unknown(shift.text);
        return given_nothing;
      }
    });
  }

  /// The exchange that claims a place: atom.cas, and the sums that need one step.
  void update(const Instruction &update) {
    with_type(update.words.back(), update.text, [&](auto of) {
      using T = decltype(of);
      char *at = memory(value(update.operands[1]), sizeof(T));
      T old;
      std::memcpy(&old, at, sizeof old);
      const T a = as<T>(value(update.operands[2]));
      const auto has = [&](const char *word) {
        return std::find(update.words.begin(), update.words.end(), word) != update.words.end();
      };
      const T made = has("cas")    ? (old == a ? as<T>(value(update.operands[3])) : old)
                     : has("exch") ? a
                     : has("add")  ? computed<T>("add", old, a, T{}, update.text)
                     : has("min")  ? std::min(old, a)
                     : has("max")  ? std::max(old, a)
                                   : (unknown(update.text), old);
      std::memcpy(at, &made, sizeof made);
      if (update.operands[0].kind == Kind::Register) {
        number(update.operands[0].value) = bits_of(old);
      }
      return given_nothing;
    });
  }

  void execute(const Instruction &next) {
    const std::string &name = next.words[0];
    const std::string &type = next.words.back();
    const auto &operands = next.operands;
    if (name == "ld" || name == "st") {
      move(next);
    } else if (name == "mov" && operands[0].kind == Kind::Register &&
               operands[1].kind != Kind::Group) {
      number(operands[0].value) = value(operands[1]);
    } else if (name == "cvta") { // an address is one in all spaces
      number(operands[0].value) = value(operands[1]);
    } else if (name == "cvt") {
      convert(next);
    } else if (name == "shl" || name == "shr") {
      shift(next);
    } else if (name == "atom" || name == "red") {
      update(next);
    } else if (name == "membar" || name == "fence") {
      return;
    } else if (name == "selp") {
      number(operands[0].value) = value(operands[value(operands[3]) != 0 ? 1 : 2]);
    } else if (name == "setp" && next.words.size() == 3) {
      number(operands[0].value) = with_type(type, next.text, [&](auto of) {
        using T = decltype(of);
        return bits_of(std::uint8_t{compare(next.words[1], as<T>(value(operands[1])),
                                            as<T>(value(operands[2])), next.text)});
      });
    } else if (name == "not") {
      number(operands[0].value) = type == "pred" ? value(operands[1]) == 0 : ~value(operands[1]);
    } else if (next.words.size() > 1 && next.words[1] == "wide") {
      const auto wide = [&](const Operand &operand) {
        return type[0] == 's'
                   ? static_cast<std::uint64_t>(std::int64_t{as<std::int32_t>(value(operand))})
                   : value(operand) & 0xffffffff;
      };
      if (type != "s32" && type != "u32") {
        unknown(next.text);
      }
      number(operands[0].value) =
          wide(operands[1]) * wide(operands[2]) + (name == "mad" ? value(operands[3]) : 0);
    } else if (next.words.size() > 1 && next.words[1] == "hi") {
      number(operands[0].value) = with_type(type, next.text, [&](auto of) {
        using T = decltype(of);
        if constexpr (std::is_integral_v<T>) {
          const auto wide = static_cast<__int128>(as<T>(value(operands[1]))) *
                            static_cast<__int128>(as<T>(value(operands[2])));
          return name == "mul" ? bits_of(static_cast<T>(wide >> (8 * sizeof(T))))
                               : (unknown(next.text), given_nothing);
        } else {
          unknown(next.text);
          return given_nothing;
        }
      });
    } else {
      number(operands[0].value) = with_type(type, next.text, [&](auto of) {
        using T = decltype(of);
        const auto at = [&](std::size_t o) {
          return o < operands.size() ? as<T>(value(operands[o])) : T{};
        };
        return bits_of(computed<T>(name, at(1), at(2), at(3), next.text));
      });
    }
  }

  static constexpr std::uint64_t given_nothing = 0;

  const PtxKernel *code_; ///< the kernel, or a function that it calls
  const PtxLaunch &launch_;
  std::array<unsigned, 3> block_number_;
  std::array<unsigned, 3> thread_number_{};
  std::vector<char> shared_;
  Thread *thread_ = nullptr;
};

Result PtxKernel::run(const PtxLaunch &launch) const {
  try {
    std::array<unsigned, 3> block{};
    for (block[2] = 0; block[2] < launch.grid[2]; ++block[2]) {
      for (block[1] = 0; block[1] < launch.grid[1]; ++block[1]) {
        for (block[0] = 0; block[0] < launch.grid[0]; ++block[0]) {
          Machine(*this, launch, block).run();
        }
      }
    }
  } catch (const Fault &fault) {
    return fault.result;
  }
  return Success;
}

} // namespace fake_driver
