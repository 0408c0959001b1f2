"""Problem documents of a server, as the errors that were raised there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hedgerow import errors
from hedgerow.errors import BackendError, Fix, HedgerowError, PipelineError, RetrievalError
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
            f"{url} answered {status} without saying why; check that a server of hedgerow runs there",
            code="bad_answer",
        )
    return error_of_document(problem)


def error_of_document(problem: Mapping[str, Any]) -> HedgerowError:
    """The same of a document that was read."""
    code, message = str(problem["code"]), _shown(str(problem["detail"]))
    try:
        error = _of_class(str(problem.get("error")), message, code, problem)
        return _with_details(error, problem)
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


def _with_details(error: HedgerowError, problem: Mapping[str, Any]) -> HedgerowError:
    error.path, error.key = (_text(problem.get(name)) for name in ("path", "key"))
    error.fixes = tuple(_fix(one) for one in problem.get("fixes", ()))
    return error


def _text(given: Any) -> str | None:
    return None if given is None else _shown(str(given))


def _fix(given: Mapping[str, Any]) -> Fix:
    """The fix of JSON. Raises ValueError for names that are none, and for values that are no JSON scalars."""
    operation, arguments = given["operation"], given["arguments"]
    names = [*arguments, *([] if operation is None else [operation])]
    if not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise ValueError(names)
    values = {name: _value(value) for name, value in arguments.items()}
    return Fix(_shown(str(given["does"])), operation, values)


def _value(given: Any) -> Any:
    if isinstance(given, list):
        return [_value(one) for one in given]
    return given if given is None or isinstance(given, (bool, int, float)) else _text(given)


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
