#include "runtime/gpu_emulator.h"

#include "hardware/gpu.h"
#include "polyhedral/error.h"
#include "runtime/fibre.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

constexpr std::size_t alignment = 256;

enum Access : std::int32_t { Read = 0, Write = 1, Update = 2 };

std::string place_text(const std::array<std::int64_t, 3> &place) {
  return fmt::format("({}, {}, {})", place[0], place[1], place[2]);
}

std::array<std::int64_t, 3> place_of(std::int64_t number, const std::int64_t (&extents)[3]) {
  return {number % extents[0], number / extents[0] % extents[1], number / extents[0] / extents[1]};
}

const char *verb(std::int32_t kind) {
  return kind == Read ? "reads" : kind == Write ? "writes" : "updates";
}

/// Who touched an element last.
struct Touch {
  std::int64_t block = -1;
  std::int32_t thread = -1;
  std::int32_t epoch = -1; ///< barriers before it in its block
  std::int32_t kind = Read;
};

/// What is known of one element: its last write, and reads since: by another block than the latest
/// one, and two by different threads of the latest one.
struct Element {
  Touch write;
  Touch elsewhere;
  std::array<Touch, 2> reads;
};

/// What a thread waits for, and what it gives and gets where it does with its warp.
struct Wait {
  enum class For : std::uint8_t { Nothing, Barrier, Warp };
  For what = For::Nothing;
  std::int32_t number = 0; ///< the barrier, or the exchange
  const char *own = nullptr;
  std::int64_t bytes = 0;
  char *all = nullptr;
};

/// Bytes on their way to shared memory.
struct Copy {
  char *to = nullptr;
  std::int32_t bytes = 0;
  std::int32_t buffer = 0;
  std::array<char, 16> data{};
};

/// What one thread copies asynchronously.
struct Copies {
  std::vector<Copy> open; ///< of no group yet
  std::deque<std::vector<Copy>> groups;
};

/// One launch on the host.
class Launch {
public:
  Launch(const DeviceKernel &kernel, const LaunchShape &shape, const void *arguments,
         const std::map<const char *, std::int64_t> &allocations)
      : kernel_(kernel), shape_(shape), arguments_(arguments), allocations_(allocations),
        shared_(static_cast<std::size_t>(shape.shared_bytes) + alignment) {
    const auto address = reinterpret_cast<std::uintptr_t>(shared_.data());
    shared_base_ = shared_.data() + (alignment - address % alignment) % alignment;
  }

  void run() {
    const std::int64_t blocks = shape_.grid[0] * shape_.grid[1] * shape_.grid[2];
    const std::int64_t threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
    {
      const Current here(this);
      for (block_ = 0; block_ < blocks && !is_over(); ++block_) {
        run_block(threads);
        looks_up();
      }
    }
    if (is_interrupted_) {
      throw LaunchInterrupted{};
    }
    if (!problem_.empty()) {
      throw Error(ErrorKind::Device,
                  fmt::format("kernel {} on the emulator: {}", kernel_.name, problem_));
    }
  }

  static Launch *&current() {
    static thread_local Launch *launch = nullptr;
    return launch;
  }

  std::int64_t index(std::int32_t axis) const {
    const auto at = static_cast<std::size_t>(axis % 3);
    return axis < 3 ? place_of(block_, shape_.grid)[at] : place_of(thread_, shape_.block)[at];
  }
  void *shared() { return shared_base_; }
  std::size_t lane() const { return static_cast<std::size_t>(thread_) % warp_size; }

  void barrier(std::int32_t number) { wait({Wait::For::Barrier, number}); }

  void exchange(std::int32_t number, const char *own, std::int64_t bytes, char *all) {
    wait({Wait::For::Warp, number, own, bytes, all});
  }

