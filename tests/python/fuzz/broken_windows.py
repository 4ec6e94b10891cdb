"""Breaks of what is computed inside loops and kept outside of them (mutations.py)."""

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
        "const isl::map last = checked(reading.lexmax(), doing);",
        "const isl::map last = checked(reading.lexmin(), doing);",
    ),
    (
        "a recurrence inside a loop may lack values of its own",
        "cpp/analysis/legality_checker.cpp",
        "if (sink.replicas > 0 && read.producer == sink.computation) {",
        "if (sink.replicas > 99 && read.producer == sink.computation) {",
    ),
]
