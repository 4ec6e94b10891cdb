#include "lowering/timed_nests.h"

#include "loops/traverse.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

void add_statements(const TimedNest &from, TimedNest &to) {
  for (const std::string &statement : from.statements) {
    if (std::find(to.statements.begin(), to.statements.end(), statement) == to.statements.end()) {
      to.statements.push_back(statement);
    }
  }
}

} // namespace

StmtPtr join_nests(const StmtPtr &body, Kernel &kernel) {
  std::vector<TimedNest> joined;
  std::vector<std::int64_t> number(kernel.nests.size());
  for (size_t n = 0; n < kernel.nests.size(); ++n) {
    TimedNest nest = std::move(kernel.nests[n]);
    const auto meets = [&](const TimedNest &other) {
      return std::any_of(nest.statements.begin(), nest.statements.end(),
                         [&](const std::string &statement) {
                           return std::find(other.statements.begin(), other.statements.end(),
                                            statement) != other.statements.end();
                         });
    };
    const auto found = std::find_if(joined.begin(), joined.end(), meets);
    if (found == joined.end()) {
      number[n] = static_cast<std::int64_t>(joined.size());
      joined.push_back(std::move(nest));
      continue;
    }
    // All that meet it are one with the first.
    number[n] = found - joined.begin();
    for (size_t other = static_cast<size_t>(number[n]) + 1; other < joined.size(); ++other) {
      if (meets(joined[other])) {
        add_statements(joined[other], *found);
        joined[other].statements.clear();
        std::replace(number.begin(), number.begin() + static_cast<std::ptrdiff_t>(n),
                     static_cast<std::int64_t>(other), number[n]);
      }
    }
    add_statements(nest, *found);
  }
  kernel.nests = std::move(joined);
  const std::function<StmtPtr(const StmtPtr &)> renumber = [&](const StmtPtr &statement) {
    const auto *nest = as<Timed>(statement);
    return nest == nullptr ? map_children(statement, renumber)
                           : timed(number.at(static_cast<size_t>(nest->nest)), nest->body());
  };
  return number.empty() ? body : renumber(body);
}

} // namespace tilewright
