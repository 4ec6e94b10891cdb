// Functions, and whatever else has expressions and sets, as text that is the same for the same
// things: what cache keys are taken over. Names and types count, source locations do not.
#pragma once

#include "algorithm/function.h"
#include "polyhedral/isl.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {

/// "5:hello": a text that cannot be taken for what stands behind it.
std::string sized_text(const std::string &text);

/// The text of a set or map without redundant constraints: isl finds some and drops them while it
/// answers other questions, so that what a set prints as depends on what it was asked before.
std::string canonical_text(const isl::set &set);
std::string canonical_text(const isl::map &map);
/// isl's own text of an affine function.
std::string canonical_text(const isl::pw_aff &affine);

/// Writes lines. Expressions are numbered lines, a shared node once: linear in the number of nodes.
class CanonicalWriter {
public:
  void line(const std::string &text) { text_ += text + '\n'; }
  void expression(const std::string &label, const ExprPtr &expr);
  void names(const std::string &label, const std::vector<std::string> &list);
  void function(const Function &function);

  std::string take() { return std::move(text_); }

private:
  void computation(const Computation &computation);
  size_t node(const ExprPtr &expr);

  std::string text_;
  std::unordered_map<const Expr *, size_t> numbers_;
};

} // namespace tilewright
