#include "planning/auto/legal_mapping.h"

#include "analysis/legality.h"
#include "planning/resolve.h"

#include <algorithm>

namespace tilewright {

namespace {

/// More values than these need their own memory anyway. Chains side by side, and what the first one
/// of them reads, are no more.
constexpr std::int64_t most_folded = 16;

} // namespace

std::optional<LegalMapping> after_commands(const LegalMapping &before,
                                           const std::vector<Command> &commands,
                                           std::uint64_t operations) {
  try {
    const OperationLimit limit(operations);
    Mapping mapping = before.mapping;
    for (const Command &command : commands) {
      mapping = mapping.with(command);
    }
    auto legal = find_legal(build_program(mapping, before.legal ? &before.legal->program : nullptr),
                            before.legal.get());
    if (legal == nullptr) {
      return std::nullopt;
    }
    return LegalMapping{std::move(mapping), std::move(legal)};
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
      throw;
    }
    return std::nullopt;
  }
}

LegalMapping with_folded_storage(const LegalMapping &before, const std::string &computation,
                                 const std::string &iterator, Decisions &decisions) {
  const Storage &storage = before.mapping.storage(computation);
  const bool is_index =
      std::any_of(storage.index.begin(), storage.index.end(), [&](const ExprPtr &index) {
        return index->kind == ExprKind::Iterator && index->name == iterator;
      });
  if (!is_index || storage.buffer != computation) {
    return before;
  }
  std::optional<std::int64_t> size;
  try {
    const OperationLimit limit(candidate_operation_limit);
    size = smallest_fold(before.mapping, {computation, "storage_fold", {iterator}, {}});
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Schedule && error.kind != ErrorKind::Limit) {
      throw;
    }
  }
  if (!size || *size > most_folded) {
    return before;
  }
  const auto found = after_commands(before, {{computation, "storage_fold", {iterator, *size}, {}}});
  if (!found) {
    return before;
  }
  decisions.push_back({computation, "memory for " + std::to_string(*size) +
                                        (*size == 1 ? " value" : " values") + " of " + iterator +
                                        ", since older ones are not needed any more"});
  return *found;
}

} // namespace tilewright
