#include "runtime/cuda_context.h"

#include "runtime/device_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// Errors after which a context answers nothing else.
bool is_final(cuda::Result result) {
  switch (result) {
  case cuda::EccUncorrectable:
  case cuda::LinkUncorrectable:
  case cuda::Contained:
  case cuda::IllegalAddress:
  case cuda::LaunchTimeout:
  case cuda::ContextDestroyed:
  case cuda::Assertion:
  case cuda::StackError:
  case cuda::IllegalInstruction:
  case cuda::MisalignedAddress:
  case cuda::InvalidAddressSpace:
  case cuda::InvalidProgramCounter:
  case cuda::LaunchFailed:
  case cuda::TensorMemoryLeak:
  case cuda::ExternalDevice:
    return true;
  default:
    return false;
  }
}

struct Entered {
  std::uint64_t context;
  std::shared_ptr<CudaPlace> place;
};

/// The streams that this thread has entered, of all devices; the last one of a device counts.
std::vector<Entered> &entered() {
  thread_local std::vector<Entered> streams;
  return streams;
}

std::uint64_t new_identity() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

/// For destructors: what goes wrong while something is given back is told by what comes next.
template <class F>
void quietly(const CudaContext &context, F &&give_back) noexcept {
  try {
    if (context.is_usable()) {
      const CudaContext::Scope scope(context);
      give_back();
    }
  } catch (const std::exception &) {
    return;
  }
}

} // namespace

std::string CudaProperties::title() const { return fmt::format("cuda:{} ({})", number, name); }

CudaProperties cuda_properties(const CudaDriver &driver, int number) {
  const cuda::Functions &call = driver.functions();
  if (number < 0 || number >= driver.device_count()) {
    throw Error(ErrorKind::Device,
                fmt::format("there is no device cuda:{}; this process sees {} "
                            "({} to cuda:{})",
                            number, driver.device_count(), "cuda:0", driver.device_count() - 1));
  }
  const std::string doing = fmt::format("look at device cuda:{}", number);
  cuda::DeviceHandle device{};
  driver.check(call.device(&device, number), doing);
  const auto attribute = [&](std::int32_t which) {
    std::int32_t value = 0;
    driver.check(call.device_attribute(&value, which, device), doing);
    return value;
  };
  CudaProperties found;
  found.number = number;
  char name[256] = {};
  driver.check(call.device_name(name, sizeof name - 1, device), doing);
  found.name = name;
  std::size_t memory = 0;
  driver.check(call.device_memory(&memory, device), doing);
  found.memory = static_cast<std::int64_t>(memory);
  found.major = attribute(cuda::CapabilityMajor);
  found.minor = attribute(cuda::CapabilityMinor);
  found.multiprocessors = attribute(cuda::Multiprocessors);
  found.warp_size = attribute(cuda::WarpSize);
  found.has_pools = attribute(cuda::MemoryPools) != 0;
  found.threads_per_block = attribute(cuda::MaxThreadsPerBlock);
  for (int d = 0; d < 3; ++d) {
    found.block[d] = attribute(cuda::MaxBlockX + d);
    found.grid[d] = attribute(cuda::MaxGridX + d);
  }
  found.max_pitch = attribute(cuda::MaxPitch);
  found.shared_bytes = attribute(cuda::SharedBytesPerBlock);
  found.max_shared_bytes =
      std::max<std::int64_t>(found.shared_bytes, attribute(cuda::SharedBytesPerBlockOptIn));
  return found;
}

CudaPlace::~CudaPlace() {
  if (event_ != nullptr) {
    quietly(context_, [&] { context_.functions().destroy_event(event_); });
  }
}

// ---- contexts ----

CudaContext::CudaContext(const CudaDriver &driver, int number)
    : driver_(driver), properties_(cuda_properties(driver, number)), title_(properties_.title()),
      identity_(new_identity()), default_place_(std::make_shared<CudaPlace>(*this, nullptr)) {
  const std::string doing = "start " + title_;
  driver_.check(functions().device(&device_, number), doing);
  driver_.check(functions().retain_context(&context_, device_), doing);
}

CudaContext::~CudaContext() {
  default_place_.reset();
  if (!CudaDriver::is_lost_in_fork()) {
    functions().release_context(device_);
  }
}

