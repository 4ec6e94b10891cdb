"""Breaks of what is computed inside loops and kept outside of them, or several times, or copied (mutations.py)."""

#: What is broken, the file, the text there and the text instead.
WINDOWS = [
    (
        "what a window computes is made in the last iteration that reads it",
        "cpp/mapping/windows.cpp",
        "isl_map *first = isl_map_lexmin(",
        "isl_map *first = isl_map_lexmax(",
    ),
    (
        "a window is folded as if each value were read in one iteration only",
        "cpp/mapping/windows.cpp",
        "const isl::map last = checked(reading.lexmax(), doing_windows);",
        "const isl::map last = checked(reading.lexmin(), doing_windows);",
    ),
    (
        "a recurrence inside a loop may lack values of its own",
        "cpp/analysis/legality_checker.cpp",
        "if (sink.replicas > 0 && read.producer == sink.computation) {",
        "if (sink.replicas > 99 && read.producer == sink.computation) {",
    ),
    (
        "any copy of a value will do, whenever it runs",
        "cpp/analysis/legality_copies.cpp",
        "flow = flow.subtract(wrong.pairs);",
        "static_cast<void>(wrong);",
    ),
    (
        "a copy in the memory of another iteration will do",
        "cpp/analysis/legality_copies.cpp",
        "for (size_t level = 0; level < levels; ++level) {",
        "for (size_t level = 0; level < levels && levels > 99; ++level) {",
    ),
    (
        "copies are not overwritten",
        "cpp/analysis/legality_copies.cpp",
        "if (!violation_ && !apart_[sources[s]->buffer]) {",
        "if (!violation_ && !apart_[sources[s]->buffer] && s > 99) {",
    ),
    (
        "all copies must come before their readers",
        "cpp/analysis/legality_checker.cpp",
        "[](const Statement *source) { return source->copied; })",
        "[](const Statement *source) { return source->copied && source->replicas > 99; })",
    ),
    (
        "blocks of a part of a parameter begin where the loop does",
        "cpp/mapping/parametric_split.cpp",
        "rests.push_back(loop.value.sub(starts.back()));",
        "rests.push_back(loop.value);",
    ),
    (
        "copies of a short loop begin where two of its iterations say, whether they read or not",
        "cpp/mapping/footprint.cpp",
        "for (size_t c = 1; c < lowers.size() && in_steps; ++c) {",
        "for (size_t c = 2; c < lowers.size() && in_steps; ++c) {",
    ),
    (
        "a copy whose size depends on sizes lacks its last element",
        "cpp/mapping/footprint.cpp",
        "const isl::pw_aff size = needed.dim_max(static_cast<int>(d)).sub(lower).add_constant(1L);",
        "const isl::pw_aff size = needed.dim_max(static_cast<int>(d)).sub(lower);",
    ),
]
