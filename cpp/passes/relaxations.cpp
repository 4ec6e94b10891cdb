#include "passes/relaxations.h"

#include "loops/speculation.h"
#include "loops/traverse.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr int most_operations = 16; ///< those of subscripts among them
constexpr int most_loads = 3;

bool is_simple(Op op) {
  return op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Min || op == Op::Max ||
         op == Op::And || op == Op::Or;
}

bool is_order(Op op) { return op == Op::Lt || op == Op::Le || op == Op::Gt || op == Op::Ge; }

bool reads(const ValuePtr &root) {
  bool found = false;
  visit_value(root, [&](const Value &value) { found = found || is<Load>(value); });
  return found;
}

bool is_cheap(const Store &store) {
  bool is_simple_value = true;
  int operations = 0;
  int loads = 0;
  visit_value(store.value, [&](const Value &value) {
    if (const auto *load = as<Load>(value)) {
      ++loads;
      for (const ValuePtr &subscript : load->subscripts()) {
        is_simple_value = is_simple_value && !reads(subscript); // no gathers
      }
      return;
    }
    const auto *binary = as<Binary>(value);
    operations += binary != nullptr ? 1 : 0;
    is_simple_value = is_simple_value && (binary == nullptr || is_simple(binary->op)) &&
                      !is<Call>(value) && !is<Extern>(value);
  });
  for (const ValuePtr &subscript : store.subscripts) {
    is_simple_value = is_simple_value && !reads(subscript); // no scatters
  }
  return is_simple_value && operations <= most_operations && loads <= most_loads;
}

} // namespace

bool is_relaxation(const If &node) {
  StmtPtr then = node.then();
  while (is<Block>(then) && then->children.size() == 1) {
    then = then->children.front();
  }
  const auto *store = as<Store>(then);
  const auto *test = as<Binary>(node.condition);
  if (node.has_otherwise() || store == nullptr || store->op != Op::None || store->mask ||
      test == nullptr || !is_order(test->op)) {
    return false;
  }
  const auto is_element = [&](const ValuePtr &value) {
    const auto *load = as<Load>(value);
    return load != nullptr && load->buffer == store->buffer &&
           std::equal(load->subscripts().begin(), load->subscripts().end(),
                      store->subscripts.begin(), store->subscripts.end(), same_value);
  };
  const bool compares = (is_element(test->left()) && same_value(test->right(), store->value)) ||
                        (is_element(test->right()) && same_value(test->left(), store->value));
  return compares && is_cheap(*store);
}

bool reads_shared(const StmtPtr &statement) {
  bool shared = false;
  visit_statements(statement, [&](const LoopStatement &inner) {
    visit_values(inner, [&](const Value &value) {
      const auto *load = as<Load>(value);
      const bool is_there = load != nullptr && load->subscripts().empty(); // a scalar
      shared = shared || (!is_speculable(value) && value.type.lanes == 1 && !is_there);
    });
  });
  return shared;
}

} // namespace tilewright
