"""The results of operations on a memory root; the JSON of each follows from its fields (spec/memory.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow.errors import Fix
from hedgerow.ingest.source import Skip as Skip  # noqa: PLC0414 - a name of `hedgerow.memory`
from hedgerow.trace import Trace
from hedgerow.typing import VisitOutcome

from .times import HOLDS, LEFT_OUT, Validity
from .trust import TrustRequest

# The score of a recalled memory, as a sum of parts (spec/memory.md, "Score", "Time", "Depth").


DEPTHS = ("shallow", "normal", "deep")

DepthPolicy = Callable[[str, str], float]
"""From a bucket (`page`, `session`, ...) and a depth to a part of the score."""

_BOOSTS = {
    "page": (0.80, 0.10, 0.02),
    "decision": (0.45, 0.08, 0.0),
    "preference": (0.25, 0.04, 0.0),
    "finding": (0.22, 0.04, 0.0),
    "session": (-0.35, -0.04, 0.04),
}
_OTHERS = (-0.08, 0.0, 0.0)
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class ScoreParts(Result):
    """The parts of one score, each rounded to four places; `driver` names retrieval and bucket.

    `recency` is what the age of the memory takes from the score of the search if a half-life was given,
    and `recency_weight` the weight from which it follows, 1 for a new memory and 0.5 for one without a
    time; 0 and None otherwise.
    """

    retrieval: Annotated[float, Field(key="retrievalScore")]
    exact_match: Annotated[float, Field(key="exactMatchBoost")]
    metadata: Annotated[float, Field(key="metadataBoost")]
    temporal: Annotated[float, Field(key="temporalRelevance")]
    strength: Annotated[float, Field(key="memoryStrength")]
    provenance: Annotated[float, Field(key="provenanceConfidence")]
    depth: Annotated[float, Field(key="depthPolicyBoost")]
    retrieval_depth: str
    driver: str
    recency: Annotated[float, Field(key="recencyPenalty", omit_default=True)] = 0.0
    recency_weight: float | None = None

    JSON_PROPERTIES: ClassVar[Mapping[str, str]] = {"finalScore": "total"}

    @property
    def total(self) -> float:
        """The score."""
        parts = (
            self.retrieval,
            self.exact_match,
            self.metadata,
            self.temporal,
            self.strength,
            self.provenance,
            self.depth,
            self.recency,
        )
        return round(sum(parts), _DIGITS)


def depth_boost(bucket: str, depth: str) -> float:
    """Prefer condensed memory when shallow, and raw sessions when deep."""
    return _BOOSTS.get(bucket, _OTHERS)[DEPTHS.index(depth)]


BOOSTS = {
    depth: ({bucket: values[at] for bucket, values in _BOOSTS.items()}, _OTHERS[at])
    for at, depth in enumerate(DEPTHS)
}
"""By depth the values of `depth_boost` for the known buckets, and the value for any other."""


def rounded(value: float) -> float:
    """Round a part of a score; never a negative zero."""
    return round(value, _DIGITS) + 0.0


# Results of operations on a memory root; the JSON of each follows from its fields (spec/memory.md).


Unreadable = tuple[Skip, ...]
"""Files and folders that could not be read, and why."""

Notices = Annotated[
    tuple[str, ...], Field("What readers should know, as sentences", omit_default=True)
]
NotAllowed = Annotated[tuple[TrustRequest, ...], Field(local=True)]
"""What the root asks for and its user has not allowed."""

OfRoot = Annotated[
    str | None,
    Field("Only if several roots were searched: the one of the memory", omit_default=True),
]
Roots = Annotated[
    tuple[str, ...],
    Field(
        "Only if several roots were searched: their folders, that of @/ first", omit_default=True
    ),
]
IfMarked = Annotated[Validity, Field("Only if the memory has marks that count", omit_default=True)]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The file of a memory below the indexed folder, its lines from 1, and its front matter."""

    file: str
    line_start: int
    line_end: int
    metadata: Mapping[str, Any]
    session_id: Annotated[str | None, Field(also="session_id")] = None


