#include "scheduling/transaction.h"

#include "mapping/program.h"

#include <algorithm>
#include <utility>

namespace tilewright {

std::uint64_t OpenTransaction::begin(const Mapping &mapping, const SourceLocation &where) {
  now_ = State{where, mapping, {}, {}};
  const std::uint64_t number = begin_inside();
  outermost_.store(number, std::memory_order_relaxed);
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  return number;
}

std::uint64_t OpenTransaction::begin_inside() {
  now_->levels.push_back({++last_number_, now_->mapping, now_->commands.size()});
  return last_number_;
}

void OpenTransaction::begin_again(const Mapping &mapping) {
  now_->mapping = mapping;
  for (Level &level : now_->levels) {
    level.before = mapping;
  }
}

void OpenTransaction::add(const Command &command) {
  Mapping next = now_->mapping.with(command);
  require_places(next);
  now_->mapping = std::move(next);
  now_->commands.push_back(command);
}

std::vector<OpenTransaction::Level>::iterator OpenTransaction::find(std::uint64_t transaction) {
  return std::find_if(now_->levels.begin(), now_->levels.end(),
                      [&](const Level &level) { return level.number == transaction; });
}

std::optional<OpenTransaction::Made> OpenTransaction::end(const Function &function,
                                                          std::uint64_t transaction) {
  if (!is_open() || find(transaction) == now_->levels.end()) {
    throw Error(ErrorKind::Schedule,
                function.name + ": this transaction is over; the one that it was a part of ended "
                                "before it");
  }
  const auto level = find(transaction);
  if (level != now_->levels.begin()) {
    now_->levels.erase(level, now_->levels.end());
    return std::nullopt;
  }
  Made made{std::move(now_->mapping), transaction_of(std::move(now_->commands), now_->where)};
  close();
  return made;
}

void OpenTransaction::drop(std::uint64_t transaction) {
  if (!is_open() || find(transaction) == now_->levels.end()) {
    return;
  }
  const auto level = find(transaction);
  if (level == now_->levels.begin()) {
    close();
    return;
  }
  now_->mapping = level->before;
  now_->commands.resize(level->commands);
  now_->levels.erase(level, now_->levels.end());
}

void OpenTransaction::leave(std::uint64_t transaction) noexcept {
  if (outermost_.load(std::memory_order_relaxed) == transaction) {
    thread_.store(std::thread::id(), std::memory_order_relaxed);
  }
}

void OpenTransaction::close() {
  thread_.store(std::thread::id(), std::memory_order_relaxed);
  now_.reset();
}

std::string OpenTransaction::beginning() const {
  return now_->where.known() ? ", which began at line " + std::to_string(now_->where.line) +
                                   " of " + now_->where.file
                             : "";
}

void OpenTransaction::require_here(const Function &function, const SourceLocation &where) const {
  if (!is_here()) {
    throw Error(ErrorKind::Schedule,
                function.name + ": another thread has a transaction open" + beginning() +
                    "; commands of other threads can be given after its end",
                where);
  }
}

void OpenTransaction::require_none_here(const Function &function) const {
  if (is_here()) {
    throw Error(ErrorKind::Schedule, function.name + ": a transaction is open" + beginning() +
                                         ", and whether its commands are legal is asked at its "
                                         "end; leave the with block first, or do this before it");
  }
}

} // namespace tilewright
