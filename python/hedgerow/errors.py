"""The exceptions hedgerow raises (spec/errors.md).

Every one derives from `HedgerowError` and carries a `code` from a closed list, so a caller
can branch on the class or on the code and show the message, which names the fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .trace import Trace

__all__ = [
    "BackendError",
    "EngineError",
    "HedgerowError",
    "IndexFileError",
    "InvalidInputError",
    "MissingExtraError",
    "PipelineError",
    "QueryTooLargeError",
    "RetrievalError",
]
__dir__ = partial(sorted, __all__)


class HedgerowError(Exception):
    """Base of every error hedgerow raises on purpose.

    `code` is one word of the closed list in spec/errors.md; `str(error)` is a sentence that
    names the fix. Positions in messages count Python characters (code points) from 0.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def message(self) -> str:
        """The sentence, without the code."""
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.code))


class InvalidInputError(HedgerowError, ValueError, TypeError):
    """An argument cannot be used as given, for its value or its type; nothing was read or written."""


class QueryTooLargeError(InvalidInputError):
    """A query is over one of the limits of spec/query.md, "Limits"."""


class IndexFileError(HedgerowError):
    """The index file cannot be opened, read or written; what was committed before is intact."""


class BackendError(HedgerowError):
    """A server that holds a collection did not do what was asked (spec/opensearch.md).

    `refused` has the ids of the chunks that were not written, each with the reason, where the code
    is `bulk_refused`.
    """

    def __init__(
        self, message: str, *, code: str, refused: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.refused = dict(refused or {})

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = partial(type(self), code=self.code, refused=self.refused)
        return (rebuild, (self.message,))


class RetrievalError(HedgerowError):
    """No leg of a search could answer, which is not the same as finding nothing; or, with
    `on_leg_failure="raise"`, a part of the search failed.

    `trace` records what was tried (spec/trace.md).
    """

    def __init__(self, message: str, *, code: str, trace: Trace) -> None:
        super().__init__(message, code=code)
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild_failed, (type(self), self.message, self.code, self.trace))


class MissingExtraError(HedgerowError, ImportError):
    """An adapter needs a package that is not installed; the message has the line that installs it."""


class PipelineError(HedgerowError):
    """A pipeline cannot be read (spec/pipeline.md, "Errors"); no store was touched.

    `kind` is one word of the closed list there, `stage` counts from 0, and `start` and `end` are
    the characters that are wrong, from 0 and excluding `end`. `suggestion` is the word that was
    meant, or None. The message shows the position.
    """

    def __init__(  # noqa: PLR0913 - one argument for each field
        self,
        message: str,
        *,
        kind: str,
        stage: int,
        start: int,
        end: int,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message, code="invalid_pipeline")
        self.kind = kind
        self.stage = stage
        self.start = start
        self.end = end
        self.suggestion = suggestion

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = partial(
            type(self),
            kind=self.kind,
            stage=self.stage,
            start=self.start,
            end=self.end,
            suggestion=self.suggestion,
        )
        return (rebuild, (self.message,))


class EngineError(HedgerowError):
    """A fault of hedgerow itself, such as a caught panic. Please report it."""


def _rebuild(kind: type[HedgerowError], message: str, code: str) -> HedgerowError:
    return kind(message, code=code)


def _rebuild_failed(
    kind: type[RetrievalError], message: str, code: str, trace: Trace
) -> RetrievalError:
    return kind(message, code=code, trace=trace)
