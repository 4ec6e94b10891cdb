"""What sets and maps share: named unions of parts, each in a space of its own.

Every operation takes and gives immutable values; where another set or map is asked for, its text
does. Parameters of the same name are the same parameter. An operation that needs too much work
raises `AnalysisLimitError`, and Ctrl-C ends any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from .. import _core
from ..base.checks import SET, a_list, a_string, an_integer, an_isl_text, described
from ..base.display import preformatted
from ..base.errors import SetTypeError
from .parameters import parameter_values, require_values
from .points import Shape, shape_text

__all__ = ["NamedUnion", "only", "positions_of"]

Self = TypeVar("Self", bound="NamedUnion")


class NamedUnion:
    """Base of `Set` and `Map`."""

    __slots__ = ("__weakref__", "_handle")

    _handle: Any
    _kind: ClassVar[type[Any]]
    _noun: ClassVar[str]
    _islpy_class: ClassVar[str]

    def __init__(self, text: str | NamedUnion) -> None:
        if isinstance(text, type(self)):
            self._handle = text._handle
        else:
            self._handle = self._kind(an_isl_text(text, f"the text of a {self._noun}", SET))

    @classmethod
    def _of(cls: type[Self], handle: Any) -> Self:
        value = cls.__new__(cls)
        value._handle = handle
        return value

    def _operand(self: Self, other: object, what: str) -> Any:
        """The handle of another value of this kind, or of the text of one."""
        if isinstance(other, str):
            return type(self)(other)._handle
        if not isinstance(other, type(self)):
            raise SetTypeError(
                f"{what} takes a {self._noun} or the text of one, got {described(other)}"
            )
        return other._handle

    def _operator(self: Self, other: object, name: str, sign: str) -> Any:
        if isinstance(other, type(self)):
            return self._of(getattr(self._handle, name)(other._handle))
        if isinstance(other, NamedUnion):
            raise SetTypeError(
                f"{sign} takes two sets or two maps, got a {self._noun} and a {other._noun}; a map "
                "is restricted by m.intersect_domain(s) or m.intersect_range(s), and applied by m(s)"
            )
        return NotImplemented

    # ---- what is there ----

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, used or not."""
        return tuple(self._handle.parameters())

    @property
    def tuples(self) -> tuple[str, ...]:
        """The spaces of the parts as text: ``("S[i, j]", "T[i]")``."""
        return tuple(shape_text(shape) for shape in self._shapes())

    def _shapes(self) -> list[Shape]:
        shapes: list[Shape] = self._handle.tuples()
        return shapes

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it, whatever the values of the parameters."""
        empty: bool = self._handle.is_empty()
        return empty

    def __bool__(self) -> bool:
        """Whether there is anything in it, for some values of the parameters."""
        return not self.is_empty

    def is_subset(self: Self, other: Self | str) -> bool:
        """Whether all of it is in the other one, for all values of the parameters; ``<=``."""
        inside: bool = self._handle.is_subset(self._operand(other, "is_subset"))
        return inside

    def is_disjoint(self: Self, other: Self | str) -> bool:
        """Whether nothing is in both."""
        empty: bool = self._handle.intersect(self._operand(other, "is_disjoint")).is_empty()
        return empty

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        same: bool = self._handle.equals(other._handle)
        return same

    def __hash__(self) -> int:
        return hash((self._noun, self._handle.spaces()))

    def __le__(self: Self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.is_subset(other)

    def __lt__(self: Self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.is_subset(other) and not other.is_subset(self)

    def __ge__(self: Self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return other.is_subset(self)

    def __gt__(self: Self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return other.is_subset(self) and not self.is_subset(other)

    # ---- of two ----

    def union(self: Self, other: Self | str) -> Self:
        """What is in either; ``|``."""
        return self._of(self._handle.unite(self._operand(other, "union")))

    def intersect(self: Self, other: Self | str) -> Self:
        """What is in both; ``&``.

        Raises:
            SetError: both have a tuple of one name, but with other dimensions. This is so for all
                operations that compare spaces.
        """
        return self._of(self._handle.intersect(self._operand(other, "intersect")))

    def subtract(self: Self, other: Self | str) -> Self:
        """What is in this one and not in the other; ``-``."""
        return self._of(self._handle.subtract(self._operand(other, "subtract")))

    def __or__(self: Self, other: object) -> Self:
        return self._operator(other, "unite", "|")  # type: ignore[no-any-return]

    def __and__(self: Self, other: object) -> Self:
        return self._operator(other, "intersect", "&")  # type: ignore[no-any-return]

    def __sub__(self: Self, other: object) -> Self:
        return self._operator(other, "subtract", "-")  # type: ignore[no-any-return]

    def __xor__(self: Self, other: object) -> Self:
        """What is in exactly one."""
        first = self._operator(other, "subtract", "^")
        if first is NotImplemented or not isinstance(other, type(self)):
            return NotImplemented
        return self._of(first._handle.unite(other._handle.subtract(self._handle)))

    def product(self: Self, other: Self | str) -> Self:
        """Each of this one with each of the other: of sets ``{ [A[i] -> B[j]] }``, of maps
        ``{ [A[i] -> B[j]] -> [C[k] -> D[l]] }``; ``*``."""
        return self._of(self._handle.product(self._operand(other, "product")))

    def __mul__(self: Self, other: object) -> Self:
        return self._operator(other, "product", "*")  # type: ignore[no-any-return]

    def gist(self: Self, context: Self | str) -> Self:
        """What is left to say where `context` holds anyway: the same within it, and simpler."""
        return self._of(self._handle.gist(self._operand(context, "gist")))

    # ---- of one ----

    def coalesce(self: Self) -> Self:
        """The same in fewer parts, where isl finds them."""
        return self._of(self._handle.coalesce())

    def simple_hull(self: Self) -> Self:
        """In each space, one part around all, of the constraints that are there, moved outwards."""
        return self._of(self._handle.hull(_core.Hull.Simple))

    def convex_hull(self: Self) -> Self:
        """In each space, the integer points of the convex hull."""
        return self._of(self._handle.hull(_core.Hull.Convex))

    def affine_hull(self: Self) -> Self:
        """In each space, all that satisfies the equations that hold everywhere."""
        return self._of(self._handle.hull(_core.Hull.Affine))

    def polyhedral_hull(self: Self) -> Self:
        """In each space, one part around all, without integer divisions."""
        return self._of(self._handle.hull(_core.Hull.Polyhedral))

    # ---- parameters ----

    def fix(self: Self, values: Mapping[Any, int] | None = None, /, **parameters: int) -> Self:
        """At these values of some parameters, which are no parameters of the result.

        Args:
            values: by name or by `Parameter`; or as keywords, ``s.fix(N=4)``.

        Raises:
            SetError: what is given a value is no parameter.
        """
        given = parameter_values(values, parameters, "fix")
        require_values(given, self.parameters, "fix")
        return self._of(self._handle.fix(given))

    def project_out_params(self: Self, *names: Any) -> Self:
        """What is there for some value of these parameters; of all of them, if none is named."""
        wanted = [a_string(getattr(n, "name", n), "the name of a parameter", SET) for n in names]
        require_values(dict.fromkeys(wanted, 0), self.parameters, "project_out_params")
        return self._of(self._handle.project_out_parameters(wanted or list(self.parameters)))

    # ---- as text, and elsewhere ----

    def __str__(self) -> str:
        text: str = self._handle.text()
        return text

    def __repr__(self) -> str:
        return f'tw.{type(self).__name__}("{self}")'

    def _repr_html_(self) -> str:
        return preformatted(str(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self),)

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, memo: dict[int, object]) -> Self:
        return self

    def to_islpy(self) -> Any:
        """The same as a value of islpy, the Python interface of isl, for what is not here.

        ``tw.Set(str(value))`` and ``tw.Map(str(value))`` lead back.

        Raises:
            ImportError: islpy is not installed.
        """
        try:
            import islpy
        except ImportError as error:
            raise ImportError(
                "to_islpy needs islpy: pip install islpy; str(s) is the same in isl's notation"
            ) from error
        return getattr(islpy, self._islpy_class)(str(self))


def only(shapes: Sequence[Shape], what: str) -> Shape:
    """The one space of a value that has one."""
    if len(shapes) != 1:
        there = ", ".join(map(shape_text, shapes)) or "none"
        raise SET.of_value(f"{what} needs exactly one space, and there are {there}")
    return shapes[0]


def positions_of(dimensions: Sequence[int | str], names: Sequence[str], what: str) -> list[int]:
    """The places of dimensions that are given by number, or by name."""
    positions = []
    for dimension in a_list(dimensions, f"the dimensions of {what}", SET, "numbers or names"):
        name = getattr(dimension, "name", dimension)
        if isinstance(name, str):
            if name not in names:
                there = ", ".join(each for each in names if each) or "none with a name"
                raise SET.of_value(f"{what}: there is no dimension {name!r}; there are {there}")
            positions.append(list(names).index(name))
        else:
            number = _position(dimension, len(names), what)
            positions.append(number)
    return positions


def _position(value: object, count: int, what: str) -> int:
    number = an_integer(value, f"a dimension of {what}", SET, bits=32)
    if not -count <= number < count:
        raise SET.of_value(f"{what}: there is no dimension {number}; there are {count}")
    return number % count
