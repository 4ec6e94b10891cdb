#include "compiler/canonical_text.h"

#include "mapping/state_text.h"
#include "runtime/build_identity.h"
#include "runtime/jit.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

std::string versions() {
  return fmt::format("tilewright build {} llvm {} isl {}", build_identity(), llvm_version(),
                     isl_version_text());
}

} // namespace

std::string canonical_text(const Function &function) {
  CanonicalWriter out;
  out.line(versions());
  out.function(function);
  return out.take();
}

namespace {

void write_environment(CanonicalWriter &out, const CompileOptions &options) {
  out.line(versions());
  out.line("target " + options.target.target->key(target_options(options)));
  out.line(fmt::format("optimize {} default_schedule {}", static_cast<int>(options.optimize),
                       options.default_schedule));
}

} // namespace

std::string canonical_text(const CompileOptions &options) {
  CanonicalWriter out;
  write_environment(out, options);
  out.line(
      fmt::format("fast_math {} bounds {}", options.fast_math, options.instrumentation.bounds));
  return out.take();
}

std::string canonical_text(const Mapping &mapping, const CompileOptions &options) {
  const Function &function = mapping.function();
  CanonicalWriter out;
  write_environment(out, options);
  for (const std::string &part : options.unscheduled_parts) {
    out.line("unscheduled " + sized_text(part));
  }
  const Instrumentation &asked = options.instrumentation;
  if (asked != Instrumentation{}) {
    out.line(fmt::format("watch {} {} {} {} {}", asked.bounds, asked.values, asked.infinities,
                         asked.times, sized_text(asked.computation)));
  }
  std::string layouts;
  for (const ArrayLayout &layout : options.layouts) {
    layouts += fmt::format(" {}/{}", layout.unit, layout.packed);
  }
  out.line(fmt::format("fast_math {} layouts{}", options.fast_math, layouts));
  out.function(function);
  write_state(out, mapping.state());
  if (options.declared != nullptr) {
    out.line("declared");
    out.function(options.declared->function());
    write_state(out, options.declared->state());
  }
  return out.take();
}

} // namespace tilewright