CudaContext::Scope::Scope(const CudaContext &context) {
  context.require_usable();
  const cuda::Functions &call = context.functions();
  cuda::Context current = nullptr;
  context.check(call.current_context(&current), "find the current context");
  if (current != context.context_) {
    context.check(call.push_context(context.context_), "make the device's context current");
    pushed_ = &call;
  }
}

CudaContext::Scope::~Scope() {
  if (pushed_ != nullptr) {
    cuda::Context popped = nullptr;
    pushed_->pop_context(&popped);
  }
}

// ---- errors ----

bool CudaContext::is_usable() const noexcept {
  return !is_lost_.load(std::memory_order_acquire) && !CudaDriver::is_lost_in_fork();
}

void CudaContext::require_usable() const {
  CudaDriver::require_process();
  if (is_lost_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    Error error(ErrorKind::Device,
                fmt::format("{} is lost to this process since an earlier error: {}. What was in "
                            "its memory is gone; start a new process to use it again. Functions "
                            "for the processor still work",
                            title_, cause_));
    error.details["lost"] = cause_;
    throw error;
  }
}

void CudaContext::lose(const std::string &cause) const {
  {
    const std::lock_guard lock(mutex_);
    if (cause_.empty()) {
      cause_ = cause;
    }
  }
  is_lost_.store(true, std::memory_order_release);
  Error error(ErrorKind::Device,
              fmt::format("{}: {}. This process cannot use the device any more, and what was in "
                          "its memory is gone; functions for the processor still work",
                          title_, cause));
  error.details["lost"] = cause;
  throw error;
}

void CudaContext::check(cuda::Result result, std::string_view doing) const {
  if (result == cuda::Success) {
    return;
  }
  if (is_final(result)) {
    std::string cause = fmt::format("cannot {}: {}", doing, driver_.describe(result));
    if (const std::string *kernel = last_kernel_.load(std::memory_order_relaxed)) {
      cause += fmt::format("; a kernel that ran before may have caused it, the last one launched "
                           "was '{}' (with CUDA_LAUNCH_BLOCKING=1 in the environment each launch "
                           "waits, and the one that fails is named)",
                           *kernel);
    }
    lose(cause);
  }
  driver_.check(result, fmt::format("{} on {}", doing, title_));
}

// ---- streams ----

std::shared_ptr<CudaPlace> CudaContext::place() const {
  const std::vector<Entered> &streams = entered();
  const auto found = std::find_if(streams.rbegin(), streams.rend(),
                                  [&](const Entered &each) { return each.context == identity_; });
  if (found != streams.rend()) {
    return found->place;
  }
  return default_place_;
}

cuda::Stream CudaContext::stream() const { return entered().empty() ? nullptr : place()->stream(); }

std::shared_ptr<CudaPlace> CudaContext::enter(cuda::Stream stream) const {
  require_usable();
  // One stream must have one name, so that nothing waits for itself.
  auto place =
      std::make_shared<CudaPlace>(*this, stream == cuda::legacy_stream() ? nullptr : stream);
  entered().push_back({identity_, place});
  return place;
}

void CudaContext::leave(const std::shared_ptr<CudaPlace> &place) const {
  std::vector<Entered> &streams = entered();
  const auto found = std::find_if(streams.rbegin(), streams.rend(),
                                  [&](const Entered &each) { return each.place == place; });
  if (found != streams.rend()) {
    streams.erase(std::next(found).base());
  }
  if (!is_usable()) {
    return;
  }
  // Whoever owns the stream may destroy it after this.
  const Scope scope(*this);
  const std::lock_guard lock(place->mutex_);
  record(*place);
  place->was_left_ = true;
}

void CudaContext::record(CudaPlace &place) const {
  const std::string doing = "record an event";
  if (place.event_ == nullptr) {
    check(functions().create_event(&place.event_, cuda::EventWithoutTiming), doing);
  }
  check(functions().record_event(place.event_, place.stream_), doing);
}

