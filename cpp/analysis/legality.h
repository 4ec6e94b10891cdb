// The one legality question: after Layers II and III are set, does every read see exactly the
// producer instance that Layer I names? Decided by isl: for each read, the writes to the element it
// reads that come no earlier than the intended write and before the read (in time), or are not
// ordered with it (parallel and vector loops), must not exist, and the intended write must come
// before. Refusals name the command, the dependence and two concrete instances.
#pragma once

#include "analysis/unchanged.h"
#include "mapping/accesses.h"
#include "mapping/program.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Violation {
  enum class Kind {
    Order,     ///< a read comes before (or is not ordered after) the write it needs
    Overwrite, ///< another write to the same element lies between, or is not ordered with them
    Race,      ///< two iterations of a parallel or vector loop touch one element
    Promise,   ///< independent() contradicts a dependence that is there for certain
    Undecided  ///< not affine, or the operation limit was reached
  };
  Kind kind;
  std::string dependence;      ///< "C[i,j,k] -> C[i,j,k+1]" as isl text, simplified
  std::string source_instance; ///< "C[0,0,0]"
  std::string sink_instance;   ///< "C[0,0,1]"
  std::string element;     ///< "C[0,0]": the buffer element where storage is at fault; else empty
  std::string parameters;  ///< "N = 1, K = 2"
  std::string explanation; ///< one sentence
  std::string suggestion;  ///< what would be legal instead, or empty

  // For suggestions: the statements, all violating pairs, and (Order) where their times differ
  // first.
  std::string source;
  std::string sink;
  isl::map pairs;
  int level = 0;
  bool is_static = false;
  bool concurrent = false;
};

/// The first violation found, or nothing when the program is legal.
std::optional<Violation> find_violation(const Program &program);

/// The program when no violation is found in it, else null. With `before`, a program that it was
/// made of by a command, only what that may have changed is asked.
std::shared_ptr<const LegalProgram> find_legal(Program program,
                                               const LegalProgram *before = nullptr);

/// Throws Error(IllegalSchedule) with the violation when `program` (the mapping after `command`) is
/// illegal. With `before`, the program before the command, only what the command may have changed
/// is asked. `mapping`, the one before the command, lets the refusal say which other commands would
/// make it legal.
std::shared_ptr<const LegalProgram> require_legal(Program program, const Command *command,
                                                  const LegalProgram *before = nullptr,
                                                  const Mapping *mapping = nullptr);

/// Error(IllegalSchedule) with the violation of a program after `command` (null: of the default
/// schedule).
Error refusal(const Violation &violation, const Command *command);

/// The program after a command that keeps the order of all instances (mapping.h: keeps_order).
std::shared_ptr<const LegalProgram> still_legal(Program program, const LegalProgram &before);

/// One dependence of Layer I as a relation between statement instances.
struct Dependence {
  std::string source; ///< statement that writes
  std::string sink;   ///< statement that reads
  std::string array;  ///< computation or input that carries it
  isl::map relation;  ///< source instance -> sink instance
  bool exact = true;  ///< false: over-approximated because a subscript is not affine
};
std::vector<Dependence> flow_dependences(const Program &program);

/// "C[i, j, k] -> C[i, j, k + 1]": an isl relation from `source` without what the declaration says
/// anyway.
std::string relation_text(const Program &program, const isl::map &relation,
                          const Statement &source);

} // namespace tilewright
