// _core.Transaction: the context manager that Function.transaction() answers with. Its methods are
// C++ so that no signal's handler runs between the moment when a transaction opens and the one when
// the interpreter is bound to end it.
#include "bindings/bind_transactions.h"

#include "bindings/bind_errors.h"
#include "bindings/bind_language.h"
#include "bindings/kernel_call.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace tilewright {

namespace py = pybind11;

namespace {

class Transaction {
public:
  Transaction(py::object function, SourceLocation where)
      : function_(std::move(function)), kernel_(function_.cast<KernelFunction &>()),
        where_(std::move(where)) {}
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  ~Transaction() { roll_back(); }

  py::object enter() {
    if (was_entered_) {
      throw Error(ErrorKind::Schedule,
                  kernel_.function().name +
                      ": this transaction was entered before; transaction() makes another one",
                  where_);
    }
    number_ = kernel_.begin(where_);
    was_entered_ = true;
    return function_;
  }

  /// What the body raised goes on; else the commands are asked about.
  void exit(const py::object &raised) {
    if (!raised.is_none()) {
      roll_back();
      return;
    }
    if (!number_) {
      throw Error(ErrorKind::Schedule, kernel_.function().name + ": no transaction to leave",
                  where_);
    }
    try {
      kernel_.commit(*std::exchange(number_, std::nullopt));
    } catch (const Error &error) {
      raise_of_function(error, function_);
    }
  }

private:
  void roll_back() noexcept {
    if (number_) {
      kernel_.roll_back(*std::exchange(number_, std::nullopt));
    }
  }

  py::object function_;
  KernelFunction &kernel_;
  SourceLocation where_;
  std::optional<std::uint64_t> number_; ///< while it is open
  bool was_entered_ = false;
};

} // namespace

void bind_transactions(py::module_ &module) {
  py::class_<Transaction>(module, "Transaction")
      .def(py::init([](const py::object &function, const py::handle &where) {
             return std::make_unique<Transaction>(function, to_location(where));
           }),
           py::arg("function"), py::arg("where"))
      .def("__enter__", &Transaction::enter)
      .def("__exit__", [](Transaction &self, const py::object &kind, const py::object &,
                          const py::object &) { self.exit(kind); });
}

} // namespace tilewright
