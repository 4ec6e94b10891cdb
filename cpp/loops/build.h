// Builders of loop-IR nodes, with local folding of int64 and bool constants. Passes make all nodes
// with them. Builders never check types; verify.h does.
#pragma once

#include "loops/loop_ir.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

// ---- values ----
ValuePtr integer(std::int64_t value);
ValuePtr boolean(bool value);
ValuePtr constant_of(const ConstantValue &value, ScalarType type);
std::shared_ptr<const Variable> variable(std::int64_t id, const std::string &name);
ValuePtr parameter_value(std::int64_t position, const std::string &name);
std::shared_ptr<const Local> local(std::int64_t id, const std::string &name, ValueType type);
ValuePtr load(std::int64_t buffer, const std::string &name, ValueType type,
              std::vector<ValuePtr> subscripts);
/// The load `like` of another element.
ValuePtr load(const Load &like, std::vector<ValuePtr> subscripts);
ValuePtr unary_value(Op op, const ValuePtr &a);
/// The result is bool for comparisons, else of the type of `a`; the lanes are those of the
/// operands, which agree.
ValuePtr binary_value(Op op, const ValuePtr &a, const ValuePtr &b);
ValuePtr call_value(Op op, std::vector<ValuePtr> arguments, ScalarType type);
/// `arguments` have as many lanes each; a null mask is none.
ValuePtr extern_value(const ExternPtr &function, std::vector<ValuePtr> arguments,
                      const ValuePtr &mask = nullptr);
ValuePtr cast_value(const ValuePtr &a, ScalarType type);
ValuePtr select_value(const ValuePtr &condition, const ValuePtr &then, const ValuePtr &otherwise);
ValuePtr ramp(const ValuePtr &base, std::int64_t stride, int lanes);
/// Of the lanes of two loops; a plain ramp where the steps are those of one.
ValuePtr ramp(const ValuePtr &base, std::int64_t stride, int lanes, int inner,
              std::int64_t inner_stride);
/// The ramp `like` from another first lane.
ValuePtr ramp(const Ramp &like, const ValuePtr &base);
/// `load` itself for a null mask; a function of C is called for these lanes only.
ValuePtr masked(const ValuePtr &mask, const ValuePtr &load);
ValuePtr reduce_lanes(Op op, const ValuePtr &vector);
/// What `op`, the combiner of a reduction, leaves as it is.
ValuePtr identity_of(Op op, ScalarType type);
/// `number`: 0, 1, 2 the block's along x, y and z, 3, 4, 5 the thread's.
ValuePtr gpu_index(int number);
/// The operands are scalars: of the two factors, then four sums.
ValuePtr mma_value(MmaShape shape, std::vector<ValuePtr> operands);
ValuePtr lane_value(const ValuePtr &vector, std::int64_t lane);
ValuePtr matrices_value(std::int64_t buffer, const std::string &name, ValueType type,
                        bool transposed, std::vector<ValuePtr> subscripts);
/// `value` of the thread of the warp whose number differs in `bits`.
ValuePtr shuffle_value(const ValuePtr &value, std::int64_t bits);
/// Whether a buffer's address and strides are multiples of `bytes` (Aligned).
ValuePtr aligned(std::int64_t buffer, const std::string &name, int bytes);
ValuePtr broadcast(const ValuePtr &scalar, int lanes); ///< `scalar` itself for one lane

// int64 and bool short cuts
ValuePtr add(const ValuePtr &a, const ValuePtr &b);
ValuePtr sub(const ValuePtr &a, const ValuePtr &b);
ValuePtr mul(const ValuePtr &a, const ValuePtr &b);
ValuePtr floor_div(const ValuePtr &a, const ValuePtr &b);
ValuePtr floor_mod(const ValuePtr &a, const ValuePtr &b);
ValuePtr minimum(const ValuePtr &a, const ValuePtr &b);
ValuePtr maximum(const ValuePtr &a, const ValuePtr &b);
ValuePtr both(const ValuePtr &a, const ValuePtr &b);
ValuePtr either(const ValuePtr &a, const ValuePtr &b);

/// The zero of a type.
ValuePtr zero_of(ScalarType type);

/// The value of an int64 scalar constant.
std::optional<std::int64_t> as_integer(const ValuePtr &value);
/// The value of a bool scalar constant.
std::optional<bool> as_boolean(const ValuePtr &value);
bool is_int64(const ValuePtr &value); ///< scalar of type int64
/// Same structure and leaves (names do not count).
bool same_value(const ValuePtr &a, const ValuePtr &b);
bool are_same(const Value &a, const Value &b);

// ---- statements ----
StmtPtr
block(std::vector<StmtPtr> children); ///< flattens nested blocks; a single child is returned itself
std::shared_ptr<For> for_loop(std::int64_t id, const std::string &name, const ValuePtr &lower,
                              const ValuePtr &upper, LoopKind loop, std::int64_t factor,
                              const StmtPtr &body);
/// The loop `like` between other bounds and with another body.
std::shared_ptr<For> for_loop(const For &like, const ValuePtr &lower, const ValuePtr &upper,
                              const StmtPtr &body);
StmtPtr while_loop(const ValuePtr &condition, const StmtPtr &body);
/// Folds constant conditions; `otherwise` may be null.
StmtPtr if_then(const ValuePtr &condition, const StmtPtr &then, const StmtPtr &otherwise = nullptr);
std::shared_ptr<Store> store(std::int64_t buffer, const std::string &name,
                             std::vector<ValuePtr> subscripts, const ValuePtr &value,
                             Op op = Op::None, const ValuePtr &mask = nullptr);
std::shared_ptr<AtomicUpdate> atomic_update(Op op, std::int64_t buffer, const std::string &name,
                                            std::vector<ValuePtr> subscripts,
                                            const ValuePtr &value);
StmtPtr let(std::int64_t id, const std::string &name, const ValuePtr &value);
StmtPtr declare_local(std::int64_t id, const std::string &name, const ValuePtr &value);
StmtPtr assign_local(std::int64_t id, const std::string &name, const ValuePtr &value,
                     Op op = Op::None);
StmtPtr check_index(std::int64_t site, const ValuePtr &value, const ValuePtr &upper,
                    const ValuePtr &mask = nullptr, std::vector<ValuePtr> reported = {});
StmtPtr check_value(std::int64_t site, const ValuePtr &fails, const ValuePtr &mask,
                    std::vector<ValuePtr> reported);
StmtPtr timed(std::int64_t nest, const StmtPtr &body);
StmtPtr launch(const std::array<std::int64_t, 3> &threads, const StmtPtr &body);
StmtPtr barrier();
/// `store`, of a load, without waiting for it.
StmtPtr copy_async(const Store &store);
StmtPtr commit_copies();
StmtPtr wait_for_copies(std::int64_t groups);
StmtPtr allocate(std::int64_t buffer, const std::string &name, const StmtPtr &body);
bool is_empty(const StmtPtr &statement); ///< a block without children
bool is_gpu(LoopKind loop);

} // namespace tilewright
