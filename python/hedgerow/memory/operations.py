"""The operations on a memory root: for each a request, its result, and the way to a server.

Every face is made from this table: the methods of `MemoryRoot` and `RemoteRoot`, synchronous and
asynchronous, the routes of a server with their OpenAPI document, the tools of the Model Context
Protocol and the options of commands. An option is added here, and where `MemoryRoot` uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from hedgerow._checks import checked_text
from hedgerow._engine import LIKE, Pipeline
from hedgerow._operations.fields import Field
from hedgerow._operations.operation import (
    Operation,
    Operations,
    Request,
    methods,
    requests_of,
)
from hedgerow._times import checked_time
from hedgerow.errors import Fix, InvalidInputError
from hedgerow.results import QueryResult
from hedgerow.typing import OnDuplicate, Progress, QuestionDate, Time, VisitOutcome

from .results import (
    Audit,
    Context,
    Diff,
    ForgetResult,
    GrepResult,
    History,
    LinkResult,
    Links,
    MarkResult,
    Memory,
    MemoryList,
    ProcessResult,
    Recall,
    RecallWhyNot,
    RememberResult,
    RenameResult,
    RootStatus,
    VisitResult,
    WrapupResult,
)

R = TypeVar("R")

MemoryType = Literal["note", "session", "finding", "decision", "preference", "page"]
Depth = Literal["shallow", "normal", "deep"]
Mode = Literal["lint", "synthesize", "dedupe"]

MOST_RESULTS = 1_000
"""The most results that a client of a server may ask for."""

SMALLEST_BUDGET = 40
"""The fewest tokens into which evidence is packed."""

MOST_BUDGET = 1_000_000
"""The most tokens that a client of a server may ask for."""

Key = Annotated[str, Field("A path, a file name or a title, as in [[name]]")]
Limit = Annotated[int, Field("The most results", least=1, served_most=MOST_RESULTS)]
Tags = Annotated[Sequence[str], Field("Words to group by")]
When = Annotated[QuestionDate | None, Field("A date, a time, or an age such as 30d")]
ValidUntil = Annotated[
    QuestionDate | None,
    Field("Until when it holds: a date, a time, or an age from now such as 30d"),
]
StaleAfter = Annotated[
    QuestionDate | None, Field("When to review it: a date, a time, or an age such as 90d")
]
WrittenBy = Annotated[str | None, Field("The writer: AGENT, AGENT/SESSION or AGENT/SESSION/TOOL")]
Writers = Annotated[Sequence[str], Field("Only memories that one of these has written")]
AllTags = Annotated[Sequence[str], Field("Only memories with all these tags")]
AllowSecret = Annotated[
    bool, Field("Write it although it looks like it has a key, a password or a card number")
]
Sync = Annotated[bool, Field("Bring the index up to date first", local=True)]


@dataclass(frozen=True)
class RecallOptions(Request[R]):
    """What `recall` and `context` both take."""

    query: Annotated[str, Field("A question, or words")]
    _: KW_ONLY
    depth: Annotated[Depth, Field("shallow: pages and decisions first; deep: raw sessions too")] = (
        "normal"
    )
    as_of: Annotated[
        QuestionDate | None, Field("Only what held at this date, as in 2026-04-18, or time")
    ] = None
    include_superseded: Annotated[
        bool, Field("Also superseded, retracted and expired memories, each with the reason")
    ] = False
    types: Annotated[Sequence[str], Field("Only memories of these types")] = ()
    tags: AllTags = ()
    written_by: Writers = ()
    after: Annotated[
        QuestionDate | None,
        Field("Only memories from then or later: a date, a time, or an age such as 30d"),
    ] = None
    before: Annotated[QuestionDate | None, Field("Only from earlier than this time")] = None
    question_date: Annotated[
        QuestionDate | None,
        Field('When the question was asked, for "last week" in it: now, or the time of as_of'),
    ] = None
    asker: Annotated[
        str | None, Field("The speaker who asks: memories by this speaker count more for I and my")
    ] = None
    recency: Annotated[
        str | None, Field("Halve the score of the search with each age, such as 30d")
    ] = None
    sync: Sync = True

    def for_server(self) -> RecallOptions[R]:
        """Return the request with the present as its `question_date`: today is that of the client's time zone."""
        if self.question_date is not None or self.as_of is not None:
            return self
        return replace(self, question_date=datetime.now().astimezone())