  void access(const char *address, std::int64_t bytes, std::int32_t buffer, std::int32_t kind,
              std::int32_t alignment) {
    constexpr std::int64_t between_looks = 1 << 14;
    if (++accesses_ % between_looks == 0 && looks_up()) {
      fibres_[static_cast<std::size_t>(thread_)]->pause(); // for good
    }
    const EmulatedBuffer &of = kernel_.emulated->buffers[buffer];
    const char *base = base_of(of);
    if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) != 0) {
      fail(fmt::format("{} {} {} bytes of {} at an address that is no multiple of {}", here(),
                       verb(kind), bytes, of.name, alignment));
      return;
    }
    std::int64_t size = of.shared_bytes;
    const char *start = base;
    if (of.argument >= 0) {
      const auto found = containing(base);
      start = found.first;
      size = found.second;
    }
    if (start == nullptr || address < start || address + bytes > start + size) {
      fail(fmt::format("{} {} outside of {}: byte {} of {}", here(), verb(kind), of.name,
                       address - (start == nullptr ? base : start), size));
      return;
    }
    for (std::int64_t byte = 0; byte < bytes; byte += of.item_bytes) {
      touch(address + byte, of, (address + byte - base) / of.item_bytes, kind);
    }
  }

  /// The bytes are read now; when they are written is not known but that it is before the thread
  /// has waited for them, so both ends count as writes.
  void copy(char *to, const char *from, std::int32_t bytes, std::int32_t buffer,
            std::int32_t source) {
    access(from, bytes, source, Read, bytes);
    access(to, bytes, buffer, Write, bytes);
    Copy copy{to, bytes, buffer, {}};
    std::memcpy(copy.data.data(), from, static_cast<std::size_t>(bytes));
    std::memset(to, pattern, static_cast<std::size_t>(bytes));
    copies_[static_cast<std::size_t>(thread_)].open.push_back(copy);
    const std::int64_t item = kernel_.emulated->buffers[buffer].item_bytes;
    for (std::int64_t byte = 0; byte < bytes; byte += item) {
      copied_[to + byte] = thread_;
    }
  }

  void commit() {
    Copies &own = copies_[static_cast<std::size_t>(thread_)];
    own.groups.push_back(std::exchange(own.open, {}));
  }

  void wait_for_copies(std::int32_t groups) {
    Copies &own = copies_[static_cast<std::size_t>(thread_)];
    while (own.groups.size() > static_cast<std::size_t>(groups)) {
      const std::vector<Copy> arrived = std::move(own.groups.front());
      own.groups.pop_front();
      for (const Copy &copy : arrived) {
        const std::int64_t item = kernel_.emulated->buffers[copy.buffer].item_bytes;
        for (std::int64_t byte = 0; byte < copy.bytes; byte += item) {
          copied_.erase(copy.to + byte);
        }
        std::memcpy(copy.to, copy.data.data(), static_cast<std::size_t>(copy.bytes));
        access(copy.to, copy.bytes, copy.buffer, Write, copy.bytes);
      }
    }
  }

