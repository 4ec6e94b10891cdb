"""The C functions around a step's kernel: the state, counts of elements, `init`, `push`, `flush`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Finite", "Line", "Port", "Ring", "Texts"]


@dataclass(frozen=True)
class Port:
    """A stream that is pushed or given.

    Attributes:
        name: in C.
        stream: in Python.
        elements: numbers at each time.
        rate: so many times (a pair: of so many of the first input).
    """

    name: str
    stream: str
    c_type: str
    dtype: str
    elements: int
    rate: tuple[int, int]


@dataclass(frozen=True)
class Ring:
    """Rows of a stream that are changed where they are: a member of the state."""

    member: str
    c_type: str
    length: int


@dataclass(frozen=True)
class Line:
    """What is kept of a stream, and behind it what is new: a member of the state, and another one that says
    where what is kept begins.

    Attributes:
        stream: in Python.
        kept: elements in front of the new ones.
        ahead: elements behind the new ones.
        room: for so many elements.
        elements: numbers at each time.
    """

    member: str
    stream: str
    c_type: str
    kept: int
    ahead: int
    room: int
    elements: int

    @property
    def length(self) -> int:
        return self.room * self.elements

    @property
    def place(self) -> str:
        return f"{self.member}_place"

    def at(self, place: str) -> str:
        """A pointer."""
        factor = f" * {self.elements}" if self.elements != 1 else ""
        return f"s->{self.member} + {place}{factor}"


@dataclass(frozen=True)
class Finite:
    """A finite array, or a number.

    Attributes:
        is_given: `init` takes it; else it computes it.
        is_kept: it is in the state; else only `init` reads it.
    """

    name: str
    member: str
    c_type: str
    dtype: str
    length: int
    is_number: bool
    is_given: bool = True
    is_kept: bool = True

    @property
    def declared(self) -> str:
        return (
            f"{self.c_type} {self.name}" if self.is_number else f"const {self.c_type} *{self.name}"
        )


@dataclass
class Texts:
    """What the functions are made of.

    Attributes:
        own: what their names begin with.
        counted: the streams whose numbers of elements a step or a caller has to know.
        table: these numbers for each number of elements of the first input in the beginning, and then in a period.
        onset: the length of the beginning.
        moves: how much more each is after a period.
        unit: a push takes a multiple of so many elements of the first input.
        largest: a step takes at most so many.
        latest: the first input has at most so many elements.
        scratch: bytes of temporaries.
        call: the kernel's arguments, with ``&scratch`` first if it has temporaries; `before` and `after`
            are the elements of the first input.
        opening: what computes finite arrays in `init`: a call; "" for nothing to compute.
        waits: whether outputs have to be waited for in the beginning.
        may_fail: whether a step may find a subscript outside of its array. Then a push is a single step: one that
            fails has written behind what is kept, and nothing else (rows are in rings only where no read may fail).
    """

    own: str
    inputs: list[Port]
    outputs: list[Port]
    lines: list[Line]
    rings: list[Ring]
    finite: list[Finite]
    counted: list[str]
    table: list[list[int]]
    onset: int
    moves: list[int]
    unit: int
    largest: int
    latest: int
    scratch: int
    state_nbytes: int
    call: list[str]
    opening: str
    waits: bool
    may_fail: bool

    @property
    def pasts(self) -> list[Line | Ring]:
        return [*self.lines, *self.rings]

    @property
    def upper(self) -> str:
        return self.own.upper()

    def prototypes(self) -> tuple[str, ...]:
        own = self.own
        arrays = [each.declared for each in self.finite if each.is_given]
        given = [f"const {port.c_type} *{port.name}" for port in self.inputs]
        numbers = [f"int64_t *{port.name}_count" for port in self.outputs]
        both: list[str] = []
        for port, number in zip(self.outputs, numbers, strict=True):
            both += [f"{port.c_type} *{port.name}", number]
        return (
            f"size_t {own}_state_size(void)",
            f"int {own}_init({', '.join(['void *state', *arrays])})",
            f"int {own}_reset(void *state)",
            f"int {own}_counts({', '.join(['const void *state', 'int64_t count', *numbers])})",
            f"int {own}_push({', '.join(['void *state', 'int64_t count', *given, *both])})",
            f"int {own}_flush({', '.join(['void *state', *both])})",
        )

    def text(self) -> str:
        size, init, reset, counts, push, flush = self.prototypes()
        simple = f"{size} {{\n  return {self.upper}_STATE_NBYTES;\n}}\n"
        parts = [self._state(), self._known(), simple, self._reset(reset), self._init(init)]
        parts += [self._counts(counts), self._push(push), self._flush(flush)]
        return "\n".join(parts)

    # ---- the state ----

    def _state(self) -> str:
        own, upper = self.own, self.upper
        members = [f"  int64_t {line.place};" for line in self.lines]
        members += [f"  {each.c_type} {each.member}[{max(1, each.length)}];" for each in self.pasts]
        for each in filter(lambda one: one.is_kept, self.finite):
            extent = "" if each.is_number else f"[{max(1, each.length)}]"
            members.append(f"  {each.c_type} {each.member}{extent};")
        if self.scratch:
            members.append(f"  int64_t scratch[{self.scratch // 8}];")
        listed = "\n".join(members)
        return f"""typedef struct {{
  int64_t mark;    /* of a state that was initialized */
  int64_t ticks;   /* elements of {self.inputs[0].name} so far */
{listed}
}} {own}_state;

