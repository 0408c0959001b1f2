"""The OpenAPI document: the one of FastAPI, completed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from typing_extensions import NotRequired, TypedDict

from hedgerow import Chunk, Filters, Pipeline, Token, Trace, _shapes
from hedgerow._json.index import HitScore, answer_type
from hedgerow._json.query import QueryAnswer
from hedgerow._operations.fields import FieldSpec, declared
from hedgerow._operations.operation import Request
from hedgerow._operations.schema import Definitions, summary_of
from hedgerow.memory.operations import QueryRequest


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


class FixDocument(TypedDict):
    """A way out of an error; without an operation, the same request with these arguments."""

    does: str
    operation: str | None
    arguments: dict[str, Any]


class ProblemDocument(TypedDict):
    """Why a request was not answered (RFC 9457); some codes have more fields."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    error: NotRequired[str]
    path: NotRequired[str]
    key: NotRequired[str]
    fixes: NotRequired[list[FixDocument]]


_METHODS = ("get", "post", "put")
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 200},
    "description": "A request that is sent again with the same key and body is carried out once",
}


_PROBLEM = {
    "description": "A problem document (RFC 9457)",
    "content": {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    },
}


def new_definitions() -> Definitions:
    """Return the schemas of records, with those of results that describe themselves."""
    template = "#/components/schemas/{model}"
    schemas: dict[str, Any] = {}
    for kind in (_shapes.Trace, _shapes.HitScore):
        schema = TypeAdapter(kind).json_schema(ref_template=template)
        schemas |= {**schema.pop("$defs", {}), kind.__name__: schema}
    anything: dict[str, Any] = {"type": "object", "additionalProperties": {}}
    found = Definitions(
        {
            Trace: {"$ref": template.format(model="Trace")},
            HitScore: {"$ref": template.format(model="HitScore")},
            Chunk: anything,
            Filters: anything,
            Pipeline: {"type": "string"},
            Token: {"type": "object", "additionalProperties": {"type": "string"}},
        }
    )
    found.schemas |= schemas
    return found


def described(kind: type[Request[Any]], definitions: Definitions) -> dict[str, Any]:
    """The documentation of the route of an operation: its arguments and its result."""
    row, schema = kind.operation, definitions.arguments(kind)
    places = {
        one.name: "path" if f"{{{one.name}}}" in (row.path or "") else "header"
        for one in declared(kind)
        if one.field.header is not None or f"{{{one.name}}}" in (row.path or "")
    }
    is_get = row.method == "GET"
    properties, required = schema["properties"], schema.get("required", [])
    parameters = [
        _parameter(one.field.header or one.name, places.get(one.name, "query"), one, properties)
        for one in declared(kind)
        if one.name in properties and (is_get or one.name in places)
    ]
    extra: dict[str, Any] = {"parameters": parameters} if parameters else {}
    if not is_get:
        body = {
            **schema,
            "properties": {key: properties[key] for key in properties if key not in places},
            "required": [key for key in required if key not in places],
        }
        definitions.schemas[kind.__name__] = body
        content = {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}
        extra["requestBody"] = {"required": True, "content": {"application/json": content}}
    extra["responses"] = {
        "200": {
            "description": "The answer",
            "content": {
                "application/json": {
                    "schema": definitions.of(
                        QueryAnswer if kind is QueryRequest else answer_type(kind)
                    )
                }
            },
        },
        "default": _PROBLEM,
    }
    return {"summary": summary_of(kind), "openapi_extra": extra}


def _parameter(
    name: str, place: str, field: FieldSpec, properties: Mapping[str, Any]
) -> dict[str, Any]:
    """A parameter of a route, in the URL or in a header."""
    found = {
        "name": name,
        "in": place,
        "required": field.is_required,
        "schema": properties[field.name],
    }
    return found | ({"description": field.field.doc} if field.field.doc else {})


def name_of(route: APIRoute) -> str:
    """The name of a route in generated clients: that of its function."""
    return route.name


def describe(app: FastAPI, definitions: Definitions) -> None:
    """Add to the document that a token is needed, and what problems and `definitions` look like."""
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            _complete(made(), definitions)
        return made()

    app.openapi = described  # type: ignore[method-assign] # as FastAPI documents it


def _complete(document: dict[str, Any], definitions: Definitions) -> None:
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update(definitions.schemas)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if method in methods:
                _complete_operation(path, method, methods[method])
    for unused in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(unused, None)


def _complete_operation(path: str, method: str, operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    # Where FastAPI would answer 422, this server answers a problem with 400.
    answers.pop("422", None)
    content = answers.get("default", {}).get("content", {})
    if "application/json" in content:
        content["application/problem+json"] = content.pop("application/json")
    if path in {"/healthz", "/readyz"}:
        operation["security"] = []
    if method != "get":
        operation.setdefault("parameters", []).append(_KEY)
