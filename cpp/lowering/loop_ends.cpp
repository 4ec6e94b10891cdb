#include "lowering/loop_ends.h"

#include <isl/ast.h>
#include <isl/id.h>

#include <string>

namespace tilewright {

namespace {

constexpr const char *doing_loop_ends = "looking at the ends of loops";

bool mentions(const isl::ast_expr &expr, const std::string &name) {
  if (isl_ast_expr_get_type(expr.get()) == isl_ast_expr_id) {
    return isl_id_get_name(isl::manage(isl_ast_expr_get_id(expr.get())).get()) == name;
  }
  bool found = false;
  const bool is_operation = isl_ast_expr_get_type(expr.get()) == isl_ast_expr_op;
  const isl_size count = is_operation ? isl_ast_expr_op_get_n_arg(expr.get()) : 0;
  for (isl_size i = 0; i < count && !found; ++i) {
    found = mentions(checked(isl::manage(isl_ast_expr_op_get_arg(expr.get(), i)), doing_loop_ends),
                     name);
  }
  return found;
}

} // namespace

bool ends_by_its_own_counter(const isl::ast_node &root) {
  bool found = false;
  isl_ast_node_foreach_descendant_top_down(
      root.get(),
      [](isl_ast_node *node, void *user) {
        if (isl_ast_node_get_type(node) != isl_ast_node_for ||
            isl_ast_node_for_is_degenerate(node) == isl_bool_true) {
          return isl_bool_true;
        }
        const isl::ast_expr counter = isl::manage(isl_ast_node_for_get_iterator(node));
        const std::string name =
            isl_id_get_name(isl::manage(isl_ast_expr_get_id(counter.get())).get());
        const isl::ast_expr condition = isl::manage(isl_ast_node_for_get_cond(node));
        auto &seen = *static_cast<bool *>(user);
        if (isl_ast_expr_get_type(condition.get()) != isl_ast_expr_op) {
          seen = true; // 1: an end that isl forgot
          return isl_bool_true;
        }
        const isl::ast_expr bound = isl::manage(isl_ast_expr_op_get_arg(condition.get(), 1));
        seen = seen || mentions(checked(bound, doing_loop_ends), name);
        return isl_bool_true;
      },
      &found);
  return found;
}

} // namespace tilewright
