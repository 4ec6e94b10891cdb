#include "analysis/copies_ahead.h"

#include "mapping/accesses.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/map.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_copies_ahead = "copies ahead";

class CopiesAhead {
public:
  CopiesAhead(const Program &program, const GpuKernels &kernels)
      : program_(program), kernels_(kernels) {}

  void check(size_t copy) const {
    const Statement &statement = program_.statements[copy];
    const Buffer &buffer = program_.buffers[statement.buffer];
    const auto levels = static_cast<size_t>(buffer.level);
    const LoopTag &tag = statement.tags.at(levels - 1);
    if (tag.tag != Tag::Sequential) {
      refuse(buffer, "the iterations of '" + statement.loop_names[levels - 1] +
                         "' do not come one " + "after the other" +
                         (is_gpu(tag.tag) ? " in a block (" + gpu_tag_name(tag.tag, tag.axis) + ")"
                                          : std::string()) +
                         "; cache inside a loop without a tag");
    }
    for (size_t level = 0; level + 1 < levels; ++level) {
      if (statement.loop_names[level] == statement.loop_names[levels - 1]) {
        refuse(buffer, "another loop outside is named '" + statement.loop_names[level] +
                           "', too; give one of them another name");
      }
      const Tag outer = statement.tags[level].tag;
      if (outer == Tag::GpuThread || outer == Tag::GpuSpread) {
        refuse(buffer, "loop '" + statement.loop_names[level] +
                           "' outside is over threads, which would have to wait for each other "
                           "inside of it; bring it inside (reorder)");
      }
    }
    for (const size_t writer : kernels_.kernel_of(copy)->statements) {
      if (writer != copy && shares_loop(writer, copy, levels - 1)) {
        check_against(writer, copy, levels - 1);
      }
    }
  }

private:
  [[noreturn]] static void refuse(const Buffer &buffer, const std::string &reason) {
    throw Error(ErrorKind::Schedule,
                buffer.command + ": buffer '" + buffer.name +
                    "' cannot be filled ahead (stages): " + reason,
                buffer.where);
  }

  bool shares_loop(size_t first, size_t second, size_t level) const {
    const Statement &a = program_.statements[first];
    const Statement &b = program_.statements[second];
    return level < a.loop_names.size() && level < b.loop_names.size() &&
           std::equal(a.order.begin(), a.order.begin() + static_cast<std::ptrdiff_t>(level) + 1,
                      b.order.begin());
  }

  /// Does `writer` write, in an earlier iteration of the loop at `level` or before the copy in the
  /// same one, what `copy` reads?
  void check_against(size_t writer, size_t copy, size_t level) const {
    const Statement &first = program_.statements[writer];
    const Statement &second = program_.statements[copy];
    const isl::map written = written_element(program_, first);
    for (const ReadAccess &read : read_accesses(second)) {
      const Program::Place &place = program_.places.at(read.producer->name);
      if (place.buffer != first.buffer) {
        continue;
      }
      const isl::map element =
          checked(read.relation.apply_range(place.relation), doing_copies_ahead);
      isl::map pairs = checked(written.apply_range(element.reverse()), doing_copies_ahead);
      for (size_t outer = 0; outer < level; ++outer) {
        pairs = pairs.intersect(
            isl::manage(isl_pw_aff_eq_map(first.loops[outer].copy(), second.loops[outer].copy())));
      }
      const bool comes_before = first.order.at(level + 1) <= second.order.at(level + 1);
      const auto earlier = comes_before ? isl_pw_aff_le_map : isl_pw_aff_lt_map;
      pairs = checked(pairs.intersect(isl::manage(
                          earlier(first.loops[level].copy(), second.loops[level].copy()))),
                      doing_copies_ahead);
      Point from;
      if (sample_point(checked(pairs.domain(), doing_copies_ahead), from)) {
        const Buffer &buffer = program_.buffers[second.buffer];
        refuse(buffer, first.computation->name + " writes to " +
                           program_.buffers[first.buffer].name + " in loop '" +
                           second.loop_names[level] + "', e.g. in " +
                           instance_text(first.name, from.coordinates) + ", what " + buffer.name +
                           " is to have of it in a later iteration; take stages=1");
      }
    }
  }

  const Program &program_;
  const GpuKernels &kernels_;
};

} // namespace

void check_copies_ahead(const Program &program, const GpuKernels &kernels) {
  const CopiesAhead copies(program, kernels);
  for (size_t s = 0; s < program.statements.size(); ++s) {
    const size_t buffer = program.statements[s].buffer;
    if (program.buffers[buffer].stages > 1 && kernels.kernel_of(s) != nullptr &&
        kernels.memory_in_kernel(buffer)) {
      copies.check(s);
    }
  }
}

} // namespace tilewright
