"""The extension module: opaque handles and thin functions over the C++ core."""

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

__version__: str
isl_version: str

# ---- the language: bind_language.cpp ----

_Where: TypeAlias = tuple[str, int, str] | None
_Operand: TypeAlias = Expr | bool | int | float | complex
_Range: TypeAlias = tuple[str, _Operand, _Operand]

class Op:
    Neg: ClassVar[Op]
    Not: ClassVar[Op]
    Abs: ClassVar[Op]
    Add: ClassVar[Op]
    Sub: ClassVar[Op]
    Mul: ClassVar[Op]
    TrueDiv: ClassVar[Op]
    FloorDiv: ClassVar[Op]
    Mod: ClassVar[Op]
    Pow: ClassVar[Op]
    Min: ClassVar[Op]
    Max: ClassVar[Op]
    And: ClassVar[Op]
    Or: ClassVar[Op]
    Xor: ClassVar[Op]
    Shl: ClassVar[Op]
    Shr: ClassVar[Op]
    Lt: ClassVar[Op]
    Le: ClassVar[Op]
    Gt: ClassVar[Op]
    Ge: ClassVar[Op]
    Eq: ClassVar[Op]
    Ne: ClassVar[Op]
    Sqrt: ClassVar[Op]
    Exp: ClassVar[Op]
    Exp2: ClassVar[Op]
    Log: ClassVar[Op]
    Log2: ClassVar[Op]
    Log10: ClassVar[Op]
    Sin: ClassVar[Op]
    Cos: ClassVar[Op]
    Tan: ClassVar[Op]
    Arcsin: ClassVar[Op]
    Arccos: ClassVar[Op]
    Arctan: ClassVar[Op]
    Arctan2: ClassVar[Op]
    Sinh: ClassVar[Op]
    Cosh: ClassVar[Op]
    Tanh: ClassVar[Op]
    Erf: ClassVar[Op]
    Floor: ClassVar[Op]
    Ceil: ClassVar[Op]
    Trunc: ClassVar[Op]
    Rint: ClassVar[Op]
    Isnan: ClassVar[Op]
    Real: ClassVar[Op]
    Imag: ClassVar[Op]
    Conj: ClassVar[Op]
    MakeComplex: ClassVar[Op]
    ReduceSum: ClassVar[Op]
    ReduceProd: ClassVar[Op]
    ReduceMin: ClassVar[Op]
    ReduceMax: ClassVar[Op]
    ReduceAny: ClassVar[Op]
    ReduceAll: ClassVar[Op]
    ReduceArgMin: ClassVar[Op]
    ReduceArgMax: ClassVar[Op]
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...

class Expr:
    @property
    def kind(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def operation(self) -> str | None: ...
    @property
    def value(self) -> bool | int | float | complex | None: ...
    @property
    def operands(self) -> list[Expr]: ...
    @property
    def producer(self) -> Computation | None: ...

class Computation:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def iterators(self) -> list[str]: ...
    @property
    def is_input(self) -> bool: ...
    @property
    def rank(self) -> int: ...
    @property
    def extents(self) -> list[Expr]: ...
    @property
    def domain(self) -> str: ...
    @property
    def pieces(self) -> list[tuple[str, Expr]]: ...

def promote(a: str, b: str) -> str: ...
def can_cast(from_type: str, to_type: str) -> bool: ...
def is_identifier(name: str) -> bool: ...
def constant(value: _Operand, type: str) -> Expr: ...
def strengthen(value: _Operand) -> Expr: ...
def iterator(name: str) -> Expr: ...
def parameter(name: str, constraint: str = "") -> Expr: ...
def check_constraint(text: str, where: _Where = None) -> bool: ...
def access(producer: Computation, subscripts: Sequence[_Operand], where: _Where = None) -> Expr: ...
def unary(op: Op, a: _Operand) -> Expr: ...
def binary(op: Op, a: _Operand, b: _Operand) -> Expr: ...
def call(op: Op, *arguments: _Operand) -> Expr: ...
def cast(a: _Operand, type: str) -> Expr: ...
def select(condition: _Operand, then: _Operand, otherwise: _Operand) -> Expr: ...
def reduce(
    op: Op, ranges: Sequence[_Range], body: _Operand, condition: _Operand | None = None
) -> Expr: ...
def declare_input(
    name: str, extents: Sequence[_Operand], type: str, where: _Where = None
) -> Computation: ...
def declare_computation(
    name: str,
    ranges: Sequence[_Range],
    condition: _Operand | None,
    type: str,
    extents: Sequence[_Operand],
    where: _Where = None,
) -> Computation: ...
def declare_computation_isl(
    text: str, type: str, extents: Sequence[_Operand], where: _Where = None
) -> Computation: ...
def define_piece(
    computation: Computation, condition: _Operand | None, value: _Operand, where: _Where = None
) -> None: ...
def define_piece_isl(
    computation: Computation, set: str, value: _Operand, where: _Where = None
) -> None: ...
