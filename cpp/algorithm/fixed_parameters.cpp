#include "algorithm/fixed_parameters.h"

#include "algorithm/declaration_checks.h"
#include "algorithm/function_copy.h"
#include "algorithm/reductions.h"

#include <unordered_map>
#include <utility>

namespace tilewright {

namespace {

constexpr const char *doing_fixed_parameters = "what is known of parameters";

isl::set value_of(const std::string &name, std::int64_t value) {
  const isl::set set(isl_context(),
                     "[" + name + "] -> { : " + name + " = " + std::to_string(value) + " }");
  return checked(set, doing_fixed_parameters);
}

/// An expression with numbers for parameters. What a reduction runs over stays: it is a set.
ExprPtr with_numbers(const ExprPtr &root, const std::map<std::string, std::int64_t> &values) {
  std::unordered_map<const Expr *, ExprPtr> by;
  visit(root, [&](const ExprPtr &node) {
    const auto value = node->kind == ExprKind::Parameter ? values.find(node->name) : values.end();
    if (value != values.end()) {
      by.emplace(node.get(), constant(value->second, Int64));
    }
  });
  return by.empty() ? root : with_replaced(root, std::move(by));
}

/// Does every read whose subscripts are affine stay inside its array?
bool stays_inside(const Computation &computation, const Piece &piece, const isl::set &context) {
  try {
    check_reads(computation, piece, context, Readable::Defined);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Bounds) {
      throw;
    }
    return false;
  }
  return true;
}

} // namespace

std::shared_ptr<const Function>
with_fixed_parameters(const Function &function, const std::map<std::string, std::int64_t> &values) {
  Copies copies;
  const std::shared_ptr<Function> result = copy_function(function, copies);
  for (const auto &[name, value] : values) {
    result->context =
        checked(result->context.intersect(value_of(name, value)), doing_fixed_parameters);
  }
  for (const ComputationPtr &computation : result->computations) {
    for (Piece &piece : computation->pieces) {
      Piece known = piece;
      known.value = with_numbers(piece.value, values);
      if (known.value != piece.value && stays_inside(*computation, known, result->context)) {
        piece = std::move(known);
      }
    }
  }
  return result;
}

} // namespace tilewright
