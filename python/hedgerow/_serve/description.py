"""Routes with their part of the OpenAPI document, and the document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from pydantic import TypeAdapter
from starlette.routing import Route
from typing_extensions import NotRequired, TypedDict

from hedgerow import Chunk, Filters, Pipeline, Token, Trace, __version__, _shapes
from hedgerow._json.index import HitScore, answer_type
from hedgerow._json.query import QueryAnswer
from hedgerow._operations.fields import FieldSpec, declared
from hedgerow._operations.operation import Request
from hedgerow._operations.schema import Definitions, summary_of
from hedgerow.memory.operations import QueryRequest


class ServerAbout(TypedDict):
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

Describe = Callable[[Definitions], dict[str, Any]]
"""Returns the operation object of a route. The schemas that it refers to are added to the definitions."""


class MethodRoute(Route):
    """A route of one method, with its part of the OpenAPI document unless `describe` is None."""

    def __init__(
        self,
        method: str,
        path: str,
        endpoint: Callable[..., Any],
        describe: Describe | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(path, endpoint, methods=[method], name=name)
        # HEAD reaches routes as GET, so problems need not name it.
        self.methods = {method}
        self.method = method
        self.describe = describe


def document(routes: Iterable[MethodRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes that are described."""
    definitions = _new_definitions()
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.describe is None:
            continue
        operation = {"operationId": route.name, **route.describe(definitions)}
        if route.method != "GET":
            operation["parameters"] = [*operation.get("parameters", ()), _KEY]
        paths.setdefault(route.path_format, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "hedgerow", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": definitions.schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


_TEMPLATE = "#/components/schemas/{model}"


def _new_definitions() -> Definitions:
    """Return the schemas of shapes of pydantic, with references for results that have one of these."""
    schemas: dict[str, Any] = {}
    for kind in (_shapes.Trace, _shapes.HitScore, ServerAbout, State, ProblemDocument):
        schema = TypeAdapter(kind).json_schema(ref_template=_TEMPLATE)
        schemas |= {**schema.pop("$defs", {}), kind.__name__: schema}
    anything: dict[str, Any] = {"type": "object", "additionalProperties": {}}
    found = Definitions(
        {
            Trace: _reference("Trace"),
            HitScore: _reference("HitScore"),
            Chunk: anything,
            Filters: anything,
            Pipeline: {"type": "string"},
            Token: {"type": "object", "additionalProperties": {"type": "string"}},
        }
    )
    found.schemas |= schemas
    return found


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": _TEMPLATE.format(model=name)}


def _responses(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the responses of a route that answers with JSON, or with a problem."""
    content = {"application/json": {"schema": schema}}
    return {"200": {"description": "The answer", "content": content}, "default": _PROBLEM}


def of_shape(summary: str, shape: type[Any], *, needs_token: bool = True) -> Describe:
    """Describe a route of the server itself that answers with a shape.

    Answers are sent without validation against it, which would take time: tests do that.
    """
    found = {
        "tags": ["server"],
        "summary": summary,
        "responses": _responses(_reference(shape.__name__)),
    }
    return lambda _: found if needs_token else {**found, "security": []}


def of_operation(kind: type[Request[Any]], tag: str) -> Describe:
    """Describe the route of an operation: its arguments and its result."""
    return lambda definitions: {
        "tags": [tag],
        "summary": summary_of(kind),
        **_asked(kind, definitions),
        "responses": _responses(
            definitions.of(QueryAnswer if kind is QueryRequest else answer_type(kind))
        ),
    }


def _asked(kind: type[Request[Any]], definitions: Definitions) -> dict[str, Any]:
    """Return the parameters and the body of the route of an operation."""
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
    found: dict[str, Any] = {"parameters": parameters} if parameters else {}
    if not is_get:
        definitions.schemas[kind.__name__] = {
            **schema,
            "properties": {key: properties[key] for key in properties if key not in places},
            "required": [key for key in required if key not in places],
        }
        content = {"application/json": {"schema": _reference(kind.__name__)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


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