void CudaContext::wait_for(CudaPlace &from) const {
  const std::shared_ptr<CudaPlace> to = place();
  if (to.get() == &from) {
    return;
  }
  const std::lock_guard lock(from.mutex_);
  if (!from.was_left_) {
    const bool is_per_thread = from.stream_ == cuda::per_thread_stream();
    const bool is_elsewhere = is_per_thread && from.thread_ != std::this_thread::get_id();
    if (from.stream_ == to->stream_ && !is_elsewhere) {
      return;
    }
    const Scope scope(*this);
    if (is_elsewhere) { // its name is that of another stream in this thread
      check(functions().synchronize_context(), "wait for the stream of another thread");
      return;
    }
    record(from);
  }
  const Scope scope(*this);
  check(functions().wait_event(to->stream_, from.event_, 0), "let a stream wait for another");
}

void CudaContext::settle(cuda::Stream stream) const {
  if (!waits_may_end()) {
    return;
  }
  const Scope scope(*this);
  wait_until([&] {
    const cuda::Result result = functions().query_stream(stream);
    if (result != cuda::NotReady) {
      check(result, "wait for a stream");
    }
    return result != cuda::NotReady;
  });
}

void CudaContext::synchronize(cuda::Stream stream) const {
  settle(stream);
  const Scope scope(*this);
  check(functions().synchronize_stream(stream), "wait for a stream");
}

void CudaContext::synchronize() const {
  constexpr const char *doing = "wait for the device";
  if (!waits_may_end()) {
    const Scope scope(*this);
    check(functions().synchronize_context(), doing);
    return;
  }
  // Nothing tells whether all streams are done but the function that waits for them; another thread
  // calls that.
  auto result = std::make_shared<std::promise<cuda::Result>>();
  std::future<cuda::Result> future = result->get_future();
  std::thread([this, result] {
    try {
      const Scope scope(*this);
      result->set_value(functions().synchronize_context());
    } catch (...) {
      result->set_exception(std::current_exception());
    }
  }).detach();
  wait_until(
      [&] { return future.wait_for(std::chrono::microseconds(0)) == std::future_status::ready; });
  check(future.get(), doing);
}

// ---- streams and events as objects ----

CudaStream::CudaStream(const CudaContext &context, bool non_blocking) : context_(context) {
  const CudaContext::Scope scope(context_);
  const std::uint32_t flags = non_blocking ? std::uint32_t{cuda::StreamNonBlocking} : 0;
  context_.check(context_.functions().create_stream(&stream_, flags), "make a stream");
}

CudaStream::~CudaStream() {
  quietly(context_, [&] { context_.functions().destroy_stream(stream_); });
}

CudaEvent::CudaEvent(const CudaContext &context) : context_(context) {
  const CudaContext::Scope scope(context_);
  context_.check(context_.functions().create_event(&event_, 0), "make an event");
}

CudaEvent::~CudaEvent() {
  quietly(context_, [&] { context_.functions().destroy_event(event_); });
}

void CudaEvent::record(cuda::Stream stream) {
  const CudaContext::Scope scope(context_);
  context_.check(context_.functions().record_event(event_, stream), "record an event");
}

bool CudaEvent::is_done() const {
  const CudaContext::Scope scope(context_);
  const cuda::Result result = context_.functions().query_event(event_);
  if (result == cuda::NotReady) {
    return false;
  }
  context_.check(result, "ask for an event");
  return true;
}

void CudaEvent::synchronize() const {
  if (waits_may_end()) {
    wait_until([&] { return is_done(); });
  }
  const CudaContext::Scope scope(context_);
  context_.check(context_.functions().synchronize_event(event_), "wait for an event");
}

void CudaEvent::hold(cuda::Stream stream) const {
  const CudaContext::Scope scope(context_);
  context_.check(context_.functions().wait_event(stream, event_, 0),
                 "let a stream wait for an event");
}

double CudaEvent::since(const CudaEvent &start) const {
  const CudaContext::Scope scope(context_);
  float milliseconds = 0;
  const cuda::Result result = context_.functions().elapsed(&milliseconds, start.event_, event_);
  if (result == cuda::NotReady) {
    throw Error(ErrorKind::Device, "the time between two events is not known before both have "
                                   "happened; synchronize() the later one first");
  }
  context_.check(result, "measure the time between two events");
  return milliseconds;
}

} // namespace tilewright
