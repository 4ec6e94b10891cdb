"""Breaks of what the checker knows of folds: (what, file, old text, new text), as of `mutations`."""

FOLD_MUTATIONS = [
    (
        "lanes combine the terms of a fold",
        "cpp/analysis/legality_reductions.cpp",
        "if (!update.states.empty()) {",
        "if (!update.states.empty() && update.ordered) {",
    ),
    (
        "a fold takes its terms in any order",
        "cpp/mapping/program.cpp",
        "update.ordered = terms.ordered;",
        "update.ordered = terms.ordered && terms.op != Op::ReduceFold;",
    ),
    (
        "partial results of a fold that is not commutative have any terms",
        "cpp/mapping/order_of_partials.cpp",
        'if (checked(pairs.is_empty(), "the order of partial results")) {',
        "if (true) {",
    ),
    (
        "a partial result that comes behind that of a later term is in order",
        "cpp/mapping/order_of_partials.cpp",
        "isl_map_lex_gt_map(value.copy(), value.copy())",
        "isl_map_lex_lt_map(value.copy(), value.copy())",
    ),
]
