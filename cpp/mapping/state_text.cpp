#include "mapping/state_text.h"

#include "mapping/state_fields.h"

#include <map>
#include <optional>
#include <set>
#include <type_traits>

namespace tilewright {

namespace {

/// One line for each number, name, function or expression, under the path of its fields.
class StateWriter {
public:
  explicit StateWriter(CanonicalWriter &out) : out_(out) {}

  template <class Value>
  void visit(const char *name, const Value &value) {
    const std::string outer = path_;
    path_ += path_.empty() ? name : std::string(".") + name;
    write(value);
    path_ = outer;
  }

  template <class Value>
  void aside(const char *, const Value &) {}

private:
  void write(const std::string &value) { out_.line(path_ + " " + sized_text(value)); }
  void write(const isl::pw_aff &value) { out_.line(path_ + " " + canonical_text(value)); }
  void write(const isl::set &value) { out_.line(path_ + " " + canonical_text(value)); }
  void write(const isl::map &value) { out_.line(path_ + " " + canonical_text(value)); }
  void write(const ExprPtr &value) { out_.expression(path_, value); }

  void write(const std::optional<isl::set> &value) {
    if (value) {
      write(*value);
    }
  }

  template <class Value>
  void write(const std::vector<Value> &values) {
    out_.line(path_ + " of " + std::to_string(values.size()));
    for (const Value &value : values) {
      write(value);
    }
  }

  template <class Value>
  void write(const std::map<std::string, Value> &values) {
    out_.line(path_ + " of " + std::to_string(values.size()));
    for (const auto &[name, value] : values) {
      write(name);
      write(value);
    }
  }

  void write(const std::set<std::string> &values) {
    write(std::vector<std::string>(values.begin(), values.end()));
  }

  template <class Value>
  void write(const Value &value) {
    if constexpr (std::is_enum_v<Value>) {
      out_.line(path_ + " " + std::to_string(static_cast<int>(value)));
    } else if constexpr (std::is_arithmetic_v<Value>) {
      out_.line(path_ + " " + std::to_string(value));
    } else {
      visit_fields(value, *this);
    }
  }

  CanonicalWriter &out_;
  std::string path_;
};

} // namespace

void write_state(CanonicalWriter &out, const MappingState &state) {
  visit_fields(state, StateWriter(out));
}

std::string to_string(const MappingState &state) {
  CanonicalWriter out;
  write_state(out, state);
  return out.take();
}

bool same_mapping(const MappingState &a, const MappingState &b) {
  return a.function == b.function && to_string(a) == to_string(b);
}

} // namespace tilewright
