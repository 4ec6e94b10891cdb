"""Breaks of what two orders of one program are asked to agree on (mutations.py)."""

#: What is broken, the file, the text there and the text instead.
ORDERS = [
    (
        "two orders may disagree about which value of an element is written first",
        "cpp/analysis/write_order.cpp",
        """if (!not_before(other, *first_there, *second_there, checked(ordered, doing_write_order))
               .empty()) {
        return false;
      }""",
        "",
    ),
]
