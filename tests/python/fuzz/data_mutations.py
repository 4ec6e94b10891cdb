"""Breaks of what the checker knows of conditions on data, and of blocks: (what, file, old text, new text), as of
`mutations`."""

from fuzz.broken_blocks import BLOCKS
from fuzz.broken_iterations import ITERATIONS

DATA_MUTATIONS = [
    (
        "what the condition of a statement reads is forgotten",
        "cpp/mapping/accesses.cpp",
        "walk.walk_predicate(statement_.predicate, statement_.domain, statement_.iterators);",
        "",
    ),
    (
        "elements that may not exist are read",
        "cpp/algorithm/existing.cpp",
        "if (!checked(there.is_subset(exists), doing_existing)) {",
        "if (checked(exists.is_empty(), doing_existing)) {",
    ),
    (
        "the other branch is taken to be under the condition",
        "cpp/algorithm/existing.cpp",
        "checked(known.subtract(holds), doing_existing)",
        "checked(known.intersect(holds), doing_existing)",
    ),
    (
        "a value of one element is kept for all whose other subscripts are the same",
        "cpp/algorithm/element_values.cpp",
        "if (iterators.size() == part->operands.size() && names.size() == iterators.size() &&",
        "if (names.size() == iterators.size() &&",
    ),
    *BLOCKS,
    *ITERATIONS,
]
