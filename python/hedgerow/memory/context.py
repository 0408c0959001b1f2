"""Context: evidence for a question, packed into a budget of tokens (spec/memory.md, "Context")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

from hedgerow._checks import checked_count
from hedgerow._engine import _recall_terms, _structures
from hedgerow.errors import InvalidInputError
from hedgerow.ingest.source import Skip

from .asked import LEFT_OUT
from .evidence import Evidence
from .periods import Period
from .recall import Recall, Recalled
from .times import memory_time
from .validity import HOLDS, Validity

CountTokens = Callable[[str], int]
"""How many tokens a text has."""

FILES = 40
"""The most files that evidence is taken from."""

_SMALLEST = 40
_STEM = 4
_SHARE = 4
"""A passage of more than this part of the budget is cut down to the structures that matter."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of evidence: whole structures of one passage of a file.

    `lines` are the runs of lines it consists of, as (first, last), from 1, both inclusive; between
    two runs, `text` has a line with an ellipsis. `number` is its rank, from 1.
    """

    number: int
    file: str
    lines: tuple[tuple[int, int], ...]
    text: str
    validity: Validity = HOLDS

    @property
    def source(self) -> str:
        """The file and the lines, as in `notes/hedge.md:3-5,9-12`."""
        runs = (f"{start}-{end}" if end > start else str(start) for start, end in self.lines)
        return f"{self.file}:{','.join(runs)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        marks = {} if self.validity == HOLDS else {"validity": self.validity.to_dict()}
        return {
            "number": self.number,
            "file": self.file,
            "lines": [list(run) for run in self.lines],
            "text": self.text,
            **marks,
        }

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any]) -> Passage:
        """Return the passage of such a JSON."""
        lines = tuple((start, end) for start, end in keys["lines"])
        validity = Validity.from_dict(keys["validity"]) if "validity" in keys else HOLDS
        return cls(keys["number"], keys["file"], lines, keys["text"], validity)

    def __str__(self) -> str:
        marks = f" ({self.validity})" if str(self.validity) else ""
        return f"[{self.number}] {self.source}{marks}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Context:
    """Evidence for a question: `str()` is the text to pass to a model.

    The text has `tokens`, at most `budget`. `passages` are in the order of their rank, numbered
    from 1. `left_out` counts passages that did not fit, as `budget`, and the files that the recall
    left out, by reason. `notices`, `unreadable` and `period` are those of the recall.
    """

    root: str
    query: str
    budget: int
    tokens: int
    passages: tuple[Passage, ...]
    left_out: Mapping[str, int]
    notices: tuple[str, ...] = ()
    unreadable: tuple[Skip, ...] = ()
    period: Period | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        told: dict[str, Any] = {"notices": list(self.notices)} if self.notices else {}
        if self.period is not None:
            told["period"] = self.period.to_dict()
        return {
            "root": self.root,
            "query": self.query,
            "budget": self.budget,
            "tokens": self.tokens,
            "text": str(self),
            "passages": [passage.to_dict() for passage in self.passages],
            "leftOut": dict(self.left_out),
            "unreadable": [skip.to_dict() for skip in self.unreadable],
            **told,
        }

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any]) -> Context:
        """Return the context of such a JSON."""
        return cls(
            keys["root"],
            keys["query"],
            keys["budget"],
            keys["tokens"],
            tuple(Passage.from_dict(one) for one in keys["passages"]),
            keys["leftOut"],
            tuple(keys.get("notices", ())),
            tuple(Skip(**skip) for skip in keys["unreadable"]),
            Period.from_dict(keys["period"]) if "period" in keys else None,
        )

    def __str__(self) -> str:
        return _text(self.passages, self.left_out)


_LONGEST_END = "Left out: 1,000 for want of room, 1,000 retracted, 1,000 superseded."
_REASONS = {"budget": "for want of room", **LEFT_OUT}


def _text(passages: Sequence[Passage], left_out: Mapping[str, int]) -> str:
    said = ", ".join(f"{count:,} {_REASONS[why]}" for why, count in left_out.items())
    end = [f"Left out: {said}."] if said else []
    return "\n\n".join([*map(str, passages), *end])


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for four bytes of UTF-8, rounded up."""
    return -(-len(text.encode()) // 4)


def checked_budget(budget: int, per_file: int) -> None:
    """Raise InvalidInputError for a budget that is too small for any passage."""
    checked_count(per_file, "per_file")
    if checked_count(budget, "budget") < _SMALLEST:
        raise InvalidInputError(
            f"budget must be at least {_SMALLEST} tokens, not {budget}", code="invalid_option"
        )


def pack(
    found: Recall, hits: Sequence[Evidence], budget: int, per_file: int, count: CountTokens
) -> Context:
    """Pack the passages of the files that were found, the best first, as far as there is room."""
    terms = [term[: max(_STEM, len(term) - 3)] for term in _recall_terms(found.query)]
    packer = _Packer(budget, count, terms)
    for hit, one in _ranked(found.results, hits, per_file):
        packer.take(_Candidate.of(hit, one))
    left_out = {**({"budget": packer.refused} if packer.refused else {}), **found.left_out}
    passages = packer.passages
    while passages and count(_text(passages, left_out)) > budget:
        # Tokens of parts need not add up to those of the whole.
        passages = passages[:-1]
        left_out = {**left_out, "budget": left_out.get("budget", 0) + 1}
    tokens = count(_text(passages, left_out)) if passages or left_out else 0
    return Context(
        found.root,
        found.query,
        budget,
        tokens,
        tuple(passages),
        left_out,
        found.notices,
        found.unreadable,
        found.period,
    )


def _ranked(
    results: Sequence[Recalled], hits: Sequence[Evidence], per_file: int
) -> list[tuple[Evidence, Recalled]]:
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

    one: Recalled
    blocks: Sequence[str]
    starts: Sequence[int]

    @classmethod
    def of(cls, hit: Evidence, one: Recalled) -> _Candidate:
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
        return Passage(number, self.one.file, tuple(runs), text, self.one.validity)


class _Packer:
    """Takes passages, whole or in part, until the budget is used."""

    def __init__(self, budget: int, count: CountTokens, terms: Sequence[str]) -> None:
        self.passages: list[Passage] = []
        self.refused = 0
        self._count = count
        self._terms = terms
        self._least = max(budget // _SHARE, _SMALLEST)
        self._room = budget - count(f"\n\n{_LONGEST_END}")

    def take(self, candidate: _Candidate) -> None:
        """Take the part of a passage that matters and fits; count a passage of which nothing fits."""
        # The best one may take all there is.
        share = max(self._least, self._room // 2) if self.passages else self._room
        room = min(self._room, share)
        chosen: set[int] = set(range(len(candidate.blocks)))
        if self._cost(candidate, chosen) > room:
            # One structure that is larger than its share is still better than none.
            chosen = self._matter(candidate, room) or self._matter(candidate, self._room)
        if not chosen:
            self.refused += 1
            return
        self._room -= self._cost(candidate, chosen)
        self.passages.append(candidate.passage(len(self.passages) + 1, chosen))

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
