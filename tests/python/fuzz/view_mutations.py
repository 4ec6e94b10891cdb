"""Breaks of what the checker knows of views that are outputs: (what, file, old text, new text), as of `mutations`."""

VIEW_MUTATIONS = [
    (
        "what an output shows need not stay",
        "cpp/analysis/legality_checker.cpp",
        "for (const Program::View &view : program_.views) { if (!violation_) {",
        "for (const Program::View &view : program_.views) { if (false) {",
    ),
    (
        "an output in the buffer of what it shows needs no copy",
        "cpp/mapping/program_views.cpp",
        "if (!checked(known(here).is_subset(known(there)), doing_program_views)) {",
        "if (checked(known(here).is_disjoint(known(there)), doing_program_views)) {",
    ),
    (
        "what an output shows of an input may be overwritten",
        "cpp/mapping/program_views.cpp",
        "if (view.producer->is_input && is_overwritten(view)) {",
        "if (false) {",
    ),
    (
        "a view is its last piece",
        "cpp/algorithm/views.cpp",
        "for (size_t p = view.pieces.size() - 1; p-- > 0;) {",
        "for (size_t p = 0; p-- > 0;) {",
    ),
]