@dataclass(frozen=True, kw_only=True)
class RecallRequest(RecallOptions[Recall]):
    """Find what the root knows about a text, the best first.

    `limit` is the number of results. `depth` is shallow (condensed memory first), normal or deep (raw
    sessions too). Memories that do not hold (spec/memory.md, "What holds") are left out and counted in
    `left_out`; with `as_of`, a date or a time, those that did not hold then. `include_superseded`
    leaves none of them out.

    Results have one of `types` and all `tags`, one of `written_by` has written them (`codex` also means
    `codex/s1`), and their time is `after` or later and earlier than `before`: each a date, a time, or an age such as `30d`. Memories from a
    period that the query names rank higher (spec/dates.md, "In questions"): relative ones, such as "last week",
    count from `question_date`, which is the present in the caller's time zone, or `as_of`, if it is not given. A query without other words lists the memories of
    the period, newest first. With `recency`, a half-life such as `30d`, the score of the search is halved for
    each half-life that a memory is old; `recency_weight` of its parts is that weight. With `budget` the
    result has a `context` of at most so many tokens: the text of `context`, from more files than `limit`.
    With `explain` the result has the `trace` of the search.

    Without `sync` the index is read as it is. Files that could not be read are in `unreadable`.
    Raises InvalidInputError for a blank query or an option out of range, and IndexFileError if there is
    no index to read.
    """

    operation = Operation("recall", "recall")

    limit: Limit = 5
    budget: Annotated[
        int | None,
        Field(
            "Also pack passages into this many tokens, as context",
            least=SMALLEST_BUDGET,
            served_most=MOST_BUDGET,
        ),
    ] = None
    explain: Annotated[bool, Field("Include the trace of the search")] = False


@dataclass(frozen=True, kw_only=True)
class ContextRequest(RecallOptions[Context]):
    """Pack what the root knows about a text into at most `budget` tokens, to pass to a model.

    `str()` of the result has passages with their file and lines, the best first: whole headings,
    paragraphs, list items, tables and code, from at most `per_file` passages of a file. Its last line
    says what was left out. `count_tokens` counts the tokens of a text; by default one is counted for
    every four bytes of UTF-8 (spec/memory.md, "Context").

    Passages are from the first `limit` files that a recall finds. With `diversify`, a passage that is like
    a better one (spec/memory.md, "What is the same") is left out. The other options are those of
    `recall`. Raises InvalidInputError for a budget below 40.
    """

    operation = Operation("context", "context")

    limit: Annotated[int, Field("The most files", least=1, served_most=MOST_RESULTS)] = 40
    budget: Annotated[
        int, Field("The most tokens", least=SMALLEST_BUDGET, served_most=MOST_BUDGET)
    ] = 2_000
    per_file: Annotated[
        int, Field("The most passages of a file", least=1, served_most=MOST_RESULTS)
    ] = 10
    diversify: Annotated[bool, Field("Leave out near-duplicates of better passages")] = False
    count_tokens: Annotated[Callable[[str], int] | None, Field(local=True)] = None


@dataclass(frozen=True)
class WhyNotRequest(RecallOptions[RecallWhyNot]):
    """Say why a memory is not among the results of `recall`, which takes the same options.

    `key` is also an absolute path, or one from the working directory. `str()` of the answer is the reason
    in words. Looks at the best 10,000 memories, so it takes longer than a recall. Raises InvalidInputError
    as `show` and `recall` do.
    """

    operation = Operation("why_not", "why_not")

    key: Key
    _: KW_ONLY
    limit: Limit = 5


