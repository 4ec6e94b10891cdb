// Values of the loop IR as expressions of C. Arithmetic on indices is C's own, as it cannot wrap;
// data's is too where C means the same, and else a call of a helper. Vectors, and what a GPU's
// thread has, are no values here. Where elements lie is somebody else's knowledge (CPlaces), so
// that another dialect of C can print the same expressions.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"
#include "targets/c_source/helpers.h"
#include "targets/c_source/names.h"
#include "targets/c_source/text.h"

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {

/// How the elements of a kernel's buffers are written.
class CPlaces {
public:
  CPlaces() = default;
  CPlaces(const CPlaces &) = delete;
  CPlaces &operator=(const CPlaces &) = delete;
  virtual ~CPlaces() = default;

  /// The lvalue of an element; the subscripts are printed.
  virtual std::string element(std::int64_t buffer, const std::vector<CText> &subscripts) const = 0;
};

class CExpressions {
public:
  CExpressions(const Kernel &kernel, CHelpers &helpers, CNames &names, const CPlaces &places,
               std::vector<std::string> parameters, std::set<std::int64_t> sizes)
      : kernel_(kernel), helpers_(helpers), names_(names), places_(places),
        parameters_(std::move(parameters)), sizes_(std::move(sizes)) {}

  CText text(const Value &value);
  CText text(const ValuePtr &value) { return text(*value); }
  /// The lvalue.
  std::string element(std::int64_t buffer, const std::vector<ValuePtr> &subscripts);
  /// The value, converted.
  CText as(const ValuePtr &value, ScalarType type) { return operand(*value, type); }
  /// What is stored to an element: bits of the narrow floats.
  CText stored(const ValuePtr &value, ScalarType type);
  /// What an element holds, as a value.
  CText loaded(const std::string &element, ScalarType type);
  /// `op` of two values of this type, which are printed.
  CText applied(Op op, ScalarType type, const CText &a, const CText &b);

  /// A variable that counts iterations, or is made of those that do, and where it lies.
  void add_index(std::int64_t id, const Interval &range = {}) {
    indices_.insert(id);
    ranges_.variables[id] = range;
  }
  /// A parameter that is not negative wherever the function does not return at once.
  void add_extent(std::int64_t parameter) { ranges_.parameters[parameter].lower = 0; }
  Interval range_of(const ValuePtr &value) const;
  /// Arithmetic that never leaves int64.
  bool is_index(const Value &value) const;
  /// From here on a value has a name; until it is forgotten.
  void set_name(const Value *value, const std::string &name) { named_[value] = name; }
  void forget_names() { named_.clear(); }

private:
  CText constant(const ConstantValue &value, ScalarType type) const;
  CText real_constant(double value, ScalarType type) const;
  CText converted(const CText &text, ScalarType from, ScalarType to);
  CText to_real(const CText &text, ScalarType from, ScalarType to);
  CText operand(const Value &value, ScalarType type);
  CText binary(const Binary &value);
  CText call(const Value &value, Op op);
  CText call(const Extern &value);
  CText unary(Op op, ScalarType type, const CText &a);
  CText of_bool(Op op, const CText &a, const CText &b);
  CText of_integers(Op op, ScalarType type, const CText &a, const CText &b);
  CText of_floats(Op op, ScalarType type, const CText &a, const CText &b);
  CText of_complex(Op op, ScalarType type, const CText &a, const CText &b);
  CText power(const Binary &value, ScalarType type);
  CText function_of_floats(Op op, ScalarType type, const CText &a);
  CText function_of_integers(Op op, ScalarType type, const CText &a);
  CText function_of_complex(Op op, ScalarType type, const CText &a);
  CText rounded(const CText &text, ScalarType type);

  const Kernel &kernel_;
  CHelpers &helpers_;
  CNames &names_;
  const CPlaces &places_;
  std::vector<std::string> parameters_; ///< their names in C
  std::set<std::int64_t> sizes_;        ///< parameters of a usual size, by position
  std::set<std::int64_t> indices_;
  Ranges ranges_;
  std::unordered_map<const Value *, std::string> named_;
};

/// The value as a constant, through casts.
std::optional<double> constant_real(const Value &value);

} // namespace tilewright
