// What of a device's work is known to come after what, by vector clocks: a stream counts its work,
// and knows of the other streams how much of theirs it comes after. Two uses of one block of memory
// of which neither is known to be first are a mistake of the program, whatever happened in fact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

class StreamClocks {
public:
  static constexpr int legacy = 0; ///< the stream that waits for the others, as they do for it

  void add_independent(int stream) { independent_.insert(stream); }

  /// A piece of work on the stream.
  void advance(int stream) {
    Clock &own = streams_[stream];
    join(own, host_);
    if (stream == legacy) {
      for (const auto &[other, clock] : streams_) {
        if (independent_.count(other) == 0) {
          join(own, clock);
        }
      }
    } else if (independent_.count(stream) == 0) {
      join(own, streams_[legacy]);
    }
    ++own[stream];
  }

  /// The work on the stream uses the block.
  void use(int stream, std::uint64_t block, const std::string &work) {
    Clock &own = streams_[stream];
    if (const auto last = last_.find(block);
        last != last_.end() && own[last->second.stream] < last->second.count) {
      mistakes_ += work + " on stream " + std::to_string(stream) + " does not wait for " +
                   last->second.work + " on stream " + std::to_string(last->second.stream) + "\n";
    }
    last_[block] = {stream, own[stream], work};
  }
  void forget(std::uint64_t block) { last_.erase(block); }

  void record(int stream, int event) {
    advance(stream);
    events_[event] = streams_[stream];
  }
  void wait(int stream, int event) {
    advance(stream);
    join(streams_[stream], events_[event]);
  }
  void wait_on_host(int stream) {
    advance(stream);
    join(host_, streams_[stream]);
  }
  void wait_for_event_on_host(int event) { join(host_, events_[event]); }
  void wait_for_all_on_host() {
    for (const auto &[stream, clock] : streams_) {
      join(host_, clock);
    }
  }

  const std::string &mistakes() const { return mistakes_; }

private:
  using Clock = std::map<int, std::int64_t>; ///< by stream
  struct Use {
    int stream;
    std::int64_t count;
    std::string work;
  };
  static void join(Clock &into, const Clock &from) {
    for (const auto &[stream, count] : from) {
      into[stream] = std::max(into[stream], count);
    }
  }

  std::map<int, Clock> streams_;
  std::map<int, Clock> events_;
  Clock host_; ///< what the host has waited for
  std::set<int> independent_;
  std::map<std::uint64_t, Use> last_;
  std::string mistakes_;
};
