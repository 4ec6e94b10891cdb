// The questions behind find_violation, one for each thing that a read relies on: the write it needs
// comes first, nothing overwrites the element in between, and the terms of a reduction do not meet.
// Each question is about two or three statements; what a legal program has answered before, and no
// command has touched since, is not asked again (analysis/unchanged.h).
#pragma once

#include "analysis/happens_before.h"
#include "analysis/legality.h"
#include "analysis/unchanged.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

class LegalityChecker {
public:
  /// `before`: an earlier program of the same function that was found legal, or null.
  LegalityChecker(const Program &program, const LegalProgram *before);

  std::optional<Violation> find();

  /// After find() found nothing: what the next question about this function may rely on. Takes the
  /// program that this is about.
  std::shared_ptr<const LegalProgram> legal(Program &&program) const;

private:
  std::shared_ptr<const std::vector<ReadAccess>> reads_of(const Statement &sink) const;
  bool is_settled(const Statement &sink) const;
  bool is_settled(const Statement &source, const Statement &sink) const;
  bool stay_ordered(const Statement &first, const Statement &second, const isl::map &pairs,
                    bool forward = false) const;
  bool writes_stay_ordered(const Statement &source, const Statement &writer) const;
  bool reads_stay_ordered(const Statement &sink, const Computation &producer,
                          const isl::map &read) const;
  static std::string loop_name(const Statement &statement, int level);
  static std::string tag_name(const Statement &statement, int level);
  // ---- legality_reductions.cpp ----
  void check_accumulation(const Statement &update);
  void check_accumulated(const Statement &sink, const isl::map &value);
  void check_order_of_terms(const Statement &update, const isl::map &pairs);
  // ---- legality_iterations.cpp ----
  void check_iterations();
  // ---- legality_copies.cpp ----
  void check_chain(const Statement &sink, const ReadAccess &read);
  void check_copies(const Statement &sink, const ReadAccess &read);
  // ---- legality_overwrites.cpp ----
  void check_overwrite(const Statement &source, const Statement &sink, const Statement &writer,
                       const isl::map &flow, const std::string &doubt);
  size_t loops_together(const Statement &source, const Statement &sink, const isl::map &flow) const;
  bool outside(const Statement &writer, const Statement &source, const Statement &sink,
               size_t together) const;
  const std::optional<isl::map> &next_writes(const Statement &statement) const;
  bool read_before_next_write(const Statement &source, const Statement &sink,
                              const isl::map &flow) const;
  const isl::map &written(const Statement &statement) const;
  const isl::map &other_writes(const Statement &source, const Statement &writer) const;
  const std::vector<UnorderedPairs> &not_earlier(const Statement &source,
                                                 const Statement &writer) const;
  // ---- legality_checker.cpp ----
  void check_read(const Statement &sink, const ReadAccess &read);
  void check_input(const Statement &sink, const ReadAccess &read);
  void check_private(const Statement &source, const Statement &sink, const isl::map &flow,
                     const std::string &doubt);
  void check_flow(const Statement &source, const Statement &sink, isl::map flow,
                  const std::string &doubt);
  void check_survival(const Statement &source);
  void check_shown(const Program::View &view);
  isl::map promised(const Statement &first, const Statement &second, isl::map pairs, bool exact);
  std::string order_explanation(const Statement &source, const Statement &sink,
                                const UnorderedPairs &wrong) const;
  bool may_be_impossible(const Statement &statement) const;
  void report(Violation::Kind kind, const Statement &first, const Statement &second,
              const isl::map &pairs, std::string explanation);
  void add_element(const Statement &writer, bool second = false);

  const Program &program_;
  Unchanged unchanged_;
  std::unordered_map<const Computation *, std::vector<const Statement *>> statements_of_;
  std::vector<std::vector<const Statement *>> writers_; ///< of each buffer
  std::vector<bool> apart_; ///< each element of a buffer holds one value of one computation only
  std::map<std::string, std::shared_ptr<const std::vector<ReadAccess>>> reads_; ///< so far
  mutable std::unordered_map<const Statement *, isl::map> written_;
  /// By source and writer: asked once for all reads of a value.
  using StatementPair = std::pair<const Statement *, const Statement *>;
  mutable std::map<StatementPair, isl::map> other_writes_;
  mutable std::map<StatementPair, std::vector<UnorderedPairs>> not_earlier_;
  mutable std::map<StatementPair, bool> writes_stay_ordered_;
  mutable std::map<const Statement *, std::optional<isl::map>> next_writes_;
  std::optional<Violation> violation_;
  Point first_;
  Point second_;
};

} // namespace tilewright
