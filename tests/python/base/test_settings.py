"""`tw.settings`: where values come from, what they change, and what is said of wrong ones."""

from __future__ import annotations

import asyncio
import logging
import os
import pathlib
import pickle
import re
import threading

import numpy as np
import pytest

import tilewright as tw
from children import run_python
from tilewright.base import configuration, environment, notices
from tilewright.tools.cli import main as command_line

ROOT = pathlib.Path(__file__).parents[3]
i, N = tw.iter("i"), tw.param("N")
x = tw.input("x", [N], tw.float32)
C = tw.computation("C", {i: N}, 2 * x[i] + 1)


@pytest.fixture(autouse=True)
def clean():
    """Neither the environment nor another test says anything; warnings are given again."""
    with pytest.MonkeyPatch.context() as patch:
        for setting in configuration.all_settings().values():
            if setting.name != "cache_directory":
                patch.delenv(setting.variable, raising=False)
        patch.setattr(notices, "_given", set())
        yield


@pytest.fixture(autouse=True)
def restored(clean, monkeypatch):
    """What a test assigns is taken back, after its own changes of the environment are."""
    monkeypatch.setattr(tw.settings, "_assigned", {})
    yield
    monkeypatch.undo()
    for name in configuration.all_settings():
        delattr(tw.settings, name)


def test_where_a_value_comes_from(monkeypatch):
    assert tw.settings.optimize == "auto"
    monkeypatch.setenv("TILEWRIGHT_OPTIMIZE", "light")
    assert tw.settings.optimize == "light"
    tw.settings.optimize = "full"
    assert tw.settings.optimize == "full"
    with tw.settings(optimize="background"):
        assert tw.settings.optimize == "background"
        with tw.settings(optimize="light", fast_math=True):
            assert (tw.settings.optimize, tw.settings.fast_math) == ("light", True)
        assert (tw.settings.optimize, tw.settings.fast_math) == ("background", False)
        shown = repr(tw.settings).splitlines()
        assert "optimize = 'background'  # with" in shown
        assert "fast_math = False" in shown
    assert "optimize = 'full'  # program" in repr(tw.settings)
    del tw.settings.optimize
    assert "optimize = 'light'  # TILEWRIGHT_OPTIMIZE" in repr(tw.settings)


def test_functions_take_them():
    with tw.settings(default_schedule=False, cpu="x86-64"):
        f = tw.function("f", outputs=[C])
        g = tw.function("f", outputs=[C], default_schedule=True, cpu="native")
    assert f.cpu.startswith("x86-64") and not f.default_schedule.commands
    assert g.key == tw.function("f", outputs=[C]).key != f.key
    np.testing.assert_array_equal(f(np.ones(3, np.float32)), 3 * np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("TILEWRIGHT_FAST_MATH", "on", "fast_math", True),
        ("TILEWRIGHT_FAST_MATH", "0", "fast_math", False),
        ("TILEWRIGHT_DEFAULT_SCHEDULE", "False", "default_schedule", False),
        ("TILEWRIGHT_KEEP_MEMORY", "12", "keep_memory", 12),
        ("TILEWRIGHT_LOG", "INFO", "log", "info"),
        ("TILEWRIGHT_SILENCE", "a, b,", "silence", ("a", "b")),
        ("TILEWRIGHT_CPU", "", "cpu", "native"),
    ],
)
def test_the_environment(monkeypatch, variable, text, name, value):
    monkeypatch.setenv(variable, text)
    assert getattr(tw.settings, name) == value


