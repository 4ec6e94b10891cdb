// Streams and events of the double of libcuda.
#include "fake_driver.h"

#include <chrono>
#include <thread>

using namespace fake_driver;

// The library's own names.
// NOLINTBEGIN(readability-identifier-naming)

// ---- streams and events ----

EXPORT Result cuStreamCreate(Stream *stream, std::uint32_t flags) {
  BEGIN("cuStreamCreate")
  *stream = new StreamHandle{state().next_number++, stack.back()->device};
  state().streams.insert(*stream);
  if (flags == StreamNonBlocking) {
    state().clocks.add_independent((*stream)->number);
  }
  note("create stream ", (*stream)->number, flags == StreamNonBlocking ? " non-blocking" : "");
  return Success;
}

EXPORT Result cuStreamDestroy_v2(Stream stream) {
  BEGIN("cuStreamDestroy_v2")
  if (state().streams.erase(stream) == 0) {
    return InvalidHandle;
  }
  note("destroy stream ", stream->number);
  delete stream;
  return Success;
}

EXPORT Result cuStreamSynchronize(Stream stream) {
  wait_for_all();
  BEGIN("cuStreamSynchronize")
  if (!is_stream(stream)) {
    return InvalidHandle;
  }
  state().clocks.wait_on_host(clock_of(stream));
  note("synchronize stream ", number_of(stream));
  return Success;
}

EXPORT Result cuStreamQuery(Stream stream) {
  BEGIN("cuStreamQuery")
  if (!is_stream(stream)) {
    return InvalidHandle;
  }
  if (is_busy()) {
    return NotReady;
  }
  state().clocks.wait_on_host(clock_of(stream));
  return Success;
}

EXPORT Result cuStreamWaitEvent(Stream stream, Event event, std::uint32_t) {
  BEGIN("cuStreamWaitEvent")
  if (!is_stream(stream) || state().events.count(event) == 0) {
    return InvalidHandle;
  }
  state().clocks.wait(clock_of(stream), event->number);
  note("stream ", number_of(stream), " waits for event ", event->number);
  return Success;
}

EXPORT Result cuEventCreate(Event *event, std::uint32_t flags) {
  BEGIN("cuEventCreate")
  *event = new EventHandle{state().next_number++, (flags & EventWithoutTiming) == 0, false, {}};
  state().events.insert(*event);
  return Success;
}

EXPORT Result cuEventDestroy_v2(Event event) {
  BEGIN("cuEventDestroy_v2")
  if (state().events.erase(event) == 0) {
    return InvalidHandle;
  }
  delete event;
  return Success;
}

EXPORT Result cuEventRecord(Event event, Stream stream) {
  BEGIN("cuEventRecord")
  if (!is_stream(stream) || state().events.count(event) == 0) {
    return InvalidHandle;
  }
  state().clocks.record(clock_of(stream), event->number);
  note("record event ", event->number, " stream ", number_of(stream));
  event->is_recorded = true;
  event->at = std::chrono::steady_clock::now();
  return Success;
}

EXPORT Result cuEventQuery(Event event) {
  BEGIN("cuEventQuery")
  if (state().events.count(event) == 0) {
    return InvalidHandle;
  }
  return is_busy() ? NotReady : Success;
}

EXPORT Result cuEventSynchronize(Event event) {
  wait_for_all();
  BEGIN("cuEventSynchronize")
  if (state().events.count(event) == 0) {
    return InvalidHandle;
  }
  state().clocks.wait_for_event_on_host(event->number);
  return Success;
}

EXPORT Result cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  BEGIN("cuEventElapsedTime")
  if (!start->is_recorded || !end->is_recorded || !start->has_time || !end->has_time) {
    return InvalidHandle;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return Success;
}

// NOLINTEND(readability-identifier-naming)
