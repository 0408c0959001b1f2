"""Problem documents of a server, as the errors that were raised there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hedgerow import errors
from hedgerow.errors import BackendError, HedgerowError, PipelineError, RetrievalError
from hedgerow.trace import Trace

_LONGEST = 2_000
"""Characters of a message that are shown."""

_CLASSES: dict[str, type[HedgerowError]] = {
    name: getattr(errors, name)
    for name in ("InvalidInputError", "QueryTooLargeError", "IndexFileError", "HedgerowError")
}


def error_of(url: str, status: int, content: bytes) -> HedgerowError:
    """The error of a problem document, of its class; BackendError for those of the server itself."""
    problem = _read(content)
    if not isinstance(problem.get("code"), str) or not isinstance(problem.get("detail"), str):
        return BackendError(
            f"{url} answered {status} without saying why; check that hedgerow serve runs there",
            code="bad_answer",
        )
    return error_of_document(problem)


def error_of_document(problem: Mapping[str, Any]) -> HedgerowError:
    """The same of a document that was read."""
    code, message = str(problem["code"]), _shown(str(problem["detail"]))
    try:
        return _of_class(str(problem.get("error")), message, code, problem)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return BackendError(message, code=code)


def _of_class(name: str, message: str, code: str, problem: Mapping[str, Any]) -> HedgerowError:
    if name == "PipelineError":
        return PipelineError(
            message,
            kind=str(problem["kind"]),
            stage=int(problem["stage"]),
            start=int(problem["start"]),
            end=int(problem["end"]),
            suggestion=problem["suggestion"],
        )
    if name == "RetrievalError":
        trace = Trace._from_dict(problem["trace"])  # noqa: SLF001 - of this package
        return RetrievalError(message, code=code, trace=trace)
    return _CLASSES.get(name, BackendError)(message, code=code)


def _read(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _shown(detail: str) -> str:
    """The message, printable: the server is one that the user chose, but not the user."""
    text = "".join(one if one.isprintable() or one == "\n" else "\ufffd" for one in detail)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
