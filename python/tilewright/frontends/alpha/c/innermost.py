"""What runs the instances of a statement in the loops of D-tiled C: at one time, or along the innermost
dimension of time."""

from __future__ import annotations

from ..domains import Domain
from ..linear import Floor, Linear
from ..presburger import Constraint
from ..spaces import bounds, near_domain
from .statements import affine_text, condition_text, folded_text

__all__ = ["Row", "instance_lines"]


def instance_lines(part: Domain, times: int, call: str) -> list[str]:
    """The instances of a time: loops over their indices, of which those that the time gives are
    constants.

    Args:
        part: a polyhedron over times, then indices.
        times: how many are times.
        call: what runs one.
    """
    lines, opened, left = _indices(part, times)
    guard = f"if ({condition_text([left])}) " if left else ""
    return ["{", *lines, f"{guard}{call}", "}" * (opened + 1)]


def _indices(part: Domain, times: int) -> tuple[list[str], int, list[Constraint]]:
    """What declares the indices, how many loops that opens, and the conditions that are left."""
    lines: list[str] = []
    values: dict[str, Linear] = {}
    opened = 0
    for name in part.indices[times:]:
        near = near_domain(part, name)
        lower, upper = bounds(near.parts[0], name) if near.parts else ([], [])
        single = next((each for each in lower if each in upper and not _has_floors(each)), None)
        if single is not None:
            values[name] = single.substituted(values)
            lines.append(f"const int64_t {name} = {affine_text(values[name])};")
            continue
        low = folded_text("greatest", lower) if lower else "0"
        high = folded_text("least", upper) if upper else "-1"
        lines.append(f"for (int64_t {name} = {low}; {name} <= {high}; {name}++) {{")
        opened += 1
    left = [each.substituted(values) for each in part.parts[0]] if part.parts else []
    return lines, opened, [each for each in dict.fromkeys(left) if not _always(each)]


class Row:
    """The instances of a polyhedron along the innermost dimension of time.

    Args:
        part: over times, then indices.
        times: how many are times.
        call: what runs one.
    """

    def __init__(self, part: Domain, times: int, call: str) -> None:
        self.time = part.indices[times - 1]
        self.lines, self.opened, left = _indices(part, times)
        self.call = call
        self.outer: list[Constraint] = []
        self.inner: list[Constraint] = []
        self.lower: list[Linear] = []
        self.upper: list[Linear] = []
        own = set(part.indices[times:])
        for each in left:
            self.sort(each, own)

    def sort(self, constraint: Constraint, own: set[str]) -> None:
        """A condition goes in front of the loop, into its bounds, or into it."""
        linear = constraint.linear
        factor = linear.terms.get(self.time, 0)
        rest = linear - Linear({self.time: factor})
        if linear.names() & own or self.time in rest.names() or abs(factor) > 1:
            self.inner.append(constraint)
        elif not factor:
            self.outer.append(constraint)
        else:
            if factor > 0 or constraint.is_equality:
                self.lower.append(-rest if factor > 0 else rest)
            if factor < 0 or constraint.is_equality:
                self.upper.append(rest if factor < 0 else -rest)

    def loop(self, low: str, high: str, pragma: str) -> list[str]:
        """The loop, within bounds that hold beside its own.

        Args:
            low, high: as C.
            pragma: what stands in front.
        """
        for each in self.lower:
            low = f"greatest({low}, {affine_text(each)})"
        for each in self.upper:
            high = f"least({high}, {affine_text(each)})"
        guard = f"if ({condition_text([self.inner])}) " if self.inner else ""
        test = f"if ({condition_text([self.outer])}) " if self.outer else ""
        name = self.time
        return [
            f"{test}{{",
            f"const int64_t alpha_low = {low}, alpha_high = {high};",
            *([pragma] if pragma else []),
            f"for (int64_t {name} = alpha_low; {name} <= alpha_high; {name}++) {{",
            *self.lines,
            f"{guard}{self.call}",
            "}" * (self.opened + 2),
        ]


def _has_floors(linear: Linear) -> bool:
    return any(isinstance(each, Floor) for each in linear.terms)


def _always(constraint: Constraint) -> bool:
    """Whether it has no variables and holds."""
    constant = constraint.linear.constant
    holds = constant == 0 if constraint.is_equality else constant >= 0
    return not constraint.linear.terms and holds
