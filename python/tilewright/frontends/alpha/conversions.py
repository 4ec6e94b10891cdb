"""Types of Alpha expressions: C's usual arithmetic conversions, as AlphaZ's generated C has them.

char, short and bool become int in arithmetic; of two operands, the one of lower rank is converted; a
comparison is a bool; an index expression is a long. An equation converts its value to the variable's
type, as an assignment of C does.
"""

from __future__ import annotations

from .errors import complaint, source_of
from .tree import (
    Binary,
    Call,
    Case,
    Constant,
    Dependence,
    Expression,
    If,
    Index,
    Reduce,
    Restrict,
    System,
    Unary,
    Variable,
)

__all__ = [
    "COMPARISONS",
    "C_TYPES",
    "DTYPES",
    "LOGICAL",
    "common_type",
    "holds_all",
    "promoted",
    "reduces_converted",
    "type_of",
]

#: Alpha's types, from the lowest rank up, and the library's.
DTYPES = {
    "bool": "bool",
    "char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "float": "float32",
    "double": "float64",
}
#: How C spells them.
C_TYPES = {
    name: {"bool": "bool", "float": "float", "double": "double"}.get(name, f"{dtype}_t")
    for name, dtype in DTYPES.items()
}
_RANK = {name: rank for rank, name in enumerate(DTYPES)}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LOGICAL = ("and", "or", "xor", "nand")


def promoted(kind: str) -> str:
    """What arithmetic makes of a type."""
    return kind if _RANK[kind] >= _RANK["int"] else "int"


def common_type(left: str, right: str) -> str:
    """To which type two operands are converted."""
    return max(promoted(left), promoted(right), key=_RANK.__getitem__)


def reduces_converted(operator: str, source: str, target: str) -> bool:
    """Whether a reduction's value, converted, is what the reduction of its converted terms gives.

    Rounding and widening keep the order of values, and integers are added and multiplied modulo a power of
    two, which a smaller one divides. A sum that is rounded or wraps around in the narrower type is not
    the sum in the wider one.

    Args:
        operator: of the reduction.
        source: the type in which it reduces.
        target: to which its value is converted.
    """
    if source == target:
        return True
    if operator == "xor" or target == "bool":
        return False
    if operator in LOGICAL:
        return True
    fractions = ("float", "double")
    if operator in ("min", "max"):
        return target in fractions or (source not in fractions and _holds(target, source))
    return not {source, target} & set(fractions) and _bits(target) <= _bits(source)


def _bits(kind: str) -> int:
    return 1 if kind == "bool" else int(DTYPES[kind].lstrip("uint"))


def _holds(wide: str, narrow: str) -> bool:
    """Whether an integer type has all values of another one."""
    unsigned = wide.startswith("unsigned")
    if unsigned and not (narrow == "bool" or narrow.startswith("unsigned")):
        return False
    sign = not unsigned and (narrow == "bool" or narrow.startswith("unsigned"))
    return _bits(wide) >= _bits(narrow) + sign


def holds_all(wide: str, narrow: str) -> bool:
    """Whether a type has all values of another one."""
    fractions = {"float": 24, "double": 53}
    if wide == narrow:
        return True
    if narrow in fractions:
        return wide == "double"
    return _bits(narrow) < fractions[wide] if wide in fractions else _holds(wide, narrow)


def type_of(system: System, node: Expression) -> str:
    """The type of an expression.

    Raises:
        DeclarationTypeError: never; for a remainder of fractions, a `DeclarationError` with the
            place.
    """
    match node:
        case Constant():
            if isinstance(node.value, bool):
                return "bool"
            if node.suffix:
                return {"U": "unsigned int", "L": "long", "UL": "unsigned long"}[node.suffix]
            if isinstance(node.value, int):
                return "int" if -(2**31) <= node.value < 2**31 else "long"
            return "float" if node.is_single else "double"
        case Variable():
            return system.declaration(node.name).type
        case Index():
            return "long"
        case Dependence() | Restrict():
            return type_of(system, node.body)
        case Case():
            kinds = [type_of(system, each) for each in node.branches]
            return kinds[0] if len(set(kinds)) == 1 else _all_common(kinds)
        case If():
            kinds = [type_of(system, node.then), type_of(system, node.otherwise)]
            return kinds[0] if kinds[0] == kinds[1] else _all_common(kinds)
        case Unary():
            return "bool" if node.operator == "not" else promoted(type_of(system, node.body))
        case Binary():
            return _binary(system, node)
        case Call():
            return next(each.type for each in system.externals if each.name == node.function)
        case Reduce():
            kind = type_of(system, node.body)
            if node.operator in LOGICAL:
                return "bool"
            return kind if node.operator in ("min", "max") else promoted(kind)


def _all_common(kinds: list[str]) -> str:
    result = kinds[0]
    for kind in kinds[1:]:
        result = common_type(result, kind)
    return result


def _binary(system: System, node: Binary) -> str:
    if node.operator in COMPARISONS or node.operator in LOGICAL:
        return "bool"
    kind = common_type(type_of(system, node.left), type_of(system, node.right))
    if node.operator == "%" and kind in ("float", "double"):
        raise complaint(source_of(system), node.position, f"% is for integers, not for a {kind}")
    return kind
