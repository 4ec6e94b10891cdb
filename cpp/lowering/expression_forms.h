// What the translation of expressions asks of an expression alone, and the values of those over
// iterators and parameters, which need no statements before them.
#pragma once

#include "algorithm/affine.h"
#include "loops/build.h"
#include "mapping/program.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// Values are walked as trees: what is used more than once and larger than this has a local.
constexpr std::uint64_t largest_copied = 32;

bool is_leaf(const Expr &expr);
bool contains(const ExprPtr &root, std::initializer_list<ExprKind> kinds);
/// Is it worth a local when it is used more than once?
bool is_worth_a_local(const ExprPtr &expr);
/// Is a select worth looking for what both of its branches compute?
bool is_large(const Expr &select);
/// A local or a variable, or a number a constant distance from it: of the addresses of x[at] and
/// x[at + 1], the same in all lanes.
bool is_named(const Value &value);
/// A parameter as an argument of the kernel, or the number at which it is fixed.
ValuePtr value_of_parameter(const std::string &name, const std::vector<std::string> &parameters,
                            const std::map<std::string, std::int64_t> &fixed);
/// The nodes whose translation is the same everywhere: only their operands matter.
ValuePtr apply_node(const Expr &expr, const std::vector<ValuePtr> &operands);
/// What the nodes of an expression make of the values that `leaf` gives for some; each node once.
ValuePtr applied(const ExprPtr &root, const std::function<ValuePtr(const ExprPtr &)> &leaf);
/// A large sum of leaves and their multiples with each of them once: i + i + i + i is 4 * i.
ExprPtr flattened(const ExprPtr &expr, const IterationSpace &space);

} // namespace tilewright
