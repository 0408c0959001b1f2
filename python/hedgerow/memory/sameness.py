"""Whether two memories say the same (spec/memory.md, "What is the same")."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .links import LONGEST_NORMALIZED
from .sections import first_heading

LIKE = 0.8
"""From this share of common words on, two texts say nearly the same."""

_WORD = re.compile(r"\w+")
_HEADING = re.compile(r"\s*#[ \t][^\n]*\n?")
_MOST_RIVALS = 200
"""The most memories with which one that shares a rare word with them is compared."""


def words_of(body: str) -> list[str]:
    """Return the words of a text, to compare: without its title, marks and case."""
    heading = _HEADING.match(body)
    below = body[heading.end() :] if heading and first_heading(heading[0]) else body
    return _words(below) or _words(body)


def _words(text: str) -> list[str]:
    if not text.isascii():
        # Word by word: normalizing takes the square of a run of accents.
        text = " ".join(
            one if len(one) > LONGEST_NORMALIZED else unicodedata.normalize("NFKC", one)
            for one in text.split()
        )
    return _WORD.findall(text.casefold())


def likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of words that two texts have in common, each as often as it stands there."""
    total = one.total() + other.total()
    if not total:
        return 0.0
    common = (one & other).total()
    return common / (total - common)


class Alike(NamedTuple):
    """Two memories that say nearly the same, the first of them first, and their likeness."""

    first: str
    second: str
    likeness: float


def same(texts: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the groups of memories that say the same words in the same order."""
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, words in texts.items():
        if words:
            groups[tuple(words)].append(path)
    return [group for group in groups.values() if len(group) > 1]


def nearly_same(texts: Mapping[str, Sequence[str]]) -> Iterator[Alike]:
    """Yield the pairs that say nearly the same, in the order of the memories.

    Two texts with a likeness of `LIKE` share one of their rarest words: only these are looked up.
    """
    counts = {path: Counter(words) for path, words in texts.items() if words}
    known = Counter(word for words in counts.values() for word in words)
    rivals: defaultdict[str, list[str]] = defaultdict(list)
    for path, words in counts.items():
        rarest = sorted(words.elements(), key=lambda word: (known[word], word))
        looked_up = dict.fromkeys(rarest[: len(rarest) - int(LIKE * len(rarest)) + 1])
        candidates = dict.fromkeys(one for word in looked_up for one in rivals[word])
        for other in candidates:
            found = likeness(words, counts[other])
            if found >= LIKE:
                yield Alike(other, path, found)
        for word in looked_up:
            if len(rivals[word]) < _MOST_RIVALS:
                rivals[word].append(path)