@pytest.mark.parametrize(
    ("variable", "text", "name", "expected"),
    [
        ("TILEWRIGHT_OPTIMIZE", "fast", "optimize", "one of 'auto', 'light'"),
        ("TILEWRIGHT_FAST_MATH", "maybe", "fast_math", "one of 1, true"),
        ("TILEWRIGHT_KEEP_MEMORY", "-1", "keep_memory", "an integer of at least 0"),
        ("TILEWRIGHT_LOG", "loud", "log", "one of 'off', 'debug'"),
    ],
)
def test_wrong_values_in_the_environment(monkeypatch, variable, text, name, expected):
    monkeypatch.setenv(variable, text)
    with pytest.raises(tw.SettingError, match=f"{variable} must be {expected}.*got '{text}'"):
        getattr(tw.settings, name)


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("TILEWRIGHT_NUM_THREADS", "abc", "an integer between 1 and 65535"),
        ("TILEWRIGHT_NUM_THREADS", "-3", "an integer between 1 and 65535"),
        ("TILEWRIGHT_NUM_THREADS", "0", "an integer between 1 and 65535"),
        ("TILEWRIGHT_NUM_THREADS", "65536", "an integer between 1 and 65535"),
        ("TILEWRIGHT_THREADS", "foo", "'openmp', or 'threads'"),
        ("TILEWRIGHT_LEAST_PARALLEL_WORK", "x", "an integer of at least 0"),
        ("TILEWRIGHT_KEEP_MEMORY", "x", "an integer of at least 0"),
        ("TILEWRIGHT_PERF", "yes", "0 or 1"),
        ("TILEWRIGHT_GDB", "off", "0 or 1"),
    ],
)
def test_wrong_values_of_what_the_core_reads(variable, text, expected):
    done = run_python("-c", "import tilewright", status=None, **{variable: text})
    assert done.returncode != 0
    said = f"SettingError: [TW500] {variable} must be {expected}"
    assert said in done.stderr
    assert f"got {text!r}" in done.stderr


def test_values_of_what_the_core_reads():
    run_python(
        *("-W", "error", "-c", "import tilewright as tw; assert tw.get_num_threads() == 3"),
        TILEWRIGHT_NUM_THREADS="3",
        TILEWRIGHT_THREADS="threads",
        TILEWRIGHT_LEAST_PARALLEL_WORK="0",
        TILEWRIGHT_KEEP_MEMORY="",
        TILEWRIGHT_PERF="0",
        TILEWRIGHT_GDB="1",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("optimize", 3),
        ("fast_math", 1),
        ("keep_memory", True),
        ("keep_memory", -1),
        ("keep_memory", float("nan")),
        ("cache_directory", "text"),
        ("silence", "cache-in-memory"),
        ("cpu", ""),
    ],
)
def test_wrong_values_in_the_program(name, value):
    with pytest.raises(tw.SettingError, match=f"tw.settings.{name} must be"):
        setattr(tw.settings, name, value)
    with (
        pytest.raises(tw.SettingError, match=f"tw.settings.{name} must be"),
        tw.settings(**{name: value}),
    ):
        pytest.fail("the block was entered")
    assert "# " not in repr(tw.settings).replace("# TILEWRIGHT_CACHE_DIR", "")


def test_a_name_that_is_no_setting():
    with pytest.raises(AttributeError):
        tw.settings.optimise = "full"
    with pytest.raises(tw.SettingError, match="there is no setting 'optimise'; there are optimize"):
        tw.settings(optimise="full")


def test_blocks_end_with_errors_too(tmp_path):
    with pytest.raises(ZeroDivisionError), tw.settings(fast_math=True, cache_directory=tmp_path):
        assert tw.cache.info().directory == tmp_path
        raise ZeroDivisionError
    assert not tw.settings.fast_math
    assert tw.cache.info().directory == pathlib.Path(os.environ["TILEWRIGHT_CACHE_DIR"])


def test_blocks_are_of_their_thread_and_task():
    seen = []
    with tw.settings(fast_math=True):
        thread = threading.Thread(target=lambda: seen.append(tw.settings.fast_math))
        thread.start()
        thread.join()
    assert seen == [False]

    async def one(value):
        with tw.settings(fast_math=value):
            await asyncio.sleep(0.001)
            return tw.settings.fast_math

    async def both():
        return await asyncio.gather(one(True), one(False))

    assert asyncio.run(both()) == [True, False]


def test_settings_of_the_process(tmp_path):
    with tw.settings(cache_directory=tmp_path / "kernels", keep_memory=0):
        f = tw.function("f", outputs=[C])
        f(np.ones(3, np.float32))
        assert (tmp_path / "kernels" / f"{f.key}.twk").exists()
        tw.cache.set_directory(tmp_path / "other")
        assert tw.settings.cache_directory == tmp_path / "other"
        tw.cache.set_directory(None)
        assert tw.cache.info().directory == pathlib.Path(os.environ["TILEWRIGHT_CACHE_DIR"])


def test_the_page():
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert environment.table() in text
    for id, meaning in notices.WARNINGS.items():
        assert f"| `{id}` | {meaning} |" in text


