"""The exceptions hedgerow raises (spec/errors.md).

Every one derives from `HedgerowError` and carries a `code` from a closed list, so a caller
can branch on the class or on the code and show the message. The file, the memory and the fixes are
data, which no caller has to read from the message.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .trace import Trace

__all__ = [
    "BackendError",
    "EngineError",
    "Fix",
    "HedgerowError",
    "IndexFileError",
    "InvalidInputError",
    "MissingExtraError",
    "PipelineError",
    "QueryTooLargeError",
    "RetrievalError",
]
__dir__ = partial(sorted, __all__)


@dataclass(frozen=True)
class Fix:
    """A way out of an error, as data (spec/errors.md, "Fixes").

    `does` says in the infinitive what it does. `operation` is the name of the operation to call with
    the `arguments`; None repeats the call that failed, with these arguments. The caller chooses the
    value of an argument that is None.
    """

    does: str
    operation: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the fix in Python: a call, or arguments of the same call."""
        given = ", ".join(f"{name}={_literal(value)}" for name, value in self.arguments.items())
        if self.operation is None:
            return given
        return f"{_CALLS.get(self.operation, f'root.{self.operation}')}({given})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fix as JSON."""
        return {
            "does": self.does,
            "operation": self.operation,
            "arguments": dict(self.arguments),
        }


class HedgerowError(Exception):
    """Base of every error hedgerow raises on purpose.

    `code` is one word of the closed list in spec/errors.md. `path` is the file that the error is
    about, `key` the memory, or None; `fixes` are the ways out of it, the best first. `str(error)` is
    a sentence, and the fixes as calls of Python. Positions in messages count Python characters (code
    points) from 0.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        path: str | os.PathLike[str] | None = None,
        key: str | None = None,
        fixes: Iterable[Fix] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.path = None if path is None else os.fspath(path)
        self.key = key
        self.fixes = tuple(fixes)

    @property
    def message(self) -> str:
        """The sentence, without the code and the fixes."""
        return str(self.args[0])

    def __str__(self) -> str:
        return with_fixes(self.message, self.fixes, str)

    def details(self) -> dict[str, Any]:
        """Return `path`, `key` and `fixes` as JSON, without those that the error does not have."""
        found = {
            "path": self.path,
            "key": self.key,
            "fixes": [fix.to_dict() for fix in self.fixes],
        }
        return {name: value for name, value in found.items() if value}

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args), self.__dict__)


def with_fixes(message: str, fixes: Iterable[Fix], words: Callable[[Fix], str | None]) -> str:
    """Return a message with fixes in some words, without those for which there are none."""
    for fix in fixes:
        if said := words(fix):
            message += " To " if message.endswith(".") else "; to "
            message += f"{fix.does}: {said}"
    return message


_CALLS = {
    "init": "hedgerow.MemoryRoot.init",
    "open": "hedgerow.Index.open",
    "reembed": "retriever.reembed",
    "reembed_collection": "retriever.reembed",
    "connect": "hedgerow.connect",
}
"""The calls for operations that are no methods of a root."""


def _literal(value: Any) -> str:
    if value is None:
        return "..."
    return repr(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


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


class RetrievalError(HedgerowError):
    """No leg of a search could answer, which is not the same as finding nothing; or, with
    `on_leg_failure="raise"`, a part of the search failed.

    `trace` records what was tried (spec/trace.md).
    """

    def __init__(self, message: str, *, code: str, trace: Trace, fixes: Iterable[Fix] = ()) -> None:
        super().__init__(message, code=code, fixes=fixes)
        self.trace = trace


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


class EngineError(HedgerowError):
    """A fault of hedgerow itself, such as a caught panic. Please report it."""


def _rebuild(kind: type[HedgerowError], args: tuple[Any, ...]) -> HedgerowError:
    """Make an error whose attributes are set afterwards, as pickle does."""
    return kind.__new__(kind, *args)
