"""The shapes of answers that no operation has: schemas of the OpenAPI document, from which clients are generated.

Before Python 3.12, pydantic needs the TypedDict of typing_extensions, which it depends on.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict


class About(TypedDict):
    """The served index or root, and the rights of the token."""

    hedgerow: str
    kind: Literal["root", "index"]
    name: str
    readOnly: bool
    tokenScope: Literal["read", "write"]
    edit: bool
    scope: NotRequired[dict[str, str]]


class State(TypedDict):
    """The server is well."""

    status: Literal["ok"]


class ProblemDocument(TypedDict):
    """Why a request was not answered (RFC 9457); some codes have more fields."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    error: NotRequired[str]


class QueryAnswer(TypedDict):
    """The nodes that a pipeline selected.

    Each of the `results` has a `key`, a `score` and its columns.

    `columns` are those that the pipeline itself selects.
    """

    pipeline: str
    root: str
    now: int
    count: int
    results: NotRequired[list[dict[str, Any]]]
    columns: list[str] | None
    pairs: list[tuple[str, str, float]]
    warnings: list[str]
    stale: bool
    stages: NotRequired[list[dict[str, Any]]]
