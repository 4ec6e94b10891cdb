"""The levels of processors that this one runs."""

from tilewright.kernels import machine

LEVELS = {16: ["x86-64"], 32: ["x86-64", "x86-64-v3"], 64: ["x86-64", "x86-64-v3", "x86-64-v4"]}[
    machine.vector_bytes()
]
