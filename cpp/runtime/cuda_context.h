// One CUDA device as this process uses it: its primary context, which other libraries (PyTorch,
// CuPy, JAX) use as well, made current around our calls and put back; streams, one at a time for
// each thread; and what becomes of its errors. All functions throw Error(Device) but where they
// say, and may be called from any thread.
#pragma once

#include "runtime/cuda_driver.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace tilewright {

/// What a device is; asked without making a context.
struct CudaProperties {
  int number = 0;
  std::string name; ///< "NVIDIA H200"
  int major = 0;    ///< of the compute capability
  int minor = 0;
  std::int64_t memory = 0; ///< bytes
  int multiprocessors = 0;
  int warp_size = 0;
  bool has_pools = false;
  std::int64_t threads_per_block = 0;
  std::int64_t block[3] = {};
  std::int64_t grid[3] = {};
  std::int64_t shared_bytes = 0;     ///< of a block, without being asked for
  std::int64_t max_shared_bytes = 0; ///< where a kernel asks for it
  std::int64_t max_pitch = 0;        ///< bytes between rows of one copy
  std::string title() const;         ///< "cuda:0 (NVIDIA H200)"
};
CudaProperties cuda_properties(const CudaDriver &driver, int number);

class CudaContext;

/// A stream as the place where work was put: what follows elsewhere can wait for it, also when the
/// stream was left since and may be gone.
class CudaPlace {
public:
  CudaPlace(const CudaContext &context, cuda::Stream stream)
      : context_(context), stream_(stream), thread_(std::this_thread::get_id()) {}
  CudaPlace(const CudaPlace &) = delete;
  CudaPlace &operator=(const CudaPlace &) = delete;
  ~CudaPlace();
  cuda::Stream stream() const { return stream_; }

private:
  friend class CudaContext;
  const CudaContext &context_;
  cuda::Stream stream_;
  std::thread::id thread_; ///< the stream of each thread is another in another one
  std::mutex mutex_;
  cuda::Event event_ = nullptr; ///< recorded when somebody waits, or when it was left
  bool was_left_ = false;
};

class CudaContext {
public:
  CudaContext(const CudaDriver &driver, int number);
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;
  ~CudaContext();

  /// The context is current in this thread as long as this lives.
  class Scope {
  public:
    explicit Scope(const CudaContext &context);
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope();

  private:
    const cuda::Functions *pushed_ = nullptr;
  };

  const CudaDriver &driver() const { return driver_; }
  const cuda::Functions &functions() const { return driver_.functions(); }
  const CudaProperties &properties() const { return properties_; }
  const std::string &title() const { return title_; }

  // ---- errors ----

  /// Throws where the device was lost, or CUDA by a fork.
  void require_usable() const;
  bool is_usable() const noexcept;
  /// Throws where `result` is an error, and remembers one that a device does not survive.
  void check(cuda::Result result, std::string_view doing) const;
  /// The kernel that was launched last is named in errors. The text must stay.
  void note_launch(const std::string *kernel) const {
    last_kernel_.store(kernel, std::memory_order_relaxed);
  }

  // ---- streams ----

  /// Where this thread's work goes: the legacy default stream if nothing else was entered.
  std::shared_ptr<CudaPlace> place() const;
  cuda::Stream stream() const;
  /// This thread's work goes to the stream until it is left; the innermost counts.
  std::shared_ptr<CudaPlace> enter(cuda::Stream stream) const;
  void leave(const std::shared_ptr<CudaPlace> &place) const;
  /// What this thread puts on its stream from now on runs after what was put to `place`.
  void wait_for(CudaPlace &place) const;
  /// Waits until all that was put on the stream (on the device) is done. Waits may end early
  /// (runtime/device_wait.h).
  void synchronize(cuda::Stream stream) const;
  void synchronize() const;
  /// The same where a wait may end early, else nothing: before what waits for the stream by itself.
  void settle(cuda::Stream stream) const;

private:
  [[noreturn]] void lose(const std::string &cause) const;
  void record(CudaPlace &place) const;

  const CudaDriver &driver_;
  CudaProperties properties_;
  std::string title_;
  cuda::DeviceHandle device_{};
  cuda::Context context_ = nullptr;
  std::uint64_t identity_;
  std::shared_ptr<CudaPlace> default_place_;
  mutable std::atomic<const std::string *> last_kernel_{nullptr};
  mutable std::atomic<bool> is_lost_{false};
  mutable std::mutex mutex_;
  mutable std::string cause_;
};

/// A stream of its own, destroyed with this: what is on it still runs.
class CudaStream {
public:
  CudaStream(const CudaContext &context, bool non_blocking);
  CudaStream(const CudaStream &) = delete;
  CudaStream &operator=(const CudaStream &) = delete;
  ~CudaStream();
  cuda::Stream handle() const { return stream_; }

private:
  const CudaContext &context_;
  cuda::Stream stream_ = nullptr;
};

/// A point in the work of a stream.
class CudaEvent {
public:
  explicit CudaEvent(const CudaContext &context);
  CudaEvent(const CudaEvent &) = delete;
  CudaEvent &operator=(const CudaEvent &) = delete;
  ~CudaEvent();
  cuda::Event handle() const { return event_; }
  void record(cuda::Stream stream);
  bool is_done() const;
  void synchronize() const; ///< may end early, as CudaContext::synchronize
  /// Work of the stream from now on runs after the point.
  void hold(cuda::Stream stream) const;
  /// From `start`, in milliseconds.
  double since(const CudaEvent &start) const;

private:
  const CudaContext &context_;
  cuda::Event event_ = nullptr;
};

} // namespace tilewright
