// A fibre: a function with a stack of its own that may stop in the middle and be gone on with. All
// fibres of a thread run in that thread, one at a time.
#pragma once

#include <cstddef>
#include <memory>

namespace tilewright {

class Fibre {
public:
  using Entry = void (*)(void *argument);

  Fibre();
  ~Fibre();
  Fibre(const Fibre &) = delete;
  Fibre &operator=(const Fibre &) = delete;

  /// From here on the fibre stands before the first statement of entry(argument). What ran in it
  /// before is forgotten where it stands.
  void start(Entry entry, void *argument);
  /// Runs it until it pauses or ends; returns whether it has ended.
  bool resume();
  /// Called in the fibre: goes back to where resume() was called.
  void pause();

private:
  struct Context;
  std::unique_ptr<Context> context_;
};

} // namespace tilewright