@dataclass(frozen=True)
class RememberRequest(Request[RememberResult]):
    """Write a memory as a new file, then index it.

    A memory that cannot be indexed is written nevertheless; the result says why, and whether a later
    recall reads it.

    A text that a memory of the root has already (spec/memory.md, "What is the same") is refused with
    HedgerowError (`duplicate_memory`). Memories that are like it are in `similar` of the result. With
    `on_duplicate="refuse"` these are a reason to refuse it too; with "keep" nothing is, and with "supersede" it
    supersedes the most similar memory. Of several threads and processes that remember the same text at once,
    one writes it.

    With `valid_until` the memory expires then, and with `stale_after` it is due for a review; nothing
    is deleted by time. Without them the defaults of the root for its type hold (spec/memory.md,
    "What holds"). `written_by` is a name of up to 200 characters, which the file states. Raises
    InvalidInputError for a blank text, an unknown type or a date that does not exist, and, unless
    `allow_secret`, for a text that looks like it has a secret (`looks_like_secret`); nothing is written
    then.
    """

    operation = Operation("remember", "remember", writes=True)

    text: Annotated[str, Field("Markdown, without front matter")]
    _: KW_ONLY
    title: Annotated[
        str | None, Field("One line on its subject; without one, the beginning of the text")
    ] = None
    type: Annotated[MemoryType, Field("The kind of memory")] = "note"
    tags: Tags = ()
    on_duplicate: Annotated[
        OnDuplicate,
        Field(
            "report: refuse the same text, name similar memories; refuse: refuse near-duplicates too; "
            "keep: refuse nothing; supersede: replace the most similar"
        ),
    ] = "report"
    valid_until: ValidUntil = None
    stale_after: StaleAfter = None
    written_by: WrittenBy = None
    allow_secret: AllowSecret = False


@dataclass(frozen=True)
class WrapupRequest(Request[WrapupResult]):
    """Write the wrapup of a session, with the four sections it must have.

    The sections are Findings, Decisions, Conflicts / Corrections and Open Questions. With a `topic`, up
    to `limit` memories about it are recalled first, as `related`. The file states `written_by`, and
    expires as the root says of sessions. Memories that are like it, or have the same text, are in `similar`.
    Raises InvalidInputError, which names every section that is missing or empty, and, unless
    `allow_secret`, for a text that looks like it has a secret (`looks_like_secret`); nothing is written then.
    """

    operation = Operation("wrapup", "wrapup", writes=True)

    text: Annotated[str, Field("Markdown with the four sections")]
    _: KW_ONLY
    title: Annotated[str, Field("One line on the session")]
    topic: Annotated[str | None, Field("Recall this first")] = None
    limit: Limit = 5
    tags: Tags = ()
    written_by: WrittenBy = None
    allow_secret: AllowSecret = False


