"""Every regular expression of the package takes linear time."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import re
from collections.abc import Iterator

import hedgerow
from hedgerow import temporal
from hostile import seconds

LENGTH = 4000
MOST_S = 0.005
"""Most linear searches take a tenth of this. A quadratic one takes more."""

MOST_GROWTH = 8
"""A text of four times the length takes a linear search four times as long, and a quadratic one sixteen times."""

MANY = 60

STARTS = [
    "", " ", "a", "a:", "a: ", "- ", "---", "#", "[", "[[", "![", "[a](", "[a][", "[a]: ", "```",
    '"', "'", "{", '{"actions"', "{{", "LINK ", 'LINK "', "WRITE_NODE", "CONFIDENCE", "\\", "1",
    "7 /", "2 ", "2 days ", "last ", "after ", "2026-04-18", "2026-04-18T10:30:45.", "10:30",
    "Sat ", "April ", "18 Apr", "[source: `", "<!--", "every ", ".", "x@", "/", "~", '"""', "'''",
]  # fmt: skip
STARTS_OF_SEARCHES = ["", "a", "[", "![", "{", '"', "1", "2 days ", "last ", "[source: `", "\\"]
"""A search tries every position, so few prefixes are needed."""

RUNS = [
    " ", "\t", "\n", "a", "A", "1", "-", "_", ".", ",", ":", "#", "!", "?", "`", "~", '"', "'", "\\",
    "/", "[", "]", "(", ")", "{", "}", "*", "é", "。", "a ", "1 ", " .", "![", "[[", "](", "a.", "- ",
    '""', '\\"', "<!", "@", "|", "  \n", ". ", "1.", ", ", "{ ",
]  # fmt: skip
ENDS = ["", "\x00"]


def patterns() -> Iterator[tuple[str, re.Pattern[str], bool]]:
    """Yield the patterns of all modules, and whether each is used with `search` or anchored."""
    for info in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."):
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # an adapter whose package is not installed
            continue
        if not str(module.__file__).endswith(".py"):
            continue
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                searched = re.search(rf"\b{name}\.(?:search|finditer|sub|split|findall)\b", source)
                yield f"{info.name}.{name}", value, searched is not None
    for number, form in enumerate([temporal._ANCHOR, temporal._ISO, *temporal._PROSE]):
        yield f"date {number}", temporal._grammar(form), False


def is_slow(pattern: re.Pattern[str], start: str, run: str, end: str, *, searched: bool) -> bool:
    """Whether a text takes long, and one of four times the run more than four times as long."""

    def taken(length: int, times: int) -> float:
        text = start + run * (length // len(run)) + end

        def read() -> None:
            if searched:
                # Matches that are kept would cause garbage collections.
                for _ in pattern.finditer(text):
                    pass
            else:
                pattern.match(text)

        return seconds(read, times)

    if taken(LENGTH, 1) < MOST_S:
        return False
    return taken(4 * LENGTH, 5) > MOST_GROWTH * taken(LENGTH, 5)


def test_every_pattern_is_linear() -> None:
    slow = []
    count = 0
    for name, pattern, searched in patterns():
        count += 1
        starts = STARTS_OF_SEARCHES if searched else STARTS
        for start, run, end in itertools.product(starts, RUNS, ENDS):
            if is_slow(pattern, start, run, end, searched=searched):
                slow.append((name, start, run, end))
                break
    assert not slow
    assert count > MANY
