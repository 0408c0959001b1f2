"""The OpenAPI document: what FastAPI generates, and what it cannot know."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

_METHODS = ("get", "post", "put")
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 200},
    "description": "A request that is sent again with the same key and body is carried out once",
}


def name_of(route: APIRoute) -> str:
    """The name of a route in generated clients: that of its function."""
    return route.name


def describe(app: FastAPI) -> None:
    """Add to the document that a token is needed, and what problems look like."""
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            _complete(made())
        return made()

    app.openapi = described  # type: ignore[method-assign] # as FastAPI documents it


def _complete(document: dict[str, Any]) -> None:
    components = document["components"]
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
    if problem := answers.get("default"):
        content = problem["content"]
        content["application/problem+json"] = content.pop("application/json")
    if path in {"/healthz", "/readyz"}:
        operation["security"] = []
    if method != "get":
        operation.setdefault("parameters", []).append(_KEY)