@dataclass(frozen=True)
class ProcessRequest(Request[ProcessResult]):
    """Process the memories: `lint` reports, `synthesize` makes a page about a topic, and `dedupe` finds
    memories that are like older ones and marks those with the same text as superseded by the oldest.

    With `above`, `dedupe` finds memories from that likeness on and marks all of them (spec/memory.md, "Dedupe").

    Only memories about `topic` are read that are not older than `since`, a date, a datetime or an age
    such as `30d` or `2w`: the newest first, up to `limit`, by default 8 for `synthesize` and 100,000 for
    the others (spec/memory.md, "Processing"). Without `apply` no file is written, and the result says
    what would be done. `synthesize` syncs the index in either case. `progress(done, total)` counts the
    memories that `dedupe` compared. Files that could not be read are in `unreadable`. Raises
    InvalidInputError for another mode, and for `synthesize` without a topic, and HedgerowError
    (`no_sources`) if no memory is about it.
    """

    operation = Operation("process", "process")

    mode: Annotated[Mode, Field("What to do")]
    _: KW_ONLY
    apply: Annotated[bool, Field("Do it; without, the result says what would be done")] = False
    topic: Annotated[str | None, Field("Only memories about this")] = None
    since: Annotated[QuestionDate | None, Field("Only memories since a date, or 30d, or 2w")] = None
    limit: Annotated[
        int | None, Field("The most memories to look at", least=1, served_most=MOST_RESULTS)
    ] = None
    above: Annotated[
        float | None,
        Field("dedupe: find and mark memories from this likeness on", least=LIKE, most=1),
    ] = None
    progress: Annotated[Progress | None, Field(local=True)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.above is not None and self.mode != "dedupe":
            raise InvalidInputError(
                f"above is a likeness for dedupe; leave it out with {self.mode}",
                code="invalid_option",
            )

    @property
    def writes(self) -> bool:
        """Whether files are written."""
        return self.apply


@dataclass(frozen=True)
class ListRequest(Request[MemoryList]):
    """List the memories, the last changed first, from `offset` on.

    Only those of a `type`, or of several with commas between, if it is given; with `superseded`, only those that another memory
    supersedes, now or later; with `retracted`, only those that are retracted now; with `expired`, only
    those that are no longer valid now, and neither retracted nor superseded; with `tags` and `written_by`,
    only those that `recall` finds with them. At most `limit` are listed; `count` is the number of all of
    them. Raises InvalidInputError for a type that no memory has.
    """

    operation = Operation("list", "memories", "GET")

    _: KW_ONLY
    type: Annotated[str | None, Field("Only memories of these types: a,b")] = None
    limit: Limit = 100
    offset: Annotated[int, Field("Skip this many", least=0)] = 0
    superseded: Annotated[bool, Field("Only memories that another one supersedes")] = False
    retracted: Annotated[bool, Field("Only retracted memories")] = False
    expired: Annotated[bool, Field("Only memories that are no longer valid")] = False
    tags: AllTags = ()
    written_by: Writers = ()
    sync: Sync = True


@dataclass(frozen=True)
class GrepRequest(Request[GrepResult]):
    """Find the lines of the memories that have a text or match a regular expression.

    Searches the files as they are, also those of memories that no longer hold, in the order of paths.
    With `regex`, `pattern` is a regular expression of the crate `regex`, without look-around and
    back-references, for one line at a time; its time is linear in the size of the files. Otherwise it is
    the text itself, composed or decomposed. `types` and `tags` are those of `recall`. At most `limit`
    lines are returned, each with up to `context` lines before and after it; `count` has how many match.

    Raises InvalidInputError for an empty pattern, one that is no regular expression, and one that takes
    more than 1 MiB compiled.
    """

    operation = Operation("grep", "grep")

    pattern: Annotated[str, Field("A text, or with regex a regular expression")]
    _: KW_ONLY
    regex: Annotated[bool, Field("The pattern is a regular expression")] = False
    ignore_case: Annotated[bool, Field("Upper and lower case are the same")] = False
    types: Annotated[Sequence[str], Field("Only memories of these types")] = ()
    tags: AllTags = ()
    context: Annotated[int, Field("The lines shown before and after", least=0, most=20)] = 0
    limit: Annotated[int, Field("The most lines", least=1, served_most=MOST_RESULTS)] = 100
    sync: Sync = True


@dataclass(frozen=True)
class ShowRequest(Request[Memory]):
    """Return the memory that a path, a name or a title means, as in `[[name]]`.

    With a `section`, the heading of a section, only that section is read, with its subsections; `key` may
    name it too, as in `note#section`. Of these lines, those after the first `offset` are read, at most
    `limit`, and whole lines of at most `budget` tokens, one for four bytes of UTF-8. A first line that is
    longer than the budget is cut, with an ellipsis. The digest is always that of the whole file.

    Raises InvalidInputError: `unknown_node` if there is no such memory, `ambiguous_node` if several
    hold, or none, `invalid_note` for a file that is not text, and `invalid_option` for a section that
    it does not have, or has twice.
    """

    operation = Operation("show", "memories/{key}", "GET")

    key: Key
    _: KW_ONLY
    section: Annotated[str | None, Field("Only the section with this heading")] = None
    offset: Annotated[int, Field("Skip this many lines", least=0)] = 0
    limit: Annotated[int | None, Field("The most lines", least=1)] = None
    budget: Annotated[int | None, Field("The most tokens", least=SMALLEST_BUDGET)] = None
    sync: Sync = True


@dataclass(frozen=True)
class EditRequest(Request[Memory]):
    """Replace the text of a memory that was read, or a part of it, and return the whole new text.

    With a `section`, which `key` may name too, as in `note#section`, the text replaces the content of that
    section and its subsections; the heading stays, unless the text begins with it. With `append`, the
    text is added at the end of the section or of the file; with `prepend`, at the beginning, after
    front matter and heading. With `replace`, the text takes the place of that text, which must occur
    exactly once in the section or the file.

    With `written_by`, this name is added to the writers that the file states, and `updated_at` is set if
    the file has it or `created_at`.

    `digest` is that of the memory as it was read, or at least its first 12 digits. Raises HedgerowError
    (`file_changed`) if the file has changed since then; and InvalidInputError for a text that is blank
    (unless it replaces another), has a NUL character, is longer than 2,000,000 characters, or would move
    the memory out of the scope of the root, for a section that is not there, and for more than one of
    `append`, `prepend` and `replace`.
    """

    operation = Operation("edit", "memories/{key}", "PUT", writes=True)

    key: Key
    text: Annotated[str, Field("The whole new file, with its front matter, or the new part")]
    digest: Annotated[str, Field("The digest of the text that was read", header="If-Match")]
    _: KW_ONLY
    section: Annotated[str | None, Field("Replace only the section with this heading")] = None
    append: Annotated[bool, Field("Add the text at the end of the file, or of the section")] = False
    prepend: Annotated[bool, Field("Add the text at the beginning, after the heading")] = False
    replace: Annotated[
        str | None, Field("Replace only this text, which must occur exactly once")
    ] = None
    written_by: Annotated[str | None, Field("Who edits it, as another writer")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum([self.append, self.prepend, self.replace is not None]) > 1:
            raise InvalidInputError(
                "give one of append, prepend and replace: an edit changes one part",
                code="invalid_option",
            )
        if self.replace == "":
            raise InvalidInputError(
                "replace is empty: give the text that is to be replaced, as it is in the memory",
                code="invalid_option",
            )


@dataclass(frozen=True)
class RenameRequest(Request[RenameResult]):
    """Return a memory another path, and change the links to it in all files.

    `to` is a path below the indexed folder, or the name of a file in the same folder, with or without
    `.md`. Names that still mean the memory stay. Files whose links have to be changed by hand are in
    `by_hand`. Visits stay with the old path.

    Raises InvalidInputError for a path that is taken, or that no memory can have, and HedgerowError for
    one that the system refuses; nothing is changed then (spec/memory.md, "Renaming").
    """

    operation = Operation("rename", "rename", writes=True)

    key: Key
    to: Annotated[str, Field("The new path, or the new name in the same folder")]


@dataclass(frozen=True)
class SupersedeRequest(Request[MarkResult]):
    """Mark memory `old` as superseded by `by`, in both files.

    Both are paths, names or titles, as in `[[name]]`. With `text` instead of `by` a new memory is
    written first; unless they are given, its title is the beginning of the text, and type and tags are
    those of `old`. `valid_until`, `stale_after` and `written_by` are as in `remember`, and memories that are like
    the text are in `similar`. Raises as `link` does, HedgerowError (`duplicate_memory`) if a memory has the same
    text, and InvalidInputError unless exactly one of `by` and `text` is given, for any of the others with
    `by`, and, unless `allow_secret`, for a text that looks like it has a secret (`looks_like_secret`).
    """

    operation = Operation("supersede", "supersede", writes=True)

    old: Key
    _: KW_ONLY
    by: Annotated[str | None, Field("An existing memory that takes its place")] = None
    text: Annotated[str | None, Field("The text that is true now, for a new memory")] = None
    title: Annotated[str | None, Field("Title of the text")] = None
    type: Annotated[MemoryType | None, Field("Kind of the text")] = None
    tags: Annotated[Sequence[str] | None, Field("Tags of the text")] = None
    valid_until: ValidUntil = None
    stale_after: StaleAfter = None
    written_by: WrittenBy = None
    allow_secret: AllowSecret = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.by is None) == (self.text is None):
            raise InvalidInputError(
                "give what takes its place: either a memory that is there (by), or a text",
                code="invalid_option",
            )
        given = [name for name in _OF_A_NEW_TEXT if getattr(self, name) not in (None, False)]
        if self.by is not None and given:
            raise InvalidInputError(
                f"{' and '.join(given)} would be those of a new text, and by names a memory that is there: "
                f"leave {'it' if len(given) == 1 else 'them'} out, or change that memory with edit",
                code="invalid_option",
            )


_OF_A_NEW_TEXT = (
    "title",
    "type",
    "tags",
    "valid_until",
    "stale_after",
    "written_by",
    "allow_secret",
)
"""The arguments of `supersede` for the memory that it writes."""


@dataclass(frozen=True)
class RetractRequest(Request[MarkResult]):
    """Mark a memory as retracted, with the reason, in one line; the file stays. Raises as `link` does."""

    operation = Operation("retract", "retract", writes=True)

    key: Key
    reason: Annotated[str | None, Field("Why, in one line")] = None


@dataclass(frozen=True)
class RestoreRequest(Request[MarkResult]):
    """Remove the marks by which a memory is retracted and superseded, from all files with one.

    `removed` of the result has what they said, and `validity` whether the memory holds now: it may
    still have a `valid_until` of its own. Raises as `link` does.
    """

    operation = Operation("restore", "restore", writes=True)

    key: Key


@dataclass(frozen=True)
class ForgetRequest(Request[ForgetResult]):
    """Delete a memory, and all that was derived from it: in index, store, manifest, reports, pages.

    The result names the memories that quote it and other copies of its text, which stay, and what was
    not searched. It cannot be undone, so it needs `purge=True`; `retract` keeps the file. Raises
    InvalidInputError without `purge`, and HedgerowError (`not_forgotten`), which names the files, if
    parts of the memory were found afterwards: it is deleted by then (spec/memory.md, "Forgetting").
    """

    operation = Operation("forget", "forget", writes=True)

    key: Key
    _: KW_ONLY
    purge: Annotated[bool, Field("Delete the file: this cannot be undone")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.purge:
            raise InvalidInputError(
                "forget deletes the file for good",
                code="invalid_option",
                key=self.key,
                fixes=(
                    Fix("delete it", arguments={"purge": True}),
                    Fix("retract it, which keeps the file", "retract", {"key": self.key}),
                ),
            )


@dataclass(frozen=True)
class LinkRequest(Request[LinkResult]):
    """Link memory `a` to `b` in the front matter of `a`.

    Both are paths, names or titles, as in `[[name]]`. `rel` is the key of front matter. A link of the
    same relation is replaced. The rest of the file stays as it is.

    Raises InvalidInputError as `show` does, and HedgerowError for front matter that has to be edited by
    hand (`invalid_front_matter`) or a file that was edited at the same time (`file_changed`); nothing is
    written then.
    """

    operation = Operation("link", "link", writes=True)

    a: Key
    b: Key
    strength: Annotated[float, Field("Above 0, up to 1", above=0, most=1)] = 1.0
    rel: Annotated[str, Field("The relation: a key of front matter")] = "related"


@dataclass(frozen=True)
class UnlinkRequest(Request[LinkResult]):
    """Remove the links of a relation from `a` to `b` in the front matter of `a`.

    `removed` of the result says whether there were any. Raises as `link` does; a link in the text has
    to be removed by hand.
    """

    operation = Operation("unlink", "unlink", writes=True)

    a: Key
    b: Key
    rel: Annotated[str, Field("The relation: a key of front matter")] = "related"


@dataclass(frozen=True)
class LinksRequest(Request[Links]):
    """Return the links around a memory, up to a number of hops from it. Raises as `show` does."""

    operation = Operation("links", "graph", "GET")

    key: Key
    _: KW_ONLY
    hops: Annotated[int, Field("How far from the memory", least=1, most=10)] = 1
    limit: Annotated[int, Field("The most memories", least=1, served_most=MOST_RESULTS)] = 100
    sync: Sync = True


@dataclass(frozen=True)
class HistoryRequest(Request[History]):
    """Return what happened to a memory and to those in whose place it came, the newest first.

    Events are from the front matter of the memory, of up to 100 memories that it supersedes or that
    supersede it, directly or through others, and, if the root is in a git repository, from the commits
    that changed the memory (spec/memory.md, "History"). At most `limit` are returned; `count` is the
    number of all of them. `notices` says why commits are missing. Raises as `show` does.
    """

    operation = Operation("history", "history", "GET")

    key: Key
    _: KW_ONLY
    limit: Annotated[int, Field("The most events", least=1, served_most=MOST_RESULTS)] = 100
    sync: Sync = True


@dataclass(frozen=True)
class DiffRequest(Request[Diff]):
    """Return the difference of two states of a memory, as a unified diff of their lines.

    A state is a commit, by at least 7 digits of its id, as `history` names it, or a memory: a path, a name
    or a title. `new` is by default the memory as it is; `old` the newest commit in which it was different,
    and without commits the memory that it supersedes. Raises InvalidInputError as `show` does, and for a
    state that does not exist or differs in too many lines (`invalid_option`), and HedgerowError if git
    cannot read a commit within 10 seconds.
    """

    operation = Operation("diff", "diff", "GET")

    key: Key
    _: KW_ONLY
    old: Annotated[str | None, Field("The earlier state: a commit, or a memory")] = None
    new: Annotated[str | None, Field("The later state: a commit, or a memory")] = None
    sync: Sync = True


@dataclass(frozen=True)
class QueryRequest(Request[QueryResult]):
    """Select memories by a pipeline (spec/pipeline.md): the files are the nodes of a store.

    Their keys are their paths below the indexed folder, as in a recall. `search` and `rank` find what a
    recall would. A pipeline without a generator begins with the memories that have `terms`. `now` is in
    Unix seconds, a datetime or a date, by default the present. With `explain` the result has the effect
    of each stage.

    Raises PipelineError for a pipeline that cannot be read, and IndexFileError if there is no store to
    read.
    """

    operation = Operation("query", "query")

    pipeline: Annotated[
        str | Sequence[str] | Pipeline, Field("Stages with bars between them, or a list of stages")
    ]
    _: KW_ONLY
    now: Annotated[Time | None, Field("Unix seconds: the present time of age: and visited:")] = None
    terms: Annotated[Sequence[str], Field("Words of the first memories")] = ()
    explain: Annotated[bool, Field("Include the effect of each stage")] = False
    sync: Sync = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "pipeline", _stages(self.pipeline))
        super().__post_init__()
        if self.now is not None:
            object.__setattr__(self, "now", checked_time(self.now, "now"))


def _stages(pipeline: str | Sequence[str] | Pipeline) -> str | Pipeline:
    """Return a pipeline whose stages may be given one by one."""
    if isinstance(pipeline, (str, Pipeline)):
        return pipeline
    if not isinstance(pipeline, Iterable) or isinstance(pipeline, Mapping):
        raise InvalidInputError(
            f"expected a str, a sequence of str or a Pipeline, not {type(pipeline).__name__}",
            code="invalid_option",
        )
    return " | ".join(checked_text(one, "text") for one in pipeline)


@dataclass(frozen=True)
class VisitRequest(Request[VisitResult]):
    """Record that an agent visited memories at a time: all of them, or none if one is refused.

    `at` is in Unix seconds, a datetime or a date, by default now. Visits are only in the store:
    deleting `.hedgerow/` loses them. Raises InvalidInputError as `show` does.
    """

    operation = Operation("visit", "visit", writes=True)

    agent: Annotated[str, Field("The agent's name")]
    keys: Annotated[
        str | Sequence[str], Field("Memories, each a path, a name or a title", served_most=1_000)
    ]
    at: Annotated[Time | None, Field("Unix seconds")] = None
    outcome: Annotated[VisitOutcome, Field("Filters ignore failed visits")] = "processed"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.keys, str):
            object.__setattr__(self, "keys", (self.keys,))
        if self.at is not None:
            object.__setattr__(self, "at", checked_time(self.at, "at"))
        if not self.agent.strip() or not self.keys:
            raise InvalidInputError("name an agent and a memory", code="invalid_option")