private:
  static constexpr int pattern = 0xa5; ///< in memory that is not written yet

  /// What threads ask, for as long as they run.
  struct Current {
    explicit Current(Launch *launch) { current() = launch; }
    ~Current() { current() = nullptr; }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;
  };

  bool is_over() const { return is_interrupted_ || has_failed_ || !problem_.empty(); }

  /// Whether a thread has failed, and said why in the kernels' place for failures, the first
  /// argument: the call reports that. It may end early unless others wait for it.
  bool has_failure() const {
    const auto *failure = *static_cast<const DeviceFailure *const *>(arguments_);
    return failure != nullptr && failure->status != KernelOk;
  }
  bool looks_up() {
    is_interrupted_ = is_interrupted_ || launch_is_to_end();
    return is_interrupted_;
  }

  void wait(const Wait &wait) {
    waits_[static_cast<std::size_t>(thread_)] = wait;
    fibres_[static_cast<std::size_t>(thread_)]->pause();
  }

  void run_block(std::int64_t threads) {
    const auto count = static_cast<std::size_t>(threads);
    std::memset(shared_base_, pattern, static_cast<std::size_t>(shape_.shared_bytes));
    shared_elements_.clear();
    copies_.assign(count, {});
    copied_.clear();
    while (fibres_.size() < count) {
      fibres_.push_back(std::make_unique<Fibre>());
    }
    waits_.assign(count, {});
    ended_.assign(count, false);
    for (std::size_t t = 0; t < count; ++t) {
      fibres_[t]->start(&Launch::begin, this);
    }
    for (epoch_ = 0; !is_over() && !all_ended(0, count); ++epoch_) {
      for (std::size_t first = 0; first < count && !is_over(); first += warp_size) {
        run_warp(first, std::min(first + warp_size, count));
      }
      if (!is_over()) {
        check_all_wait(0, count, Wait::For::Barrier,
                       "block " + place_text(place_of(block_, shape_.grid)));
      }
    }
    has_failed_ = has_failure();
  }

  bool all_ended(std::size_t first, std::size_t end) const {
    const auto from = ended_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto to = ended_.begin() + static_cast<std::ptrdiff_t>(end);
    return std::all_of(from, to, [](bool ended) { return ended; });
  }

  /// Runs these threads until all of them have ended or wait for others than their warp's.
  void run_warp(std::size_t first, std::size_t end) {
    bool exchanges = true;
    while (exchanges) {
      for (std::size_t t = first; t < end; ++t) {
        if (!ended_[t]) {
          thread_ = static_cast<std::int64_t>(t);
          waits_[t] = {};
          ended_[t] = fibres_[t]->resume();
        }
        if (is_over()) {
          return;
        }
      }
      exchanges = std::any_of(waits_.begin() + static_cast<std::ptrdiff_t>(first),
                              waits_.begin() + static_cast<std::ptrdiff_t>(end),
                              [](const Wait &wait) { return wait.what == Wait::For::Warp; });
      if (exchanges) {
        check_all_wait(first, end, Wait::For::Warp,
                       fmt::format("warp {} of block {}", first / warp_size,
                                   place_text(place_of(block_, shape_.grid))));
        if (!is_over()) {
          hand_over(first, end);
        }
      }
      exchanges = exchanges && !is_over();
    }
  }

  /// Each thread of a warp gets what all of them gave.
  void hand_over(std::size_t first, std::size_t end) {
    for (std::size_t to = first; to < end; ++to) {
      const Wait &wait = waits_[to];
      const auto bytes = static_cast<std::size_t>(wait.bytes);
      std::memset(wait.all, 0xa5, warp_size * bytes); // lanes that are not there
      for (std::size_t from = first; from < end; ++from) {
        std::memcpy(wait.all + (from - first) * bytes, waits_[from].own, bytes);
      }
    }
  }

  static void begin(void *launch) {
    auto &self = *static_cast<Launch *>(launch);
    self.kernel_.emulated->thread(self.arguments_);
  }

  /// These threads, or none of them, wait for one and the same thing: a barrier, or an exchange.
  void check_all_wait(std::size_t first, std::size_t end, Wait::For what,
                      const std::string &whose) {
    std::size_t waiting = first;
    while (waiting < end && (ended_[waiting] || waits_[waiting].what != what)) {
      ++waiting;
    }
    if (waiting == end) {
      return; // all have ended
    }
    const Wait &own = waits_[waiting];
    const auto thread = [&](std::size_t number) {
      return "thread " + place_text(place_of(static_cast<std::int64_t>(number), shape_.block));
    };
    const auto place = [](const Wait &wait) {
      return fmt::format("{} {}", wait.what == Wait::For::Barrier ? "barrier" : "exchange",
                         wait.number);
    };
    for (std::size_t t = first; t < end; ++t) {
      if (!ended_[t] && waits_[t].what == own.what && waits_[t].number == own.number &&
          waits_[t].bytes == own.bytes) {
        continue;
      }
      problem_ = fmt::format(
          "not all threads of {} come to {}: {} waits at {}, {} {}", whose,
          what == Wait::For::Barrier ? "a barrier" : "an exchange with their warp", thread(waiting),
          place(own), thread(t), ended_[t] ? "has ended" : "at " + place(waits_[t]));
      return;
    }
  }

  const char *base_of(const EmulatedBuffer &buffer) const {
    if (buffer.argument < 0) {
      return shared_base_ + buffer.shared_offset;
    }
    const char *base = nullptr;
    std::memcpy(&base, static_cast<const char *>(arguments_) + 8 * buffer.argument, sizeof(base));
    return base;
  }

  /// The allocation that an address lies in.
  std::pair<const char *, std::int64_t> containing(const char *address) const {
    auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) {
      return {nullptr, 0};
    }
    --after;
    return address <= after->first + after->second
               ? std::make_pair(after->first, after->second)
               : std::make_pair<const char *, std::int64_t>(nullptr, 0);
  }

  std::string here() const {
    return fmt::format("thread {} of block {}", place_text(place_of(thread_, shape_.block)),
                       place_text(place_of(block_, shape_.grid)));
  }

  void touch(const char *address, const EmulatedBuffer &buffer, std::int64_t number,
             std::int32_t kind) {
    if (const auto copied = copied_.find(address); copied != copied_.end()) {
      fail(fmt::format("{} {} element {} of {}, which thread {} copies asynchronously and has not "
                       "waited for",
                       here(), verb(kind), number, buffer.name,
                       place_text(place_of(copied->second, shape_.block))));
      return;
    }
    Element &element = (buffer.argument < 0 ? shared_elements_ : elements_)[address];
    const Touch now{block_, static_cast<std::int32_t>(thread_), epoch_, kind};
    const auto meets = [&](const Touch &earlier) {
      if (earlier.block < 0 || (earlier.kind == Update && kind == Update)) {
        return false;
      }
      return earlier.block != block_ || (earlier.thread != thread_ && earlier.epoch == epoch_);
    };
    const Touch *other = nullptr;
    if (meets(element.write)) {
      other = &element.write;
    }
    for (const Touch *read : {&element.elsewhere, &element.reads[0], &element.reads[1]}) {
      if (other == nullptr && kind != Read && meets(*read)) {
        other = read;
      }
    }
    if (other != nullptr && has_failure()) {
      return; // a thread that has failed goes on with what means nothing
    }
    if (other != nullptr) {
      const bool one_block = other->block == block_;
      fail(fmt::format(
          "{} {} element {} of {}, which thread {} of block {} {}, {}", here(), verb(kind), number,
          buffer.name, place_text(place_of(other->thread, shape_.block)),
          place_text(place_of(other->block, shape_.grid)), verb(other->kind),
          one_block ? "with no barrier between" : "and blocks do not wait for each other"));
      return;
    }
    if (kind == Read) {
      // Two different readers are enough: a writer is at most one of them.
      if (element.reads[0].block >= 0 && element.reads[0].block != block_) {
        element.elsewhere = element.reads[0];
        element.reads = {};
      }
      const bool is_first = element.reads[0].block == block_ && element.reads[0].thread == thread_;
      if (!is_first) {
        element.reads[1] = element.reads[0];
      }
      element.reads[0] = now;
    } else {
      element = {now, {}, {}};
    }
  }

  /// Ends the launch; called in a fibre, which is left where it stands.
  void fail(std::string problem) {
    problem_ = std::move(problem);
    fibres_[static_cast<std::size_t>(thread_)]->pause();
  }

  const DeviceKernel &kernel_;
  const LaunchShape &shape_;
  const void *arguments_;
  const std::map<const char *, std::int64_t> &allocations_;
  std::vector<char> shared_;
  char *shared_base_ = nullptr;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<Wait> waits_;                                   ///< by thread
  std::vector<bool> ended_;                                   ///< by thread
  std::unordered_map<const char *, Element> elements_;        ///< of arrays
  std::unordered_map<const char *, Element> shared_elements_; ///< of the block's shared memory
  std::vector<Copies> copies_;                                ///< by thread
  std::unordered_map<const char *, std::int64_t> copied_;     ///< elements under way: whose copies
  std::int64_t block_ = 0;
  std::int64_t thread_ = 0;
  std::int32_t epoch_ = 0;
  std::int64_t accesses_ = 0;
  bool is_interrupted_ = false;
  bool has_failed_ = false;
  std::string problem_;
};