@dataclass(frozen=True, slots=True)
class RecalledMemory(Result):
    """A found memory, at its best passage.

    `parts` are the parts of the score, `validity` says whether the memory holds at the time of the
    recall. `id` does not depend on the query.
    """

    id: str
    score: float
    snippet: str
    provenance: Provenance
    parts: Annotated[ScoreParts, Field(key="scoreBreakdown")]
    session_id: Annotated[str | None, Field(also="session_id")] = None
    validity: IfMarked = HOLDS
    root: OfRoot = None

    @property
    def file(self) -> str:
        """The path of the file below the indexed folder, with `/`."""
        return self.provenance.file

    @property
    def line_start(self) -> int:
        """The first line of the passage, from 1."""
        return self.provenance.line_start

    @property
    def line_end(self) -> int:
        """The last line of the passage."""
        return self.provenance.line_end

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The front matter of the file, as JSON."""
        return self.provenance.metadata


@dataclass(frozen=True, slots=True)
class About(Result):
    """The subject of a folder: its path, `.` for the indexed folder, its `_about.md`, and the text of that."""

    folder: str
    file: str
    text: str

    def __str__(self) -> str:
        return f"[about] {self.file}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Recall(Result):
    """The results of a recall, best first; iterates over its results.

    `unreadable` are the files and folders that the index could not read. `notices` are sentences on
    what the reader of the results should know: what the root asks for and its user has not allowed,
    and words of the query that were not understood, excluded or spelled in another way. `not_allowed` has
    the requests of the root as data; a result from a server has none. `left_out` counts the files that
    were found but are not results: those that do not hold, by `Validity.why`, and as `filtered` those
    of another type, tag or time. `as_of` is the time at which results hold, None for the present.
    `about` says what the folders of the results are
    about, each folder once. `context` is the text to pass to a model, if a `budget` was given. `trace`
    says how passages were searched for. `mode` is the command that was used.
    """

    root: str
    query: str
    depth: str
    results: tuple[RecalledMemory, ...]
    mode: str = "recall"
    unreadable: Unreadable = ()
    notices: Notices = ()
    not_allowed: NotAllowed = ()
    left_out: Annotated[Mapping[str, int], Field(omit_default=True)] = field(default_factory=dict)
    as_of: datetime | None = None
    about: Annotated[tuple[About, ...], Field(omit_default=True)] = ()
    context: str | None = None
    trace: Annotated[Trace | None, Field(explained=True)] = field(
        default=None, compare=False, repr=False
    )
    roots: Roots = ()

    def __iter__(self) -> Iterator[RecalledMemory]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


@dataclass(frozen=True, slots=True)
class Passage(Result):
    """A piece of evidence: whole structures of one passage of a file.

    `lines` are the runs of lines it consists of, as (first, last), from 1, both inclusive; between
    two runs, `text` has a line with an ellipsis. `number` is its rank, from 1. `date` is the day of
    the memory, if it has one.
    """

    number: int
    file: str
    lines: tuple[tuple[int, int], ...]
    text: str
    validity: IfMarked = HOLDS
    date: str | None = None

    @property
    def source(self) -> str:
        """The file and the lines, as in `notes/hedge.md:3-5,9-12`."""
        runs = (f"{start}-{end}" if end > start else str(start) for start, end in self.lines)
        return f"{self.file}:{','.join(runs)}"

    @property
    def head(self) -> str:
        """Number and source, the day unless the name of the file begins with it, and what holds."""
        is_named = self.date is None or self.file.rpartition("/")[2].startswith(self.date)
        marks = [*([] if is_named else [self.date]), *filter(None, [str(self.validity)])]
        state = f" ({'; '.join(map(str, marks))})" if marks else ""
        return f"[{self.number}] {self.source}{state}"

    def __str__(self) -> str:
        return f"{self.head}\n{self.text}"


_REASONS = {
    "budget": "did not fit the budget",
    "similar": "near-duplicates",
    **LEFT_OUT,
}


@dataclass(frozen=True, slots=True)
class Context(Result):
    """Evidence for a question: `str()` is the text to pass to a model.

    The text has `tokens`, at most `budget`. `passages` are in the order of their rank, numbered
    from 1. `left_out` counts passages that did not fit, as `budget`, near-duplicates of better passages, as `similar`,
    and the files that the recall left out, by reason. `about` says what the folders of the files are about, each once, as far as a
    quarter of the budget goes; the text begins with it. `notices`, `not_allowed` and `unreadable` are
    those of the recall.
    """

    root: str
    query: str
    budget: int
    tokens: int
    passages: tuple[Passage, ...]
    left_out: Mapping[str, int]
    notices: Notices = ()
    not_allowed: NotAllowed = ()
    unreadable: Unreadable = ()
    about: Annotated[tuple[About, ...], Field(omit_default=True)] = ()
    roots: Roots = ()

    JSON_PROPERTIES: ClassVar[Mapping[str, str]] = {"text": "text"}

    @property
    def text(self) -> str:
        """What folders are about, the passages, and a last line on what was left out."""
        return context_text(self.passages, self.left_out, self.about)

    def __str__(self) -> str:
        return self.text


def context_text(
    passages: Collection[Passage], left_out: Mapping[str, int], about: Collection[About] = ()
) -> str:
    """Return passages as text, after what folders are about, with a last line on what was left out."""
    said = ", ".join(f"{count:,} {_REASONS[why]}" for why, count in left_out.items())
    end = [f"Left out: {said}."] if said else []
    return "\n\n".join([*map(str, about), *map(str, passages), *end])


@dataclass(frozen=True, slots=True)
class RecallWhyNot(Result):
    """Why a memory is not among the results of a recall, or where it is.

    `cut` is what kept it out, None for a result: `passed_by` for a file that is not read, `unreadable`, a
    reason for which a memory does not hold (`retracted`, `superseded`, `expired`, `not_yet_valid`),
    `filtered`, `limit`, or what the search says of the passage that has the most words (`no_match`,
    `excluded`, `candidates`). `result_rank` is its rank among the results, and `rank` among the best 10,000
    memories, both from 0; `score` and `needed` are its score and that of the last result. `reason` is all of
    it in words.
    """

    root: str
    query: str
    file: str
    cut: Annotated[str | None, Field(null=True)]
    reason: str
    result_rank: Annotated[int | None, Field(null=True)] = None
    rank: Annotated[int | None, Field(null=True)] = None
    score: Annotated[float | None, Field(null=True)] = None
    needed: Annotated[float | None, Field(null=True)] = None

    def __str__(self) -> str:
        return self.reason


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class SimilarMemory(Result):
    """A memory that is like a text: its path below the indexed folder, and the likeness, at most 1.

    Equal texts have the likeness 1 (spec/memory.md, "What is the same").
    """

    file: str
    likeness: float

    @property
    def percent(self) -> int:
        """The likeness in percent, rounded down."""
        return int(100 * self.likeness + _ROUNDING)

    def __str__(self) -> str:
        return f"{self.file} ({self.percent} %)"


Similar = Annotated[
    tuple[SimilarMemory, ...],
    Field("Memories that hold and are like the new one, the most similar first", omit_default=True),
]


@dataclass(frozen=True, slots=True)
class RememberResult(Result):
    """A memory that was written: its root, its path below that, and whether it is indexed.

    If it is not indexed, `problem` says why, in sentences, and whether the next recall reads it; the
    memory is written. It also names a `valid_until` that is past. `superseded` is the memory that it supersedes, below the indexed folder.
    `similar` are at most 5 memories that hold and are like it, the most similar first: supersede those that it replaces.
    """

    root: str
    file: str
    indexed: bool
    problem: str | None = None
    superseded: str | None = None
    similar: Similar = ()


@dataclass(frozen=True, slots=True)
class Validation:
    """The sections that a wrapup lacks; one that was written lacks none."""

    valid: bool = True
    missing_sections: tuple[str, ...] = ()
    empty_sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelatedMemory:
    """The memories about the topic of a wrapup, recalled before it was written.

    Without a topic the recall is `skipped`, for a `reason`.
    """

    skipped: bool
    reason: str | None = None
    query: str | None = None
    results: tuple[RecalledMemory, ...] | None = None
    unreadable: Unreadable | None = None
    notices: Notices = ()

    @classmethod
    def of(cls, found: Recall | None) -> RelatedMemory:
        """Return the memories of a recall; None without a recall."""
        if found is None:
            return cls(skipped=True, reason="no topic was given")
        return cls(False, None, found.query, found.results, found.unreadable, found.notices)

    def __iter__(self) -> Iterator[RecalledMemory]:
        return iter(self.results or ())

    def __len__(self) -> int:
        return len(self.results or ())


@dataclass(frozen=True, slots=True)
class WrapupResult(Result):
    """A wrapup that was written into a root, and what was recalled about its topic before.

    `similar` is that of `RememberResult`.
    """

    root: str
    file: str
    title: str
    topic: Annotated[str | None, Field(key="recallTopic")]
    body: str
    related: Annotated[RelatedMemory, Field(key="relatedMemory")]
    validation: Validation = Validation()
    similar: Similar = ()


@dataclass(frozen=True, slots=True)
class SimilarGroup(Result):
    """A memory, and newer ones with the same text or like it, the most similar first."""

    file: str
    similar: tuple[SimilarMemory, ...]


@dataclass(frozen=True, slots=True)
class ProcessResult(Result):
    """The changes of a run, done or planned: the files it writes, below the root, and a summary in sentences.

    `unreadable` are files and folders that could not be read, and so were left out. `groups` are the memories that
    `dedupe` found, those of the oldest first.
    """

    root: str
    mode: str
    applied: bool
    topic: str | None
    files: tuple[str, ...]
    summary: tuple[str, ...]
    unreadable: Unreadable = ()
    groups: Annotated[tuple[SimilarGroup, ...], Field(omit_default=True)] = ()


@dataclass(frozen=True, slots=True)
class RootStatus(Result):
    """The state of a root; without a configuration `config_file` and `schema_version` are None.

    `schema_version` is as written, of any type; `compatible` says whether this hedgerow can use
    the root, and `message` why not. `not_allowed` has what the root asks for and its user has not
    allowed (spec/memory.md, "Trust"). `watch` is `active` if the files are watched, or the reason why
    they are checked before each recall instead; None if that was not requested.
    """

    root: str
    config_file: str | None
    initialized: bool
    schema_version: Any | None
    compatible: bool
    message: str
    not_allowed: Annotated[tuple[TrustRequest, ...], Field(omit_default=True)] = ()
    watch: str | None = None


@dataclass(frozen=True, slots=True)
class Memory(Result):
    """A memory with its text; `digest` is the SHA-256 of the file, by which an edit recognizes it.

    If only a part was read, `lines` are its first and last line, from 1, and `remaining` counts the
    lines after it, of the file or of the section.
    """

    file: str
    text: str
    digest: str
    lines: tuple[int, int] | None = None
    remaining: Annotated[int, Field(omit_default=True)] = 0


@dataclass(frozen=True, slots=True)
class ListedMemory(Result):
    """A memory in a list: its type, when it was last changed, in Unix seconds, its title, its state."""

    file: str
    type: str
    timestamp: int
    title: str = ""
    validity: IfMarked = HOLDS
    root: OfRoot = None


@dataclass(frozen=True, slots=True)
class MemoryList(Result):
    """Some memories of a root, the last changed first; `count` is the number of all."""

    root: str
    count: int
    memories: tuple[ListedMemory, ...]
    roots: Roots = ()


@dataclass(frozen=True, slots=True)
class LineMatch(Result):
    """A line that matches, from 1, in a file below the indexed folder, with the lines around it.

    A line longer than 400 characters is cut around its first match, with an ellipsis at each cut.
    """

    file: str
    line: int
    text: str
    before: Annotated[tuple[str, ...], Field(omit_default=True)] = ()
    after: Annotated[tuple[str, ...], Field(omit_default=True)] = ()


@dataclass(frozen=True, slots=True)
class GrepResult(Result):
    """The lines of a root that match, by file and line; iterates over them.

    `count` is how many lines match in all, `files` in how many files. `unreadable` are files that could
    not be read.
    """

    root: str
    count: int
    files: int
    matches: tuple[LineMatch, ...]
    unreadable: Unreadable = ()

    def __iter__(self) -> Iterator[LineMatch]:
        return iter(self.matches)

    def lines(self) -> Iterator[tuple[str, int, str, bool]]:
        """Each line to show once, in order: its file, its number, its text, and whether it matches."""
        for file, matches in groupby(self.matches, key=attrgetter("file")):
            shown: dict[int, tuple[str, bool]] = {}
            for one in matches:
                around = [*one.before, one.text, *one.after]
                for number, text in enumerate(around, start=one.line - len(one.before)):
                    shown.setdefault(number, (text, False))
                shown[one.line] = (one.text, True)
            for number in sorted(shown):
                yield file, number, *shown[number]

    def __len__(self) -> int:
        return len(self.matches)


@dataclass(frozen=True, slots=True)
class MarkResult(Result):
    """A memory that was marked: its root, its path, the files that were changed, its validity.

    `written` is the memory that was written to supersede it, or None, and `similar` that of
    `RememberResult`. `removed` has the marks that `restore` removed: retracted, with time and reason,
    and superseded, with the memories that superseded it. Paths are below the indexed folder.
    """

    root: str
    file: str
    changed: tuple[str, ...]
    validity: Validity
    written: str | None = None
    similar: Similar = ()
    removed: Annotated[tuple[Validity, ...], Field(omit_default=True)] = ()


@dataclass(frozen=True, slots=True)
class RenameResult(Result):
    """A memory that was renamed: its old and its new path, and the files whose links were changed.

    `by_hand` are files with links to it that were left as they are, and files that cannot be read, each
    with the reason. `title` is its title, which a rename does not change; None without one.
    """

    root: str
    file: str
    to: str
    changed: tuple[str, ...]
    by_hand: Unreadable
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ForgetResult(Result):
    """A memory that was deleted, and what is left of it elsewhere.

    `named_by` are the files that still name it. `reports` are reports of lint that named it or
    quoted it, old stores and interrupted writes, which were deleted with it. `rewritten` are pages
    from which its line was removed, and `emptied` are pages that had no other line and were deleted.
    `quoted_by` are memories that quote it, and `copies` other files below the root with its text, such
    as those in a trash: both stay as they are. `out_of_reach` names places that were not searched. Paths of reports and copies are below the root, the others below the
    indexed folder.
    """

    root: str
    file: str
    named_by: tuple[str, ...]
    reports: tuple[str, ...]
    rewritten: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    quoted_by: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    out_of_reach: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkResult(Result):
    """A link between two memories that was made, or removed: `removed` says whether it was there."""

    root: str
    a: str
    b: str
    rel: str
    strength: float | None = None
    removed: bool | None = None


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """Something in a memory that needs attention: the rule, the file, and a sentence.

    `line` is the line of the file, from 1, or None for the whole file. `fix` is the operation that mends
    it, or None for an edit by hand.
    """

    rule: str
    file: str
    text: str
    line: int | None = None
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Audit(Result):
    """The findings of an audit of a root or an export: rule by rule, each in path order.

    `documents` is the number of memories that were read, and `counts` has the number of findings of each
    rule that has some.
    """

    source: str
    documents: int
    findings: tuple[AuditFinding, ...]
    unreadable: Unreadable = ()

    JSON_PROPERTIES: ClassVar[Mapping[str, str]] = {"counts": "counts"}

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings by rule, in the order of the rules."""
        found: dict[str, int] = {}
        for one in self.findings:
            found[one.rule] = found.get(one.rule, 0) + 1
        return found


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two memories."""

    source: str
    target: str
    rel: str
    strength: float


@dataclass(frozen=True, slots=True)
class Links(Result):
    """The links around a memory: hops from it by path, nearest first, and the edges between them.

    `left_out` counts memories within as many hops beyond the limit. `unresolved` are links of the
    memory that lead to no file; `titles` has those of `nodes` by path, and `validities` those whose
    marks count.
    """

    root: str
    key: str
    nodes: Mapping[str, int]
    edges: tuple[Edge, ...]
    left_out: int
    unresolved: tuple[str, ...]
    validities: Annotated[Mapping[str, Validity], Field(omit_default=True)] = field(
        default_factory=dict
    )
    titles: Annotated[Mapping[str, str], Field(omit_default=True)] = field(default_factory=dict)


EventKind = Literal[
    "created", "imported", "edited", "superseded", "retracted", "expired", "committed"
]
"""The kinds of events in the history of a memory."""


@dataclass(frozen=True, slots=True)
class Event(Result):
    """An event in the history of a memory: its kind, the memory `file`, and when it happened, if known.

    `by` is who did it: a writer that the front matter names, or the author of a commit. `other` is the
    memory that supersedes it. `commit` is the first 12 digits of the id of a commit. `detail` is the
    reason of a retraction, the id of an import or the subject of a commit.
    """

    kind: EventKind
    file: str
    at: datetime | None = None
    by: str | None = None
    other: str | None = None
    commit: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class History(Result):
    """The events of a memory, the newest first; those without a time are last.

    `count` is the number of all of them. `notices` says why commits are missing.
    """

    root: str
    file: str
    count: int
    events: tuple[Event, ...]
    notices: Notices = ()


@dataclass(frozen=True, slots=True)
class Diff(Result):
    """The difference of two states of a memory: their names, and a unified diff, empty if they are equal."""

    root: str
    file: str
    old: str
    new: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class VisitResult(Result):
    """Visits of an agent that were recorded, at a time in Unix seconds."""

    root: str
    agent: str
    at: int
    outcome: VisitOutcome
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RootGraph:
    """The links between the memories of a root (spec/memory.md, "Links").

    `edges` are (source, target, relation, strength), sorted, with a strength above 0 and up to 1;
    `unresolved` are the links that lead to no file, as (file, target); `skips` has the files that
    could not be read, and fields of front matter that cannot be used.
    """

    edges: tuple[tuple[str, str, str, float], ...]
    unresolved: tuple[tuple[str, str], ...]
    skips: tuple[Skip, ...]
