"""The messages of errors are those of golden.txt, their codes are those of the catalogue, and the
page shows all of them."""

import pathlib
import re

import golden
import pytest

import tilewright as tw
from tilewright.base import errors
from tilewright.tools import error_codes
from tilewright.tools.cli import main as command_line

ROOT = pathlib.Path(__file__).parents[3]
CASES = golden.cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_messages(case):
    """`python tests/python/errors/golden.py` writes them anew."""
    assert golden.message_of(case.program) == case.message


def test_every_code_has_a_message():
    shown = {code for case in CASES for code in re.findall(r"\[(TW\d+)\]", case.message)}
    # No program is known that meets an error of the library itself; TW210 is the class of all kinds;
    # those of devices need one, or none (test_device_arrays.py).
    assert set(error_codes.catalogue()) - shown <= {"TW900", "TW210", "TW510", "TW511"}


def test_codes_are_never_given_again():
    """What a code means stays: this list only grows."""
    assert {code: entry.error.__name__ for code, entry in error_codes.catalogue().items()} == {
        "TW100": "DeclarationError",
        "TW101": "DeclarationTypeError",
        "TW102": "DomainError",
        "TW103": "SelfDependenceError",
        "TW110": "TranslationError",
        "TW200": "ScheduleError",
        "TW201": "ScheduleTypeError",
        "TW210": "IllegalScheduleError",
        "TW211": "IllegalScheduleError",
        "TW212": "IllegalScheduleError",
        "TW213": "IllegalScheduleError",
        "TW214": "IllegalScheduleError",
        "TW215": "IllegalScheduleError",
        "TW300": "ArgumentError",
        "TW301": "ArgumentTypeError",
        "TW302": "ArgumentOverflowError",
        "TW310": "SubscriptError",
        "TW311": "OutOfBoundsError",
        "TW320": "ExportError",
        "TW400": "AnalysisLimitError",
        "TW500": "SettingError",
        "TW510": "DeviceError",
        "TW511": "DeviceMemoryError",
        "TW600": "SetError",
        "TW601": "SetTypeError",
        "TW900": "InternalError",
    }


def test_every_class_has_a_code_of_its_own():
    classes = [getattr(errors, name) for name in errors.__all__]
    codes = [error.class_code for error in classes]
    assert len(set(codes)) == len(codes)
    assert all(issubclass(error, tw.TilewrightError) for error in classes)
    assert set(errors.__all__) <= set(tw.__all__)


BLOCK = re.compile(r"(Fails|Mended)[^\n]*(?:\n[^\n]+)*?::\n\n((?:    .*\n|\n)+)")


@pytest.mark.parametrize("kind", errors.KIND_CODES)
def test_the_code_of_each_kind(kind):
    """What is said to fail is refused for this reason; what is said to be mended runs."""
    text = error_codes.catalogue()[errors.KIND_CODES[kind]].text + "\n"
    code = {word: re.sub(r"^    ", "", block, flags=re.M) for word, block in BLOCK.findall(text)}
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        exec(code["Fails"], golden.scope())
    assert refusal.value.kind == kind
    assert refusal.value.code == errors.KIND_CODES[kind]
    assert str(refusal.value).startswith(f"[{refusal.value.code}] ")
    exec(code["Mended"], golden.scope())


def test_the_page_is_made_of_the_docstrings():
    """`python -m tilewright.error_codes` writes it."""
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == error_codes.page()


def test_explain(capsys):
    assert command_line(["explain", "tw212"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("TW212: ") and "B.storage_fold(i, 1)" in shown
    assert command_line(["explain", "TW999"]) == 2
    assert "TW211" in capsys.readouterr().err
    assert error_codes.explain("[TW100]").startswith("TW100: ")
    with pytest.raises(tw.ArgumentError, match="there is no error 'TW1'"):
        error_codes.explain("TW1")