def test_every_variable_that_the_sources_read_is_known():
    known = {setting.variable for setting in configuration.all_settings().values()}
    known |= set(environment.OTHER_VARIABLES)
    sources = [*(ROOT / "cpp").rglob("*.cpp"), *(ROOT / "cpp").rglob("*.c")]
    read = set()
    for path in [*sources, *(ROOT / "python").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        read |= set(
            re.findall(
                r"(?:getenv|environment|environ\.get|environ)[([]\s*\"(TILEWRIGHT_\w+)", text
            )
        )
    assert "TILEWRIGHT_THREADS" in read
    assert read <= known


def test_the_command_line(capsys):
    assert command_line(["settings"]) == 0
    assert capsys.readouterr().out == repr(tw.settings) + "\n"


# ---- warnings ----


def disk_without_room(tmp_path):
    place = tmp_path / "file"
    place.write_text("no directory")
    return place / "kernels"


def test_one_warning_where_nothing_can_be_stored(tmp_path):
    with tw.settings(cache_directory=disk_without_room(tmp_path)):
        with pytest.warns(tw.TilewrightWarning) as caught:
            for factor in (3, 4, 5):
                D = tw.computation("D", {i: N}, factor * x[i])
                g = tw.function("g", outputs=[D])
                np.testing.assert_array_equal(g(np.ones(2, np.float32)), factor)
        assert [warning.message.id for warning in caught] == ["cache-in-memory"]
        assert caught[0].filename == __file__
        assert str(tmp_path) in str(caught[0].message)
        assert str(caught[0].message).endswith("[cache-in-memory]")
        again = pickle.loads(pickle.dumps(caught[0].message))
        assert (again.id, str(again)) == ("cache-in-memory", str(caught[0].message))


@pytest.mark.parametrize("way", ["setting", "category"])
def test_a_silenced_warning(tmp_path, recwarn, way):
    import warnings

    if way == "setting":
        tw.settings.silence = ("cache-in-memory",)
    else:
        warnings.filterwarnings("ignore", category=tw.TilewrightWarning)
    with tw.settings(cache_directory=disk_without_room(tmp_path)):
        D = tw.computation("D", {i: N}, 7 * x[i])
        tw.function("g", outputs=[D])(np.ones(2, np.float32))
    assert not [w for w in recwarn if issubclass(w.category, tw.TilewrightWarning)]


def run(code, **environment):
    return run_python("-c", code, status=None, **environment)


def test_variables_that_nobody_reads():
    done = run("import tilewright", TILEWRIGHT_OPTIMISE="full")
    assert done.returncode == 0
    assert "TILEWRIGHT_OPTIMISE" in done.stderr
    assert "did you mean TILEWRIGHT_OPTIMIZE? [unknown-variable]" in done.stderr
    quiet = run(
        "import tilewright", TILEWRIGHT_OPTIMISE="full", TILEWRIGHT_SILENCE="unknown-variable"
    )
    assert (quiet.returncode, quiet.stderr) == (0, "")


# ---- logging ----

PROGRAM = """
import numpy as np, tilewright as tw
i, N = tw.iter("i"), tw.param("N")
x = tw.input("x", [N], tw.float32)
f = tw.function("f", outputs=[tw.computation("C", {i: N}, 11 * x[i])])
f(np.ones(3, np.float32))
"""


def test_the_log_on_stderr(tmp_path):
    where = {"TILEWRIGHT_CACHE_DIR": str(tmp_path)}
    first = run(PROGRAM, TILEWRIGHT_LOG="info", **where)
    assert first.stderr.startswith("tilewright: compiled f in ") and "key " in first.stderr
    assert run(PROGRAM, TILEWRIGHT_LOG="info", **where).stderr == ""
    assert "loaded f in " in run(PROGRAM, TILEWRIGHT_LOG="debug", **where).stderr
    assert run(PROGRAM, **where).stderr == ""


def test_records(caplog):
    D = tw.computation("D", {i: N}, 13 * x[i])
    with caplog.at_level(logging.DEBUG, logger="tilewright"):
        tw.function("first", outputs=[D]).compile()
        tw.function("first", outputs=[D]).compile()
    levels = [record.levelname for record in caplog.records if record.name == "tilewright"]
    assert levels == ["INFO", "DEBUG"]
    assert caplog.messages[0].startswith("compiled first in ")


def test_the_log_can_be_turned_off_again(capsys):
    logger = logging.getLogger("tilewright")
    before = list(logger.handlers)
    with tw.settings(log="info"):
        assert len(logger.handlers) == len(before) + 1 and logger.level == logging.INFO
    assert logger.handlers == before and logger.level == logging.NOTSET


def test_memory_without_a_limit():
    tw.settings.keep_memory = float("inf")
    tw.settings.keep_memory = 1e300
    assert tw.settings.keep_memory == 1e300


@pytest.mark.parametrize("by_environment", [True, False])
def test_a_relative_directory_stays_where_it_is(tmp_path, by_environment):
    (tmp_path / "below").mkdir()
    code = """
import os, sys
import tilewright as tw
import numpy as np
def run(name):
    i, N = tw.iter("i"), tw.param("N")
    x = tw.input("x", [N], tw.float32)
    tw.function(name, outputs=[tw.computation("C", {i: N}, 2 * x[i])])(np.ones(3, np.float32))
os.chdir(sys.argv[1])
if "TILEWRIGHT_CACHE_DIR" not in os.environ:
    tw.settings.cache_directory = __import__("pathlib").Path("kernels")
run("f")
os.chdir("below")
run("g")
assert tw.cache.info().entries == 2
"""
    given = {"TILEWRIGHT_CACHE_DIR": "kernels"} if by_environment else {}
    run_python("-c", code, str(tmp_path), inherit=False, **given)
    assert not (tmp_path / "below" / "kernels").exists()


def test_paths_in_another_encoding(tmp_path):
    """Directories whose names are no UTF-8: of the cache, one that cannot be used, of the program."""
    folder = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.mkdir(folder)
    program = folder + b"/program.py"
    code = """
import os, pathlib, sys, warnings
import numpy as np
import tilewright as tw
i, N = tw.iter("i"), tw.param("N")
x = tw.input("x", [N], tw.float32)
C = tw.computation("C", {i: N}, 2 * x[i])
def call(name):
    tw.function(name, outputs=[C])(np.ones(3, np.float32))
    return tw.cache.info()
assert call("f").entries == 1
assert call("g").directory == pathlib.Path(os.environ["TILEWRIGHT_CACHE_DIR"])
tw.cache.set_directory(pathlib.Path(__file__).parent / "other")
assert call("h").entries == 1
tw.cache.set_directory(__file__)
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    assert "is not a directory" in call("k").disabled_reason
assert "is not a directory" in str(given[0].message)
try:
    call(5)
except TypeError:
    pass
from tilewright.tools.cli import main
assert main(["cache", "info"]) == main(["settings"]) == 0
try:
    C.split(i, 0)
except tw.ScheduleError as error:
    print(error)
"""
    with open(program, "w", encoding="utf-8") as file:
        file.write(code)
    done = run_python(
        os.fsdecode(program), TILEWRIGHT_CACHE_DIR=os.fsdecode(folder + b"/cache"), PYTHONUTF8="1"
    )
    assert "program.py:" in done.stdout


def test_an_empty_variable_is_as_good_as_none():
    """As docs/settings.md says."""
    program = """
import numpy as np, tilewright as tw
i, N = tw.iter("i"), tw.param("N")
c = tw.computation("y", {i: N}, 2.0 * i)
f = tw.function("f", outputs=[c])
c.parallelize(i)
f(N=3)
assert "# TILEWRIGHT" not in repr(tw.settings), tw.settings
print(tw.cache.info().directory)
"""
    from tilewright.base.configuration import all_settings

    variables = [setting.variable for setting in all_settings().values()]
    variables += ["TILEWRIGHT_THREADS", "TILEWRIGHT_NUM_THREADS", "TILEWRIGHT_LEAST_PARALLEL_WORK"]
    variables += [
        "TILEWRIGHT_PERF",
        "TILEWRIGHT_GDB",
        "TILEWRIGHT_CUDA_DRIVER",
        "TILEWRIGHT_LINKER",
        "TILEWRIGHT_DUMP_PASSES",
    ]
    home = {"XDG_CACHE_HOME": os.environ["TILEWRIGHT_CACHE_DIR"]}
    empty = run_python("-W", "error", "-c", program, **home, **dict.fromkeys(variables, ""))
    assert empty.stdout.strip() == home["XDG_CACHE_HOME"] + "/tilewright"