@dataclass(frozen=True)
class AuditRequest(Request[Audit]):
    """Look for memories that should not be there as they are, and name the operation that mends each.

    These are secrets, memories without text, near-duplicates, marks that contradict each other, expired
    memories, and texts that repeat the output of a recall or an earlier memory (spec/memory.md,
    "Audit"). Nothing is written. Files that could not be read are in `unreadable`.
    """

    operation = Operation("audit", "audit", "GET")


@dataclass(frozen=True)
class StatusRequest(Request[RootStatus]):
    """Report whether the root is set up, and whether this hedgerow can use it.

    `not_allowed` has what the root asks for and its user has not allowed, `watch` says whether a root
    that was opened to watch can. Raises HedgerowError (`root_config_invalid`) for a configuration that
    cannot be read.
    """

    operation = Operation("status", "status", "GET")


class RootOperations(Operations):
    """The operations on a memory root, in this process (`MemoryRoot`) or at a server (`RemoteRoot`).

    Each method takes the fields of its request, and has an asynchronous one with an `a` before its
    name. Arguments of a wrong type or out of bounds raise InvalidInputError.
    """

    recall, arecall = methods(RecallRequest)
    context, acontext = methods(ContextRequest)
    why_not, awhy_not = methods(WhyNotRequest)
    remember, aremember = methods(RememberRequest)
    wrapup, awrapup = methods(WrapupRequest)
    process, aprocess = methods(ProcessRequest)
    list, alist = methods(ListRequest)
    grep, agrep = methods(GrepRequest)
    show, ashow = methods(ShowRequest)
    edit, aedit = methods(EditRequest)
    rename, arename = methods(RenameRequest)
    supersede, asupersede = methods(SupersedeRequest)
    retract, aretract = methods(RetractRequest)
    restore, arestore = methods(RestoreRequest)
    forget, aforget = methods(ForgetRequest)
    link, alink = methods(LinkRequest)
    unlink, aunlink = methods(UnlinkRequest)
    history, ahistory = methods(HistoryRequest)
    diff, adiff = methods(DiffRequest)
    links, alinks = methods(LinksRequest)
    query, aquery = methods(QueryRequest)
    visit, avisit = methods(VisitRequest)
    audit, aaudit = methods(AuditRequest)
    status, astatus = methods(StatusRequest)


OPERATIONS: Mapping[str, type[Request[Any]]] = requests_of(RootOperations)
"""The requests of the operations, by name."""
