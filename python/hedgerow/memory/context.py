"""Context: evidence for a question, packed into a budget of tokens (spec/memory.md, "Context")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from hedgerow._engine import _recall_terms, _repeats, _structures

from .operations import SMALLEST_BUDGET
from .recall import Evidence
from .results import About, Context, Passage, Recall, RecalledMemory, context_text
from .times import memory_time

CountTokens = Callable[[str], int]
"""How many tokens a text has."""

_STEM = 4
_SHARE = 4
"""A passage of more than this part of the budget is cut down to the structures that matter."""


_SHORTEST_PART = 20
"""The fewest characters that a part of a structure has."""

_LONGEST_END = "Left out: 1,000 did not fit the budget, 1,000 retracted, 1,000 superseded."


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for four bytes of UTF-8, rounded up."""
    return -(-len(text.encode()) // 4)


def pack(  # noqa: PLR0913 - the options of a context
    found: Recall,
    hits: Sequence[Evidence],
    budget: int,
    per_file: int,
    count: CountTokens,
    *,
    diversify: bool = False,
) -> Context:
    """Pack the passages of the files that were found, the best first, as far as there is room.

    With `diversify`, without near-duplicates of better ones.
    """
    terms = [term[: max(_STEM, len(term) - 3)] for term in _recall_terms(found.query)]
    packer = _Packer(budget, count, terms)
    about = _that_fit(found.about, budget // _SHARE, count)
    if about:
        packer.spend("\n\n".join(map(str, about)))
    ranked = _ranked(found.results, hits, per_file)
    similar = frozenset(_repeats([hit.text for hit, _ in ranked]) if diversify else ())
    for rank, (hit, one) in enumerate(ranked):
        if rank not in similar:
            packer.take(_Candidate.of(hit, one))
    missing = len(found.about) - len(about)
    counts = {"budget": packer.refused + missing, "similar": len(similar)}
    left_out = {**{why: count for why, count in counts.items() if count}, **found.left_out}
    passages = packer.passages
    while passages and count(context_text(passages, left_out, about)) > budget:
        # Tokens of parts need not add up to those of the whole.
        passages = passages[:-1]
        left_out = {**left_out, "budget": left_out.get("budget", 0) + 1}
    text = context_text(passages, left_out, about)
    tokens = count(text) if text else 0
    return Context(
        found.root,
        found.query,
        budget,
        tokens,
        tuple(passages),
        left_out,
        found.notices,
        found.not_allowed,
        found.unreadable,
        about,
    )


def _that_fit(about: Sequence[About], budget: int, count: CountTokens) -> tuple[About, ...]:
    """Return the texts on folders that fit a budget together, in their order."""
    kept: list[About] = []
    for one in about:
        if count("\n\n".join(map(str, [*kept, one]))) <= budget:
            kept.append(one)
    return tuple(kept)


def _ranked(
    results: Sequence[RecalledMemory], hits: Sequence[Evidence], per_file: int
) -> list[tuple[Evidence, RecalledMemory]]:
    """Order passages by the score of their file and their own; of equals the newest first."""
    by_file: defaultdict[str, list[Evidence]] = defaultdict(list)
    for hit in hits:
        if len(by_file[hit.path]) < per_file:
            by_file[hit.path].append(hit)
    ordered = []
    for one in results:
        best = max((hit.score for hit in by_file[one.file]), default=0.0)
        time = memory_time(one.file, one.metadata)
        for hit in by_file[one.file]:
            share = hit.score / best if best > 0 else 1.0
            newest = 0.0 if time is None else -time.timestamp()
            ordered.append(((-one.score * share, newest, one.file, hit.ordinal), hit, one))
    ordered.sort(key=lambda entry: entry[0])
    return [(hit, one) for _, hit, one in ordered]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage that may be taken: its structures, and the line on which each begins."""

    one: RecalledMemory
    blocks: Sequence[str]
    starts: Sequence[int]

    @classmethod
    def of(cls, hit: Evidence, one: RecalledMemory) -> _Candidate:
        blocks = _structures(hit.text)
        lines = (block.count("\n") + 1 for block in blocks)
        return cls(one, blocks, list(accumulate(lines, initial=hit.line_start)))

    def is_heading(self, at: int) -> bool:
        return self.blocks[at].lstrip().startswith("#")

    def with_heading(self, at: int) -> set[int]:
        """Return a structure, with the nearest heading above it."""
        above = (other for other in range(at - 1, -1, -1) if self.is_heading(other))
        return {at, *islice(above, 1)}

    def passage(self, number: int, chosen: Iterable[int]) -> Passage:
        """Join structures; where some between them are left out, there is an ellipsis."""
        runs: list[tuple[int, int]] = []
        text = ""
        previous = -1
        for at in sorted(chosen):
            block = self.blocks[at].rstrip()
            end = self.starts[at] + block.count("\n")
            if runs and at == previous + 1:
                # The blank lines between them too.
                text += "\n" * (self.starts[at] - runs[-1][1]) + block
                runs[-1] = runs[-1][0], end
            else:
                text += f"\n…\n{block}" if runs else block
                runs.append((self.starts[at], end))
            previous = at
        return self._passage(number, runs, text)

    def part(self, number: int, at: int, begin: int, length: int) -> Passage:
        """Return a part of one structure, cut between words where it can be, with ellipses."""
        block = self.blocks[at].rstrip()
        text = block[begin : begin + length]
        if begin + length < len(block):
            text = text[: max(text.rfind(" "), len(text) // 2)].rstrip()
        first = self.starts[at] + block.count("\n", 0, begin)
        runs = [(first, first + text.count("\n"))]
        start, end = ("…" if begin else ""), ("…" if begin + length < len(block) else "")
        return self._passage(number, runs, f"{start}{text}{end}")

    def _passage(self, number: int, runs: Iterable[tuple[int, int]], text: str) -> Passage:
        time = memory_time(self.one.file, self.one.metadata)
        day = None if time is None else time.date().isoformat()
        return Passage(number, self.one.file, tuple(runs), text, self.one.validity, day)


class _Packer:
    """Takes passages, whole or in part, until the budget is used."""

    def __init__(self, budget: int, count: CountTokens, terms: Sequence[str]) -> None:
        self.passages: list[Passage] = []
        self.refused = 0
        self._count = count
        self._terms = terms
        self._least = max(budget // _SHARE, SMALLEST_BUDGET)
        self._room = budget - count(f"\n\n{_LONGEST_END}")

    def spend(self, text: str) -> None:
        """Leave room for a text before the passages."""
        self._room -= self._count(f"{text}\n\n")

    def take(self, candidate: _Candidate) -> None:
        """Take the part of a passage that matters and fits; count a passage of which nothing fits."""
        # The best one may take all there is.
        share = max(self._least, self._room // 2) if self.passages else self._room
        room = min(self._room, share)
        chosen: set[int] = set(range(len(candidate.blocks)))
        if self._cost(candidate, chosen) > room:
            # A structure that is larger than its share is still better than none.
            chosen = self._matter(candidate, room) or self._matter(candidate, self._room)
        if chosen:
            taken: Passage | None = candidate.passage(len(self.passages) + 1, chosen)
        else:
            taken = None if self.passages else self._cut(candidate)
        if taken is None:
            self.refused += 1
            return
        self._room -= self._count(f"\n\n{taken}")
        self.passages.append(taken)

    def _cut(self, candidate: _Candidate) -> Passage | None:
        """Return as much as fits of the structure with the most words of the query."""
        matches = [self._matches(candidate, at) for at in range(len(candidate.blocks))]
        longest = [len(block) for block in candidate.blocks]
        best = max(range(len(matches)), key=lambda at: (matches[at], longest[at]), default=None)
        if best is None:
            return None
        block, begin = candidate.blocks[best], 0
        low, high = 0, len(block)
        while low < high:
            # Tokens grow with the length, so the longest part that fits is found by halves.
            length = (low + high + 1) // 2
            first = self._begin(block, length)
            cost = self._count(f"\n\n{candidate.part(1, best, first, length)}")
            low, high = (length, high) if cost <= self._room else (low, length - 1)
        begin = self._begin(block, low)
        return candidate.part(1, best, begin, low) if low >= _SHORTEST_PART else None

    def _begin(self, block: str, length: int) -> int:
        """Return where a part of a block begins that has the first word of the query."""
        text = block.casefold()
        found = [at for at in (text.find(term) for term in self._terms) if at >= 0]
        first = min(found, default=0)
        return 0 if first < length // 2 else min(first, max(0, len(block) - length))

    def _matter(self, candidate: _Candidate, room: int) -> set[int]:
        """Choose the structures with the most words of the query that fit, each with its heading.

        Structures without such a word count only if none has one: the passage was found by meaning.
        """
        matches = {
            at: self._matches(candidate, at)
            for at, block in enumerate(candidate.blocks)
            if block.strip() and not candidate.is_heading(at)
        }
        least = min(1, max(matches.values(), default=0))
        chosen: set[int] = set()
        for at in sorted(matches, key=lambda at: (-matches[at], at)):
            more = chosen | candidate.with_heading(at)
            if matches[at] >= least and self._cost(candidate, more) <= room:
                chosen = more
        return chosen

    def _matches(self, candidate: _Candidate, at: int) -> int:
        """Count the words of the query in a structure, its heading and the title of its file."""
        texts = [candidate.blocks[other] for other in candidate.with_heading(at)]
        text = " ".join([str(candidate.one.metadata.get("title", "")), *texts]).casefold()
        return sum(term in text for term in self._terms)

    def _cost(self, candidate: _Candidate, chosen: Iterable[int]) -> int:
        return self._count(f"\n\n{candidate.passage(len(self.passages) + 1, chosen)}")
