// Which build of this library is running: the linker's build identifier, a hash of the whole
// binary. It is part of every cache key, so that code made by another build is never taken for this
// one's.
#pragma once

#include <string>

namespace tilewright {

/// Hexadecimal; empty where the linker left no identifier.
const std::string &build_identity();

/// The same of what is not in the binary: the names, lengths and times of change of all files below
/// a folder, but those that Python makes of its sources. Nothing is read.
std::string files_identity(const std::string &folder);

} // namespace tilewright
