"""Where a hit matched: the words of its text that the query finds, and the best snippet."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow._engine import _tokenize
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


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One thing that is searched for: a run of words, the last perhaps only begun."""

    words: tuple[str, ...]
    prefix: bool


class Highlighter:
    """Finds what an executed expression matches in a text, as the index's tokenizer does.

    Which words are equal is a matter of stems and accents, so the tokens of words are compared.
    """

    def __init__(self, match: str, tokenizer: Tokenizer, texts: Iterable[str]) -> None:
        wanted = dict.fromkeys(wanted for wanted in _wanted(match) if wanted.words)
        self._wanted = list(wanted)[:_MOST_WANTED]
        self._substrings = tokenizer == "trigram"
        self._same: dict[tuple[str, bool], frozenset[str]] = {}
        if self._wanted and not self._substrings:
            words = {word for text in texts for word in _WORD.findall(text[:LOOKED_AT])}
            self._look_up(words, tokenizer)

    def spans(self, text: str) -> list[Span]:
        """Return the spans of `text` that matched, in order and without overlaps."""
        find = self._find_substrings if self._substrings else self._find_words
        return _joined(sorted(find(text)))

    def _look_up(self, words: Iterable[str], tokenizer: Tokenizer) -> None:
        ordered = sorted(words)
        tokens_of = dict(zip(ordered, _tokenize(ordered, tokenizer), strict=True))
        by_token: defaultdict[str, list[str]] = defaultdict(list)
        for word, tokens in tokens_of.items():
            if len(tokens) == 1:
                by_token[tokens[0]].append(word)
        # Nearly every word is one token.
        others = [word for word, tokens in tokens_of.items() if len(tokens) > 1]
        for wanted in self._wanted:
            for i, sought in enumerate(_tokenize(wanted.words, tokenizer)):
                begun = wanted.prefix and i == len(wanted.words) - 1
                found = [
                    word
                    for word in (ordered if begun else others)
                    if _holds(tokens_of[word], sought, begun=begun)
                ]
                if len(sought) == 1 and not begun:
                    found += by_token[sought[0]]
                self._same[wanted.words[i], begun] = frozenset(found)

    def _find_words(self, text: str) -> Iterable[Span]:
        found = [(match.group(), match.span()) for match in _WORD.finditer(text)]
        for wanted in self._wanted:
            sets = [
                self._same.get((word, wanted.prefix and i == len(wanted.words) - 1), frozenset())
                for i, word in enumerate(wanted.words)
            ]
            for start in range(len(found) - len(sets) + 1):
                if all(found[start + i][0] in same for i, same in enumerate(sets)):
                    yield found[start][1][0], found[start + len(sets) - 1][1][1]

    def _find_substrings(self, text: str) -> Iterable[Span]:
        lowered = text.lower()
        if len(lowered) != len(text):
            return
        for wanted in self._wanted:
            sought = " ".join(wanted.words).lower()
            yield from (match.span() for match in re.finditer(re.escape(sought), lowered))


def snippet(content: str, title: str, highlighter: Highlighter) -> tuple[str, list[Span]]:
    """Cut the part of a chunk with the most different matches; return it with their spans."""
    text = readable(content[:LOOKED_AT], title)
    spans = highlighter.spans(text)
    start = _best_start(text, spans)
    end = min(len(text), start + SNIPPET_LIMIT)
    if end < len(text):
        space = text.rfind(" ", start + SNIPPET_LIMIT // 2, end)
        end = space if space > 0 else end
    is_cut = end < len(text) or len(content) > LOOKED_AT
    lead, tail = ("… " if start else ""), (" …" if is_cut else "")
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
            within -= Counter([words[index]])
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
        yield _Wanted(words, prefix=part[2] is not None)


def _holds(tokens: Sequence[str], sought: Sequence[str], *, begun: bool) -> bool:
    """Whether the tokens sought stand there in a row, the last perhaps only begun."""
    if not sought:
        return False
    *whole, last = sought
    for start in range(len(tokens) - len(whole)):
        end = start + len(whole)
        ends_so = tokens[end].startswith(last) if begun else tokens[end] == last
        if ends_so and list(tokens[start:end]) == whole:
            return True
    return False


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