typedef char {own}_state_fits[sizeof({own}_state) <= {upper}_STATE_NBYTES ? 1 : -1];

#define {upper}_MARK INT64_C({_mark(own)})

static int {own}_is_ready(const void *state) {{
  return state != NULL && (uintptr_t)state % 8 == 0 &&
         ((const {own}_state *)state)->mark == {upper}_MARK;
}}
"""

    def _known(self) -> str:
        own, first = self.own, self.inputs[0].name
        rows = ",\n  ".join("{" + ", ".join(map(str, row)) + "}" for row in self.table)
        period, number = len(self.table) - self.onset, len(self.counted)
        known = f"{own}_table[ticks % {period}][stream] + {own}_moves[stream] * (ticks / {period})"
        after = f"{own}_moves[stream] * ((ticks - {self.onset}) / {period})"
        late = f"{own}_table[{self.onset} + (ticks - {self.onset}) % {period}][stream]"
        body = f"  return {known};"
        if self.onset:
            early = f"  if (ticks < {self.onset}) {{\n    return {own}_table[ticks][stream];\n  }}"
            body = f"{early}\n  return {late} + {after};"
        waits = f"""
static int64_t {own}_first(int64_t before, int64_t after) {{
  int64_t first = after < 0 ? after : 0;
  return before > first ? before : first;
}}
"""
        more = f"""
static int64_t {own}_more(int64_t before, int64_t after, int stream) {{
  return {own}_known(after, stream) - {own}_known(before, stream);
}}
"""
        return f"""/* How many elements of {", ".join(self.counted)} are known after so many of {first},
   and how many more after {period}. */
static const int64_t {own}_table[{len(self.table)}][{number}] = {{
  {rows}}};
static const int64_t {own}_moves[{number}] = {{{", ".join(map(str, self.moves))}}};

