// The environment's variables, as threads may read them: getenv must not run while somebody changes
// the environment, and Python programs change theirs (os.environ) while other threads compile.
#pragma once

#include <optional>
#include <string>

namespace tilewright {

/// From now on, what `environment` says of the variables that this library reads is what they are
/// now. Called by whoever keeps the environment from changing meanwhile: with Python's lock.
void take_environment();

/// A variable that this library reads; nothing where it is not set. Before the first
/// take_environment, what the process has at that moment.
std::optional<std::string> environment(const std::string &name);

} // namespace tilewright