class Emulator : public Device {
public:
  std::string name() const override { return "gpu-emulator"; }

  void *allocate(std::int64_t bytes) override {
    const std::size_t size =
        (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + alignment - 1) / alignment *
        alignment;
    void *memory = std::aligned_alloc(alignment, size);
    if (memory == nullptr) {
      Error error(ErrorKind::Device,
                  fmt::format("the emulator is out of memory: {} bytes were asked for, which the "
                              "host does not have",
                              bytes));
      error.details["out_of_memory"] = "yes";
      error.details["asked"] = std::to_string(bytes);
      throw error;
    }
    std::memset(memory, 0xa5, size); // what is read before it is written shows
    const std::lock_guard lock(mutex_);
    allocations_[static_cast<const char *>(memory)] = bytes;
    return memory;
  }

  void release(void *memory) noexcept override {
    const std::lock_guard lock(mutex_);
    if (allocations_.erase(static_cast<const char *>(memory)) > 0) {
      std::free(memory);
    }
  }

  void copy_in(void *device, const void *host, std::int64_t bytes) override {
    copy(device, host, bytes);
  }
  void copy_out(void *host, const void *device, std::int64_t bytes) override {
    copy(host, device, bytes);
  }
  void copy(void *to, const void *from, std::int64_t bytes) override {
    if (bytes > 0) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
  }
  void clear(void *memory, std::int64_t bytes) override {
    std::memset(memory, 0, static_cast<std::size_t>(bytes));
  }

