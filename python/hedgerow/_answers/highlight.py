"""Where a hit matched: the words of its text that the query finds, and the best snippet."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from hedgerow._engine import _marks
from hedgerow.ingest import TITLE_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hedgerow.typing import Tokenizer

SNIPPET_LIMIT = 240
"""Characters of a snippet, without the ellipses at its ends."""

LOOKED_AT = 64 * 1024
"""A snippet is taken from so many characters at the beginning of a chunk."""

_MOST_WANTED = 64
"""The most words and phrases of a query that are marked."""

_WORD = re.compile(r"[^\W_]+")
_EXPRESSION_PART = re.compile(r'"((?:[^"]|"")*)"(?: (\*))?|\bNOT \(')
# Fences, rules, underlines, and where links lead to: lines without words to read.
_MARKUP_LINE = re.compile(r"\s*(?:`{3,}.*|~{3,}.*|([^\w\s])\1*|\[[^\]]+\]:\s+\S+)\s*\Z")
# No picture in the text of a picture: each would else be gone through from all before it.
_PICTURE = re.compile(r"!\[(?:[^\]!]|!(?!\[))*\](?:\([^()\s]*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[([^\[\]]*)\](?:\([^()\s]*\)|\[[^\[\]]*\])")
_HEADING_MARK = re.compile(r"\A\s{0,3}#{1,6}\s+")

Span = tuple[int, int]


_Wanted = tuple[tuple[str, ...], bool]
"""One thing that is searched for: a run of words, and whether the last is only begun."""


class Highlighter:
    """Finds what an executed expression matches in texts, as the index's tokenizer does."""

    def __init__(self, match: str, tokenizer: Tokenizer) -> None:
        wanted = dict.fromkeys(wanted for wanted in _wanted(match) if wanted[0])
        self._wanted = list(wanted)[:_MOST_WANTED]
        self._tokenizer = tokenizer

    def spans(self, *texts: str) -> list[list[Span]]:
        """Return for each text the spans that matched, in order and without overlaps."""
        if self._tokenizer != "trigram":
            return _marks([text[:LOOKED_AT] for text in texts], self._wanted, self._tokenizer)
        return [_joined(sorted(self._find_substrings(text[:LOOKED_AT]))) for text in texts]

    def _find_substrings(self, text: str) -> Iterable[Span]:
        lowered = text.lower()
        if len(lowered) != len(text):
            return
        for words, _ in self._wanted:
            sought = " ".join(words).lower()
            yield from (match.span() for match in re.finditer(re.escape(sought), lowered))


def snippets(
    texts: Sequence[tuple[str, str]], highlighter: Highlighter
) -> list[tuple[str, list[Span]]]:
    """Cut of each content with its title the part with the most different matches, with their spans."""
    plain = [readable(content[:LOOKED_AT], title) for content, title in texts]
    spans = highlighter.spans(*plain)
    return [
        _cut(text, found, is_longer=len(content) > LOOKED_AT)
        for text, found, (content, _) in zip(plain, spans, texts, strict=True)
    ]


def _cut(text: str, spans: Sequence[Span], *, is_longer: bool) -> tuple[str, list[Span]]:
    start = _best_start(text, spans)
    end = min(len(text), start + SNIPPET_LIMIT)
    if end < len(text):
        space = text.rfind(" ", start + SNIPPET_LIMIT // 2, end)
        end = space if space > 0 else end
    lead, tail = ("… " if start else ""), (" …" if is_longer or end < len(text) else "")
    shift = len(lead) - start
    inside = [(a + shift, b + shift) for a, b in spans if a >= start and b <= end]
    return f"{lead}{text[start:end]}{tail}", inside


def readable(content: str, title: str) -> str:
    """Put a chunk's source on one line, without most of its mark-up.

    Headings that the title shows already are left out, and so are pictures and addresses.
    """
    shown = {part.casefold() for part in title.split(TITLE_SEPARATOR)}
    lines: list[str] = []
    for line in content.split("\n"):
        plain = _LINK.sub(r"\1", _PICTURE.sub("", _HEADING_MARK.sub("", line, count=1))).strip()
        if _MARKUP_LINE.match(line) or (not lines and plain.casefold() in shown):
            continue
        if plain:
            lines.append(plain)
    return " ".join(" ".join(lines).split())


def _best_start(text: str, spans: Sequence[Span]) -> int:
    """Start a little before the window that holds the most different matches."""
    if len(text) <= SNIPPET_LIMIT or not spans:
        return 0
    best, best_count = 0, 0
    words = [text[start:end].lower() for start, end in spans]
    within: Counter[str] = Counter()
    beyond = 0
    for index, (start, _) in enumerate(spans):
        # A span may be longer than the window.
        beyond = max(beyond, index)
        while beyond < len(spans) and spans[beyond][1] <= start + SNIPPET_LIMIT - 40:
            within[words[beyond]] += 1
            beyond += 1
        if len(within) > best_count:
            best, best_count = start, len(within)
        if index < beyond:
            within[words[index]] -= 1
            if not within[words[index]]:
                del within[words[index]]
    if best <= SNIPPET_LIMIT // 3:
        return 0
    begin = max(0, best - 40)
    space = text.find(" ", begin, best)
    return space + 1 if space >= 0 else best


def _wanted(match: str) -> Iterable[_Wanted]:
    """Read the positive parts of an executed expression (spec/compile.md)."""
    for part in _EXPRESSION_PART.finditer(match):
        if part[1] is None:
            return
        words = tuple(_WORD.findall(part[1].replace('""', '"')))
        yield words, part[2] is not None


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