static int64_t {own}_known(int64_t ticks, int stream) {{
{body}
}}
{waits if self.waits else ""}{more if self.lines else ""}
static int64_t {own}_new(int64_t before, int64_t after, int stream) {{
  int64_t first = {own}_known(before, stream), last = {own}_known(after, stream);
  return (last > 0 ? last : 0) - (first > 0 ? first : 0);
}}
"""

    def _new(self, port: Port, before: str, after: str) -> str:
        return f"{self.own}_new({before}, {after}, {self.counted.index(port.stream)})"

    # ---- functions ----

    def _reset(self, prototype: str) -> str:
        zeros = [f"  memset(s->{each.member}, 0, sizeof s->{each.member});" for each in self.pasts]
        return _function(
            prototype,
            f"  {self.own}_state *s = state;",
            self._unless(f"{self.own}_is_ready(state)", "STATE"),
            "  s->ticks = 0;",
            *(f"  s->{line.place} = 0;" for line in self.lines),
            *zeros,
            f"  return {self.upper}_OK;",
        )

    def _init(self, prototype: str) -> str:
        given = [each for each in self.finite if each.is_given]
        arrays = [each for each in given if not each.is_number and each.length]
        copied = [each for each in given if each.is_kept]
        copies = [f"  s->{each.member} = {each.name};" for each in copied if each.is_number]
        copies += [
            f"  memcpy(s->{each.member}, {each.name}, sizeof s->{each.member});"
            for each in copied
            if each in arrays
        ]
        if self.opening:
            if "&scratch" in self.opening:
                copies.append(f"  {self._scratch()}")
            copies.append(f"  int status = {self.opening};")
            copies.append(f"  if (status != {self.upper}_OK) {{\n    return status;\n  }}")
        return _function(
            prototype,
            f"  {self.own}_state *s = state;",
            *(
                self._unless(f"{name} != NULL", "NULL_POINTER")
                for name in ["state", *(each.name for each in arrays)]
            ),
            self._unless("(uintptr_t)state % 8 == 0", "STATE"),
            *copies,
            f"  s->mark = {self.upper}_MARK;",
            f"  return {self.own}_reset(state);",
        )

    def _counts(self, prototype: str) -> str:
        fits = (
            f"count >= 0 && count % {self.unit} == 0 && count <= INT64_C({self.latest}) - s->ticks"
        )
        if self.may_fail:
            fits += f" && count <= {self.largest}"
        given = " && ".join(f"{port.name}_count != NULL" for port in self.outputs)
        numbers = [
            f"  *{port.name}_count = {self._new(port, 's->ticks', 's->ticks + count')};"
            for port in self.outputs
        ]
        return _function(
            prototype,
            f"  const {self.own}_state *s = state;",
            self._unless(f"{self.own}_is_ready(state)", "STATE"),
            self._unless(fits, "COUNT"),
            self._unless(given, "NULL_POINTER"),
            *numbers,
            f"  return {self.upper}_OK;",
        )

    def _push(self, prototype: str) -> str:
        own, upper = self.own, self.upper
        numbers = [f"{port.name}_count" for port in self.outputs]
        step = ", ".join(self.call)
        return _function(
            prototype,
            f"  {own}_state *s = state;",
            f"  int status = {own}_counts({', '.join(['state', 'count', *numbers])});",
            f"  if (status != {upper}_OK) {{\n    return status;\n  }}",
            *(
                self._unless(f"{port.name} != NULL || count == 0", "NULL_POINTER")
                for port in self.inputs
            ),
            *(
                self._unless(f"{port.name} != NULL || *{port.name}_count == 0", "NULL_POINTER")
                for port in self.outputs
            ),
            "  while (count > 0) {",
            f"    int64_t length = count < {self.largest} ? count : {self.largest};",
            "    int64_t before = s->ticks, after = before + length;",
            *([f"    {self._scratch()}"] if self.call[:1] == ["&scratch"] else []),
            *(text for line in self.lines for text in self._make_room(line)),
            f"    status = {own}_step({step});",
            f"    if (status != {upper}_OK) {{",
            *(f"      *{number} = 0;" for number in numbers if self.may_fail),
            "      return status;\n    }",
            *self._moves_on(),
            "    s->ticks = after;",
            "    count -= length;",
            "  }",
            f"  return {upper}_OK;",
        )

    def _more(self, line: Line) -> str:
        """How many elements a step writes to a line."""
        return f"{self.own}_more(before, after, {self.counted.index(line.stream)})"

    def _make_room(self, line: Line) -> Iterator[str]:
        """Moves what is kept to the front if the end is reached."""
        moved = line.kept * line.elements
        yield f"    if (s->{line.place} + {self._more(line)} > {line.room - line.kept - line.ahead}) {{"
        yield (
            f"      memmove(s->{line.member}, {line.at(f's->{line.place}')}, "
            f"{moved} * sizeof *s->{line.member});"
        )
        yield f"      s->{line.place} = 0;"
        yield "    }"

    def _scratch(self) -> str:
        return f"tw_scratch scratch = {{(char *)s->scratch, {self.scratch}, 0}};"

    def _moves_on(self) -> Iterator[str]:
        """After a step: where the next one reads and writes."""
        for line in self.lines:
            yield f"    s->{line.place} += {self._more(line)};"
        for port in self.inputs:
            number, of = port.rate
            elements = f"length * {number} / {of}" if port.rate != (1, 1) else "length"
            factor = f" * {port.elements}" if port.elements != 1 else ""
            yield f"    {port.name} += {elements}{factor};"
        for port in self.outputs:
            factor = f" * {port.elements}" if port.elements != 1 else ""
            yield f"    {port.name} += {self._new(port, 'before', 'after')}{factor};"

    def _flush(self, prototype: str) -> str:
        return _function(
            prototype,
            self._unless(f"{self.own}_is_ready(state)", "STATE"),
            *(f"  (void){port.name};" for port in self.outputs),
            *(f"  *{port.name}_count = 0;" for port in self.outputs),
            f"  return {self.upper}_OK;",
        )

    def _unless(self, condition: str, code: str) -> str:
        return f"  if (!({condition})) {{\n    return {self.upper}_{code};\n  }}"


def _function(prototype: str, *lines: str) -> str:
    return "\n".join([f"{prototype} {{", *lines, "}"]) + "\n"


def _mark(symbol: str) -> int:
    """A number that memory holds by chance in no program (FNV-1a of the name)."""
    found = 0xCBF29CE484222325
    for letter in symbol.encode():
        found = (found ^ letter) * 0x100000001B3 % 2**64
    return found % 2**63