  void launch(const DeviceKernel &kernel, const LaunchShape &shape,
              const void *arguments) override {
    const auto &[x, y, z] = shape.grid;
    const std::int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
    if (x > max_blocks_x || y > max_blocks_yz || z > max_blocks_yz) {
      throw Error(ErrorKind::Device,
                  fmt::format("kernel {}: a grid of {} x {} x {} blocks is more than {} x {} x {}; "
                              "the last loop of gpu_block is along x: have the longest one there, "
                              "or take larger tiles",
                              kernel.name, x, y, z, max_blocks_x, max_blocks_yz, max_blocks_yz));
    }
    if (threads > max_threads_in_block || shape.shared_bytes > max_shared_bytes_of_block) {
      throw Error(ErrorKind::Device,
                  fmt::format("kernel {}: {} threads and {} bytes of shared memory are more than a "
                              "block may have, {} and {}",
                              kernel.name, threads, shape.shared_bytes, max_threads_in_block,
                              max_shared_bytes_of_block));
    }
    if (x * y * z == 0 || threads == 0) {
      return;
    }
    std::map<const char *, std::int64_t> allocations;
    {
      const std::lock_guard lock(mutex_);
      allocations = allocations_;
    }
    Launch(kernel, shape, arguments, allocations).run();
  }

  void synchronize() override {}

private:
  std::mutex mutex_;
  std::map<const char *, std::int64_t> allocations_;
};

} // namespace

Device &gpu_emulator() {
  static auto *const emulator = new Emulator; // outlives whatever is still on it at the end
  return *emulator;
}

} // namespace tilewright

using tilewright::Launch;

std::int32_t tilewright_gpu_index(std::int32_t axis) {
  return static_cast<std::int32_t>(Launch::current()->index(axis));
}

void tilewright_gpu_barrier(std::int32_t number) { Launch::current()->barrier(number); }

void tilewright_gpu_exchange(std::int32_t number, const void *own, std::int64_t bytes, void *all) {
  Launch::current()->exchange(number, static_cast<const char *>(own), bytes,
                              static_cast<char *>(all));
}

std::int32_t tilewright_gpu_shuffle(std::int32_t number, std::int32_t value, std::int32_t mask) {
  std::array<std::int32_t, tilewright::warp_size> all{};
  tilewright_gpu_exchange(number, &value, sizeof(value), all.data());
  return all.at(Launch::current()->lane() ^ static_cast<std::size_t>(mask));
}

void *tilewright_gpu_shared() { return Launch::current()->shared(); }

void tilewright_gpu_access(const void *address, std::int64_t bytes, std::int32_t buffer,
                           std::int32_t kind, std::int32_t alignment) {
  Launch::current()->access(static_cast<const char *>(address), bytes, buffer, kind, alignment);
}

void tilewright_gpu_copy(void *to, const void *from, std::int32_t bytes, std::int32_t buffer,
                         std::int32_t source) {
  Launch::current()->copy(static_cast<char *>(to), static_cast<const char *>(from), bytes, buffer,
                          source);
}

void tilewright_gpu_commit() { Launch::current()->commit(); }

void tilewright_gpu_wait(std::int32_t groups) { Launch::current()->wait_for_copies(groups); }
