"""Breaks of join and of blocks of a part of a size, and of what the checker knows of such loops (mutations.py)."""

#: What is broken, the file, the text there and the text instead.
JOINS = [
    (
        "a joined loop has one iteration too few of the inner one",
        "cpp/mapping/join_command.cpp",
        "const std::int64_t extent = range.last - range.first + 1;",
        "const std::int64_t extent = range.last - range.first;",
    ),
    (
        "lanes of joined loops are in order",
        "cpp/mapping/mapping.cpp",
        "return is_concurrent(tag.tag) || is_concurrent(tag.strips);",
        "return is_concurrent(tag.tag);",
    ),
    (
        "vectors of joined loops change nothing",
        "cpp/analysis/unchanged.cpp",
        "return kind(a) == kind(b) && is_concurrent(a.strips) == is_concurrent(b.strips);",
        "return kind(a) == kind(b);",
    ),
    (
        "loops are counted through whatever their bounds depend on",
        "cpp/mapping/joined_dimensions.cpp",
        'if (!checked(checked(product, "bounds of loops").is_subset(here), "bounds of loops")) {',
        "if (false) {",
    ),
    (
        "a part of a size never comes before an earlier one",
        "cpp/mapping/compare_loops.cpp",
        "found.larger = found.larger.unite(larger);",
        "",
    ),
]
