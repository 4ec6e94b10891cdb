#include "passes/cheap_stores.h"

#include "loops/speculation.h"
#include "loops/traverse.h"

namespace tilewright {

namespace {

constexpr int most_operations = 16; ///< those of subscripts among them
constexpr int most_loads = 3;

bool is_simple(Op op) {
  return op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Min || op == Op::Max ||
         op == Op::And || op == Op::Or;
}

bool reads(const ValuePtr &root) {
  bool found = false;
  visit_value(root, [&](const Value &value) { found = found || is<Load>(value); });
  return found;
}

} // namespace

bool is_cheap_store(const StmtPtr &statement) {
  if (is<Block>(statement) && statement->children.size() == 1) {
    return is_cheap_store(statement->children.front());
  }
  const auto *store = as<Store>(statement);
  if (store == nullptr || store->op != Op::None || store->mask) {
    return false;
  }
  bool is_cheap = true;
  int operations = 0;
  int loads = 0;
  visit_value(store->value, [&](const Value &value) {
    if (const auto *load = as<Load>(value)) {
      ++loads;
      for (const ValuePtr &subscript : load->subscripts()) {
        is_cheap = is_cheap && !reads(subscript); // no gathers
      }
      return;
    }
    const auto *binary = as<Binary>(value);
    operations += binary != nullptr ? 1 : 0;
    is_cheap = is_cheap && (binary == nullptr || is_simple(binary->op)) && !is<Call>(value) &&
               !is<Extern>(value);
  });
  for (const ValuePtr &subscript : store->subscripts) {
    is_cheap = is_cheap && !reads(subscript); // no scatters
  }
  return is_cheap && operations <= most_operations && loads <= most_loads;
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
