// A program over memory: statements in their original order, and what each of their references
// reads, writes or kills. It is what exact array dataflow starts from: pet's polyhedral model
// (PENCIL report, INRIA RT-0457, section 3.4). It needs isl relations and knows no expressions.
#pragma once

#include "polyhedral/isl.h"

#include <string>
#include <vector>

namespace tilewright {

enum class AccessKind {
  Read,
  MayWrite,  ///< may leave what was there
  MustWrite, ///< what was there is gone
  Kill       ///< what was there is needed by nobody
};

struct MemoryAccess {
  std::string reference; ///< its name; no other one in the program has it
  isl::map relation;     ///< { S[i] -> A[x] }
  AccessKind kind = AccessKind::Read;
};

struct MemoryStatement {
  std::string name;
  std::vector<std::string> iterators;
  isl::set domain;
  isl::map schedule; ///< { S[i] -> [t] }; all of one program into one space
  std::vector<MemoryAccess> accesses;
  /// What it reads is what the program is for: the values that arrays have at its end.
  bool is_live = false;
};

struct MemoryProgram {
  isl::set context; ///< the values that parameters may have
  std::vector<MemoryStatement> statements;

  const MemoryStatement *find(const std::string &name) const;
};

/// A program of statements as isl text. Throws Error(Declaration) for text that is none, or that
/// is about something else; of two statements, or references, of one name.
class MemoryProgramBuilder {
public:
  explicit MemoryProgramBuilder(const std::string &context);

  /// "[N] -> { S[i] : 0 <= i < N }" and "{ S[i] -> [0, i, 0] }".
  void add_statement(const std::string &domain, const std::string &schedule, bool is_live);
  /// "{ S[i] -> A[i + 1] }".
  void add_access(const std::string &reference, const std::string &relation, AccessKind kind);

  const MemoryProgram &program() const { return program_; }

private:
  MemoryProgram program_;
};

} // namespace tilewright
