// The loops after each pass, as text: for people who look at what the compiler does.
#pragma once

#include "passes/road.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// What one pass left.
struct PassText {
  std::string name;
  double milliseconds = 0;
  bool changed = false; ///< the text is another one than before
  std::string text;     ///< as print_loop_ir has it
};

/// Notes what an observer is told. Copies of the observer note in one list.
class PassTexts {
public:
  PassObserver observer() const;
  const std::vector<PassText> &texts() const { return *texts_; }

private:
  std::shared_ptr<std::vector<PassText>> texts_ = std::make_shared<std::vector<PassText>>();
};

/// Writes what each pass changes in the kernel of this name: to stderr, where `where` is "stderr",
/// or into files `where`/NAME-PID-NUMBER/STEP-PASS.txt. A folder that cannot be written to is an
/// Error(Argument).
PassObserver dumping_observer(const std::string &where, const std::string &kernel);

} // namespace tilewright
