"""What another process has found out about a stream function is not found out again."""

from __future__ import annotations

import ctypes
import json
import traceback
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from children import run_python
from tilewright.base import notes
from tilewright.streams import kept

#: Opens and pushes five kernels; prints how many steps were made, and a digest of all values.
PROGRAM = """
import hashlib, sys
import numpy as np, tilewright as tw
from tilewright.streams import kept

made = []
plain = kept.make_step
def make_step(*given):
    made.append(given)
    return plain(*given)
kept.make_step = make_step

dsp, rng = tw.kernels.dsp, np.random.default_rng(0)
digest = hashlib.sha256()
n, i = tw.iters("n i")
u = tw.stream("u", tw.float64)
v = tw.computation("v", {n: tw.forever, i: 40}, None, dtype=tw.float64)
inside = (i > 0) & (i < 39)
v.define((n == 0) | ~inside, u[n])
v.define(inside & (n > 0), 0.5 * v[n - 1, i] + 0.25 * (v[n - 1, i - 1] + v[n - 1, i + 1]))
rod = tw.stream_function("rod", outputs=[tw.computation("end", {n: tw.forever}, v[n, 20])])
bank = rng.random((8, 32))
for k, given in [
    (dsp.fir(tw.float64), {"h": rng.random(128)}),
    (dsp.filter_bank(tw.float64), {"h": bank}),
    (dsp.resampler(3, 2, dtype=tw.float64), {"h": rng.random(48)}),
    (dsp.stft(16, 4, tw.float64), {"window": np.ones(16)}),
    (rod, {}),
]:
    s = k.stream(**given)
    for chunk in np.split(rng.random(4 * 1024), [7, 8, 1024, 1024]):
        digest.update(np.ascontiguousarray(s.push(chunk)).tobytes())
    digest.update(s.flush().tobytes())
    long = "no" if s.long_kernel is None else "a"
    print(s.latency, s.period, s.state_nbytes, long, "kernel of long pushes")
    print(str(s.report()))
print(digest.hexdigest())
print(len(made), file=sys.stderr)
"""


def test_another_process_makes_no_step(tmp_path: Path) -> None:
    first, second = (
        run_python("-c", PROGRAM, TILEWRIGHT_CACHE_DIR=str(tmp_path)) for _ in range(2)
    )
    assert int(first.stderr.split()[-1]) == 5
    assert int(second.stderr.split()[-1]) == 0
    assert first.stdout == second.stdout
    assert "a kernel of long pushes" in first.stdout


def smooth(gain: float = 0.5) -> tw.StreamFunction:
    (n,) = tw.iters("n")
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", {n: tw.forever}, gain * x[n] + x[n + 1])
    return tw.stream_function("smooth", outputs=[y])


def test_another_program_and_other_settings_have_steps_of_their_own() -> None:
    made = {kept._key(smooth(gain)._program, {}, None) for gain in (0.5, 0.25)}
    with tw.settings(fast_math=True):
        made.add(kept._key(smooth()._program, {}, None))
    assert len(made) == 3
    assert kept._key(smooth()._program, {}, None) in made


def rooted(function: object) -> tw.StreamFunction:
    (n,) = tw.iters("n")
    x = tw.stream("x", tw.float64)
    g = tw.extern("g", function, [tw.float64], tw.float64)
    return tw.stream_function("rooted", outputs=[tw.computation("y", {n: tw.forever}, g(x[n]))])


def test_functions_of_c_are_known_by_their_library() -> None:
    libm = ctypes.CDLL("libm.so.6")
    keys = [kept._key(rooted(f)._program, {}, None) for f in (libm.sin, libm.cos, libm.sin)]
    assert keys[0] == keys[2] != keys[1]
    of_python = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(abs)
    assert kept._key(rooted(of_python)._program, {}, None) == ""
    s = rooted(of_python).stream()
    np.testing.assert_array_equal(s.push(np.array([-1.0, 2.0])), [1.0, 2.0])


@pytest.mark.parametrize("content", ["", "no base64!", "gASVDQAAAAAAAACMCWJ1aWx0aW5zlC4=", 7])
def test_what_is_damaged_is_made_anew(content: object) -> None:
    key = kept._key(smooth()._program, {}, None)
    notes.store(key, content)
    s = smooth().stream()
    np.testing.assert_array_equal(s.push(np.arange(4.0)), [1.0, 2.5, 4.0])
    assert isinstance(notes.load(key), str)
    assert len(notes.load(key)) > 100


def test_no_other_class_is_loaded() -> None:
    """cos, pickled: a note that somebody else has written."""
    import base64
    import math
    import pickle

    key = "a note of a test"
    notes.store(key, base64.b64encode(pickle.dumps(math.cos)).decode())
    assert json.dumps(notes.load(key))
    assert kept._load(key) is None


def test_a_refusal_has_no_other_error_behind_it() -> None:
    (n,) = tw.iters("n")
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", {n: tw.forever}, x[n] + x[2 * n])
    with pytest.raises(tw.DeclarationError) as refused:
        tw.stream_function("refused", outputs=[y])
    assert "During handling" not in "".join(traceback.format_exception(refused.value))
