"""Sets of integer points and relations between them: `Set` and `Map`.

Both are unions of parts in named spaces, as isl has them (union sets and union maps), written in its
notation: Sven Verdoolaege, "Presburger Formulas and Polyhedral Compilation", sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import _core
from ..base.checks import SET, a_boolean, a_list, a_string, an_integer, described
from ..base.errors import SetError, SetTypeError
from .cardinality import Cardinality
from .named_unions import NamedUnion, only, positions_of
from .parameters import parameter_values
from .pictures import SetPicture, plot_points
from .points import Point, PointLike, as_point, point_of

__all__ = ["Map", "Set"]

_MOST = 1_000_000


class Set(NamedUnion):
    """A set of integer points, in one or several named spaces, for all values of its parameters.

    It is made from text in isl's notation, in which parameters need not be listed::

        triangle = tw.Set("{ S[i, j] : 0 <= j <= i < N }")
        triangle & tw.Set("{ S[i, j] : j >= 1 }")         # also |, -, ^, <=, <, ==
        triangle.count(N=10), triangle.points(N=3)        # at values of the parameters
        (2, 1) in triangle.fix(N=3)

    ``str(s)`` is that text, ``repr(s)`` a program that makes the set. A set is true if it has a
    point for some values of its parameters. ``s == t`` asks whether both have the same points, for
    all values of the parameters; names of dimensions do not count.

    Args:
        text: of a set, or a set.

    Raises:
        SetError: the text is no set; the message names the column.
    """

    __slots__ = ()

    _handle: _core.IntegerSet
    _kind = _core.IntegerSet
    _noun = "set"
    _islpy_class = "UnionSet"

    @classmethod
    def from_points(cls, points: Iterable[Point | str]) -> Set:
        """The set of these points: ``tw.Set.from_points([tw.Point("S", (1, 2))])``."""
        given = a_list(points, "the points of a set", SET, "points")
        return cls(f"{{ {'; '.join(as_point(point, (), 'a point') for point in given)} }}")

    # ---- with maps ----

    def apply(self, m: Map | str) -> Set:
        """The points that a map relates points of this set to; the same as ``m(s)``."""
        return Set._of(self._handle.apply(_a_map(m, "apply")))

    def identity(self) -> Map:
        """The map of each point to itself."""
        return Map._of(self._handle.identity())

    def unwrap(self) -> Map:
        """The map whose pairs are the points ``[A[i] -> B[j]]`` of this set."""
        return Map._of(self._handle.unwrap())

    def before(self, other: Set | str, or_same: bool = False) -> Map:
        """The pairs of a point of this set and one of `other` in the same space that comes after
        it in lexicographic order, or, with `or_same`, is the same."""
        same = a_boolean(or_same, "or_same", SET)
        return Map._of(self._handle.before(self._operand(other, "before"), same))

    # ---- of one set ----

    def lexmin(self) -> Set:
        """The lexicographically smallest point of each space, as a function of the parameters."""
        return Set._of(self._handle.lexmin())

    def lexmax(self) -> Set:
        """The lexicographically greatest point of each space."""
        return Set._of(self._handle.lexmax())

    def project_out(self, *dimensions: int | str) -> Set:
        """Without these dimensions, given by number or by name: the points that there are for some
        value of them. Of a set in one space, which loses its name."""
        (_, names, _) = only(self._shapes(), "project_out")
        return Set._of(self._handle.project_out(positions_of(dimensions, names, "project_out")))

    def explicit_divisions(self) -> Set:
        """The same with a formula for each integer that is only said to exist: of ``exists e: i-M <= 2e <= i``, e
        is ``floor(i/2)``. Intersections of such sets stay small."""
        return Set._of(self._handle.explicit_divisions())

    # ---- parameters ----

    def params(self) -> Set:
        """The values of the parameters for which there are points, as a set without tuple:
        ``[N] -> { : N > 0 }``."""
        return Set._of(self._handle.parameter_values())

    def intersect_params(self, values: Set | str) -> Set:
        """For these values of the parameters only: a set without tuple, its text, or conditions
        alone, ``"N > 3"``."""
        return Set._of(self._handle.intersect_parameters(_a_parameter_set(values)))

    # ---- its points ----

    def points(
        self, values: Mapping[Any, int] | None = None, /, *, most: int = _MOST, **parameters: int
    ) -> list[Point]:
        """All points, at values of all parameters: space by space, in lexicographic order.

        Args:
            values: by name or by `Parameter`; or as keywords, ``s.points(N=4)``.
            most: more points than these are refused.

        Raises:
            SetError: a parameter has no value, there are infinitely many points, or too many.
        """
        given = parameter_values(values, parameters, "points")
        limit = an_integer(most, "most", SET, minimum=0, bits=64)
        found = self.fix(given)._handle.points(limit)
        return [point_of(shape, each) for shape, coordinates in found for each in coordinates]

    def count(self, values: Mapping[Any, int] | None = None, /, **parameters: int) -> int:
        """The number of points, at values of all parameters; exact.

        Raises:
            SetError: a parameter has no value, or there are infinitely many points.
            AnalysisLimitError: the set is too irregular and too large to be counted.
        """
        return self.fix(parameter_values(values, parameters, "count"))._handle.count()

    def cardinality(self) -> Cardinality:
        """The number of points as a function of the parameters: polynomials with integer divisions.

        One dimension after the other is summed up in closed form; that is exact where it is
        possible, and for many sets of loop nests it is: boxes, triangles, tiles, unions of these.

        Raises:
            SetError: there are infinitely many points, or no order of the dimensions can be summed
                up so. `count` gives the number at values of the parameters all the same.
        """
        found = self._handle.cardinality()
        if found is None:
            raise SetError(
                f"cardinality: no closed form was found for {self}; count(...) gives the number at "
                "values of the parameters"
            )
        return Cardinality(found)

    def sample(self, values: Mapping[Any, int] | None = None, /, **parameters: int) -> Point | None:
        """A point, a small one, or None if there is none.

        Parameters without a value are given small ones, which are the ``parameters`` of the point.
        """
        found = self.fix(parameter_values(values, parameters, "sample"))._handle.sample()
        return None if found is None else point_of(*found)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points())

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, point: PointLike) -> bool:
        """Whether a point is in the set: a `Point`, its text, or its coordinates, if the set has
        one space.

        Raises:
            SetError: that depends on parameters; `fix` them.
        """
        shapes = self._shapes()
        if not shapes and not isinstance(point, Point | str):
            return False
        return self._handle.contains(_one_point(as_point(point, shapes, "a point of a set")))

    def plot(
        self,
        sizes: Mapping[Any, int] | None = None,
        *,
        x: str | int | None = None,
        y: str | int | None = None,
        axes: Any = None,
        title: str | None = None,
    ) -> SetPicture:
        """Draws the points at values of all parameters, one colour for each space.

        Args:
            sizes: the values: ``{"N": 6}``.
            x: the dimension along the horizontal axis, by number or name; the first unless given.
            y: the one along the vertical axis; the second unless given.
            axes: matplotlib's axes to draw in; a new figure unless given.
            title: the title; the set itself unless given.

        Raises:
            ImportError: matplotlib is not installed.
            SetError: as `points` does; more than 20,000 points are too many for a picture.
        """
        given = parameter_values(sizes, {}, "plot")
        points = self.points(given, most=20_000)
        return plot_points(points, [], self._shapes(), x, y, axes, title, str(self))


class Map(NamedUnion):
    """A relation between integer points: a set of pairs, for all values of its parameters.

    It is made from text in isl's notation::

        reads = tw.Map("{ C[i, j] -> A[i, k] : 0 <= k < K }")
        tile = tw.Map("{ C[i, j] -> [floor(i / 32), floor(j / 32), i, j] }")
        tile(tw.Set("{ C[i, j] : 0 <= i, j < N }"))       # the image of a set
        reads @ tile.reverse()                            # the elements read at each time

    `Set` says what holds for both.

    Args:
        text: of a map, or a map.

    Raises:
        SetError: the text is no map; the message names the column.
    """

    __slots__ = ()

    _handle: _core.IntegerMap
    _kind = _core.IntegerMap
    _noun = "map"
    _islpy_class = "UnionMap"

    # ---- its sides ----

    @property
    def domain(self) -> Set:
        """The points that it relates to others."""
        return Set._of(self._handle.domain())

    @property
    def range(self) -> Set:
        """The points that others are related to."""
        return Set._of(self._handle.range())

    def reverse(self) -> Map:
        """The pairs turned around."""
        return Map._of(self._handle.reverse())

    def __call__(self, points: Set | PointLike) -> Set:
        """The points that those of a set, or one point, are related to."""
        if isinstance(points, Set):
            return points.apply(self)
        if isinstance(points, str) and "{" in points:
            return Set(points).apply(self)
        shapes = _distinct([nested[0] for _, _, nested in self._shapes()])
        text = as_point(points, shapes, "what a map is applied to")
        return Set(f"{{ {text} }}").apply(self)

    # ---- of several maps ----

    def then(self, other: Map | str) -> Map:
        """First this map, then the other: x -> z where this has x -> y and `other` y -> z. The same
        as `apply_range`, and ``other @ self``."""
        return Map._of(self._handle.apply_range(self._operand(other, "then")))

    def compose(self, other: Map | str) -> Map:
        """First the other map, then this one; ``self @ other``, as functions are composed."""
        return Map._of(Map(other)._handle.apply_range(self._handle))

    def __matmul__(self, other: object) -> Map:
        if not isinstance(other, Map):
            return NotImplemented
        return other.then(self)

    def apply_range(self, other: Map | str) -> Map:
        """Each y of a pair x -> y replaced by what `other` relates it to."""
        return Map._of(self._handle.apply_range(self._operand(other, "apply_range")))

    def apply_domain(self, other: Map | str) -> Map:
        """Each x of a pair x -> y replaced by what `other` relates it to."""
        return Map._of(self._handle.apply_domain(self._operand(other, "apply_domain")))

    def range_product(self, other: Map | str) -> Map:
        """``{ A[i] -> [B[j] -> C[k]] }`` of ``{ A[i] -> B[j] }`` and ``{ A[i] -> C[k] }``."""
        return Map._of(self._handle.range_product(self._operand(other, "range_product")))

    def intersect_domain(self, points: Set | str) -> Map:
        """The pairs x -> y whose x is in the set."""
        return Map._of(self._handle.intersect_domain(_a_set(points, "intersect_domain")))

    def intersect_range(self, points: Set | str) -> Map:
        """The pairs x -> y whose y is in the set."""
        return Map._of(self._handle.intersect_range(_a_set(points, "intersect_range")))

    def subtract_domain(self, points: Set | str) -> Map:
        """The pairs x -> y whose x is not in the set."""
        return Map._of(self._handle.subtract_domain(_a_set(points, "subtract_domain")))

    def subtract_range(self, points: Set | str) -> Map:
        """The pairs x -> y whose y is not in the set."""
        return Map._of(self._handle.subtract_range(_a_set(points, "subtract_range")))

    # ---- of one map ----

    @property
    def is_single_valued(self) -> bool:
        """Whether it is a function: each point is related to one other at most."""
        return self._handle.is_single_valued()

    @property
    def is_injective(self) -> bool:
        """Whether no two points are related to the same one."""
        return self._handle.is_injective()

    @property
    def is_bijective(self) -> bool:
        """Whether it is a function that can be turned around."""
        return self.is_single_valued and self.is_injective

    def lexmin(self) -> Map:
        """For each point, the lexicographically smallest of those that it is related to, of each
        space."""
        return Map._of(self._handle.lexmin())

    def lexmax(self) -> Map:
        """For each point, the lexicographically greatest of those that it is related to."""
        return Map._of(self._handle.lexmax())

    def deltas(self) -> Set:
        """The differences y - x of the pairs x -> y: the distances of a dependence.

        Raises:
            SetError: x and y are in different spaces.
        """
        return Set._of(self._handle.deltas())

    def wrap(self) -> Set:
        """The pairs as points ``[A[i] -> B[j]]`` of a set."""
        return Set._of(self._handle.wrap())

    def project_out_domain(self, *dimensions: int | str) -> Map:
        """Without these dimensions of the domain, given by number or by name; the domain loses its
        name."""
        return self._projected(False, dimensions, "project_out_domain")

    def project_out_range(self, *dimensions: int | str) -> Map:
        """Without these dimensions of the range, given by number or by name."""
        return self._projected(True, dimensions, "project_out_range")

    def _projected(self, of_range: bool, dimensions: tuple[int | str, ...], what: str) -> Map:
        (_, _, sides) = only(self._shapes(), what)
        names = sides[int(of_range)][1]
        return Map._of(self._handle.project_out(of_range, positions_of(dimensions, names, what)))

    def power(self, steps: int) -> Map:
        """So many steps one after the other; less than none go back. ``m ** steps``."""
        return Map._of(self._handle.power(an_integer(steps, "the steps of power", SET, bits=32)))

    def __pow__(self, steps: int) -> Map:
        return self.power(steps)

    def transitive_closure(self, exact: bool = True) -> Map:
        """One or more steps one after the other.

        Args:
            exact: False takes what isl finds, even if that is a larger relation.

        Raises:
            SetError: isl finds a larger relation only.
        """
        wanted = a_boolean(exact, "exact", SET)
        closure, is_exact = self._handle.transitive_closure()
        if wanted and not is_exact:
            raise SetError(
                "transitive_closure: isl finds only a larger relation than this map's closure; "
                "transitive_closure(exact=False) gives it"
            )
        return Map._of(closure)

    # ---- parameters ----

    def params(self) -> Set:
        """The values of the parameters for which there are pairs, as a set without tuple."""
        return Set._of(self._handle.parameter_values())

    def intersect_params(self, values: Set | str) -> Map:
        """For these values of the parameters only; see `Set.intersect_params`."""
        return Map._of(self._handle.intersect_parameters(_a_parameter_set(values)))

    # ---- its pairs ----

    def pairs(
        self, values: Mapping[Any, int] | None = None, /, *, most: int = _MOST, **parameters: int
    ) -> list[tuple[Point, Point]]:
        """All pairs, at values of all parameters; see `Set.points`."""
        given = parameter_values(values, parameters, "pairs")
        points = self.wrap().points(given, most=most)
        return [(point.coordinates[0], point.coordinates[1]) for point in points]

    def count(self, values: Mapping[Any, int] | None = None, /, **parameters: int) -> int:
        """The number of pairs, at values of all parameters; see `Set.count`."""
        return self.wrap().count(parameter_values(values, parameters, "count"))

    def cardinality(self) -> Cardinality:
        """The number of pairs as a function of the parameters; see `Set.cardinality`."""
        return self.wrap().cardinality()

    def sample(
        self, values: Mapping[Any, int] | None = None, /, **parameters: int
    ) -> tuple[Point, Point] | None:
        """A pair, of small points, or None if there is none; see `Set.sample`."""
        found = self.wrap().sample(parameter_values(values, parameters, "sample"))
        if found is None:
            return None
        for point in found.coordinates:
            point.parameters = dict(found.parameters)
        return found.coordinates[0], found.coordinates[1]

    def __iter__(self) -> Iterator[tuple[Point, Point]]:
        return iter(self.pairs())

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, pair: tuple[PointLike, PointLike]) -> bool:
        """Whether a pair is in the map; see `Set.__contains__`."""
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise SetTypeError(f"a map has pairs of points, got {described(pair)}")
        sides: list[list[Any]] = [
            [nested[side] for _, _, nested in self._shapes()] for side in (0, 1)
        ]
        if not sides[0]:
            return False
        first, second = (
            as_point(point, _distinct(shapes), "a point of a map")
            for point, shapes in zip(pair, sides, strict=True)
        )
        return self.wrap()._handle.contains(_one_point(f"[{first} -> {second}]"))

    def plot(
        self,
        sizes: Mapping[Any, int] | None = None,
        *,
        x: str | int | None = None,
        y: str | int | None = None,
        axes: Any = None,
        title: str | None = None,
    ) -> SetPicture:
        """Draws the pairs as arrows at values of all parameters; see `Set.plot`."""
        given = parameter_values(sizes, {}, "plot")
        pairs = self.pairs(given, most=20_000)
        points = list(dict.fromkeys(point for pair in pairs for point in pair))
        shapes = [side for _, _, nested in self._shapes() for side in nested]
        return plot_points(points, pairs, shapes, x, y, axes, title, str(self))


def _distinct(shapes: list[Any]) -> list[Any]:
    """Each space once."""
    return list(
        {
            (name, len(dimensions), str(n)): (name, dimensions, n) for name, dimensions, n in shapes
        }.values()
    )


def _a_set(value: object, what: str) -> _core.IntegerSet:
    if isinstance(value, str):
        return Set(value)._handle
    if not isinstance(value, Set):
        raise SetTypeError(f"{what} takes a set or the text of one, got {described(value)}")
    return value._handle


def _a_map(value: object, what: str) -> _core.IntegerMap:
    if isinstance(value, str):
        return Map(value)._handle
    if not isinstance(value, Map):
        raise SetTypeError(f"{what} takes a map or the text of one, got {described(value)}")
    return value._handle


def _a_parameter_set(value: object) -> _core.IntegerSet:
    if isinstance(value, str) and "{" not in value:
        value = f"{{ : {a_string(value, 'the conditions of intersect_params', SET)} }}"
    return _a_set(value, "intersect_params")


def _one_point(text: str) -> _core.IntegerSet:
    """The set of the point that a text names."""
    handle = Set(f"{{ {text} }}")._handle
    try:
        is_one = sum(len(points) for _, points in handle.points(1)) == 1
    except SetError:
        is_one = False  # more than one, infinitely many, or as many as parameters say
    if not is_one:
        raise SetError(f"{text!r} is not one point, as S[1, 2] is")
    return handle
