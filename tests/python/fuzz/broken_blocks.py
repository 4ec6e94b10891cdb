"""Breaks of what the checker knows of blocks (mutations.py)."""

_RESULTS = "cpp/mapping/program_blocks.cpp"
_LOOP = "add_loop(statement, {loop.name, checked(isl::manage(value), doing_program_blocks), loop.tag, loop.extent});"

#: What is broken, the file, the text there and the text instead.
BLOCKS = [
    (
        "what a block writes is there before its call",
        _RESULTS,
        "++statement.order.back(); // behind the call",
        "--statement.order.back();",
    ),
    (
        "what a block writes is there an iteration later",
        _RESULTS,
        _LOOP,
        _LOOP.replace(
            "checked(isl::manage(value), doing_program_blocks)",
            "isl::manage(value).add_constant(isl::val(isl_context(), 1L))",
        ),
    ),
    (
        "what the calls of a parallel loop write is in order",
        _RESULTS,
        _LOOP,
        _LOOP.replace("loop.tag", "{}"),
    ),
    (
        "a call may write where it reads",
        _RESULTS,
        "if (sample_point(checked(both.domain(), doing_program_blocks), point)) {",
        "if (false) {",
    ),
]
