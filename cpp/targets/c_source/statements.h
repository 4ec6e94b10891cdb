// The statements of the loop IR as C99 with OpenMP. A check that fails leaves the function with its
// code: through a label where memory must be freed on the way, and through the end of the iteration
// where the loop around is a parallel one.
#pragma once

#include "targets/c_source/c_source.h"
#include "targets/c_source/expressions.h"
#include "targets/llvm/device_program.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// An array that C declares itself, or is given.
struct CArrayName {
  std::string base;
  std::string member;    ///< ".x" of structures
  bool by_value = false; ///< a number
  bool nested = false;   ///< declared with an extent for each dimension
  std::vector<CText> extents;
};

class CArrays : public CPlaces {
public:
  std::string element(std::int64_t buffer, const std::vector<CText> &subscripts) const override;
  CArrayName &at(std::int64_t buffer) { return arrays_[buffer]; }

private:
  std::map<std::int64_t, CArrayName> arrays_;
};

/// Of a printed line; names are not broken.
inline constexpr size_t longest_line = 80;

class CStatements {
public:
  CStatements(const Kernel &kernel, CHelpers &helpers, CNames &names, CArrays &arrays,
              CExpressions &expressions, std::string status_prefix, bool fuses_products)
      : kernel_(kernel), helpers_(helpers), names_(names), arrays_(arrays),
        expressions_(expressions), status_prefix_(std::move(status_prefix)),
        fuses_products_(fuses_products) {}

  /// Before body(), where the kernel has launches. Both stay until it is printed.
  void set_device(const DeviceProgram &program, const CSourceFunction &function);
  /// What stands before the function of a kernel with launches.
  std::string device_definitions() const;
  /// The kernel's body, which goes between braces, with its temporaries and the returns.
  std::string body(const std::vector<std::string> &refused_sizes);

private:
  /// Where control goes when something fails.
  struct Exit {
    std::string label; ///< empty: the function returns at once
    std::string status = "status";
    bool used = false;
  };

  void line(const std::string &text);
  void pragma(const std::string &text) { line("#pragma " + text); }
  void indented(const StmtPtr &body);
  void print(const StmtPtr &statement);
  void print_statement(const Block &sequence);
  void print_statement(const For &loop);
  void print_statement(const While &loop);
  void print_statement(const If &test);
  void print_statement(const Store &store);
  void print_statement(const AtomicUpdate &update);
  void print_statement(const Let &let);
  void print_statement(const DeclareLocal &local);
  void print_statement(const AssignLocal &assignment);
  void print_statement(const Allocate &allocate);
  void print_statement(const CheckIndex &check);
  void print_statement(const CheckValue &check);
  void print_statement(const Timed &timed) { print(timed.body()); }
  void print_statement(const Launch &launch);
  void print_statement(const Barrier &barrier);
  void print_statement(const CopyAsync &copy);
  void print_statement(const CommitCopies &commit);
  void print_statement(const WaitForCopies &wait);

  // loops.cpp
  std::pair<std::string, std::string> bounds(const For &loop);
  void open_loop(const For &loop, const std::pair<std::string, std::string> &bounds);
  void parallel_loop(const For &head);
  void parallel_body(const For &innermost, bool fails);
  std::string parallel_clauses(const For &head, size_t joined);
  std::string work_estimate(const For &head) const;
  bool is_simd(const For &loop) const;

  // launches.cpp
  std::string device_body();
  void copy_arguments();
  void allocate_on_device();
  void allocate_on_device(const Allocate &allocate);
  std::vector<std::string> passed_values(const DeviceLaunch &launch);
  void print_launch(const Launch &statement);
  /// `text` and the values behind it, on as many lines as they take.
  void list(std::string text, const std::vector<std::string> &values, const std::string &end);

  void refuse_sizes(const std::vector<std::string> &refused);
  static bool is_temporary(const KernelBuffer &buffer);
  void allocate_temporaries();
  bool fits_stack(const KernelBuffer &buffer) const;
  bool may_fail(const StmtPtr &root) const;
  void print_allocation(const Allocate &allocate);
  void declare_on_stack(const KernelBuffer &buffer, std::int64_t number, const std::string &value);
  void allocate_on_heap(const KernelBuffer &buffer, std::int64_t number, const StmtPtr &body);
  std::string count_of(const KernelBuffer &buffer);
  void fail(const std::string &status);
  void pass_on(const Exit &failed);
  void note(std::int64_t statement);
  void assignment(const std::string &target, const std::string &value);
  /// The sum of what is there and a product, if that is not rounded by itself; else nothing.
  std::optional<std::string> fused(Op op, const ValuePtr &value, ScalarType type);
  bool print_update(const Store &store, ScalarType type);
  bool has_operator(const AtomicUpdate &update) const;
  /// Gives values that the roots have in several places names. False: there are none.
  bool name_shared(const std::vector<ValuePtr> &roots);
  bool has_shared(const std::vector<ValuePtr> &roots) const;

  const Kernel &kernel_;
  CHelpers &helpers_;
  CNames &names_;
  CArrays &arrays_;
  CExpressions &expressions_;
  std::string status_prefix_;
  const bool fuses_products_; ///< CSourceFunction
  std::string text_;
  int depth_ = 1;
  CNames labels_;
  std::vector<Exit> exits_{Exit{}};
  bool needs_status_ = false;
  std::string noted_; ///< the statement that was announced last
  std::map<std::int64_t, ScalarType> locals_;

  // Of a kernel with launches.
  const DeviceProgram *device_ = nullptr;
  const CSourceFunction *function_ = nullptr;
  std::string gpu_;     ///< the name of what a call has
  std::string kernels_; ///< and of tables of the file
  std::string program_;
  size_t next_launch_ = 0;
  std::map<size_t, std::string> addresses_; ///< on the device, of buffers that have memory now
};

} // namespace tilewright
