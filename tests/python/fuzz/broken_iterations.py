"""Breaks of what the checker knows of iterations until data say so (mutations.py)."""

_FILE = "cpp/analysis/legality_iterations.cpp"

#: What is broken, the file, the text there and the text instead.
ITERATIONS = [
    (
        "iterations do not wait for the test of earlier ones",
        _FILE,
        "for (const UnorderedPairs &wrong : not_before(program_, *test, statement, pairs)) {",
        "for (const UnorderedPairs &wrong : not_before(program_, *test, statement, "
        "is_iterated ? pairs.subtract(pairs) : pairs)) {",
    ),
    (
        "what stands behind the loop does not wait for its end",
        _FILE,
        "for (const UnorderedPairs &wrong : not_before(program_, *test, statement, pairs)) {",
        "for (const UnorderedPairs &wrong : not_before(program_, *test, statement, "
        "is_iterated ? pairs : pairs.subtract(pairs))) {",
    ),
    (
        "iterations run in any order",
        _FILE,
        "in_loop && runs_in_order(statement) &&",
        "in_loop && (runs_in_order(statement) || true) &&",
    ),
    (
        "an iteration waits for its own test",
        _FILE,
        "isl_map *ordered = isl_map_order_lt(pairs.release(), isl_dim_in, 0, isl_dim_out,",
        "isl_map *ordered = isl_map_equate(pairs.release(), isl_dim_in, 0, isl_dim_out,",
    ),
]
