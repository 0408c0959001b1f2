"""Requests that try to leave the root or a token's scope, through every OpenAPI parameter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

OUTSIDE = "canary-outside-6f1d"
OTHERS = "canary-of-ben-93ac"
CANARIES = (OUTSIDE,)
"""Texts outside the root, which no response may contain."""

NAMES = (
    "../secret.md",
    "../secret",
    "notes/../../secret.md",
    "..\\secret.md",
    "/etc/passwd",
    "{outside}/secret.md",
    "file://{outside}/secret.md",
    "linked.md",
    "linked",
    "away/secret.md",
    "notes/away/secret.md",
    ".hedgerow/index.db",
    "hedgerow.json",
    "notes/ana.md\0.md",
    "%2e%2e/secret.md",
    "..%2fsecret.md",
    "%252e%252e%252fsecret.md",
    "notes/ben-secret.md",
    "ben-secret",
    "[[ben-secret]]",
    "BEN-SECRET",
    "ana\nscope: {{user: ben}}",
    "ana' OR 1=1 --",
    "*",
    "",
    "\ud800",
)
"""Values that lead outside the root, through a link in it, or to another user's memory."""


def write_canaries(root: Path) -> None:
    """Write a secret next to a root, links to it inside the root, and memories of two users."""
    (root.parent / "secret.md").write_text(f"# Secret\n\n{OUTSIDE} slugs\n", encoding="utf-8")
    notes = root / "notes"
    for folder in (root, notes):
        (folder / "linked.md").symlink_to(root.parent / "secret.md")
        (folder / "away").symlink_to(root.parent)
    for user, text in (("ana", "Ana has slugs."), ("ben", f"Ben has slugs, {OTHERS}.")):
        name = "ana" if user == "ana" else "ben-secret"
        front = f"---\nscope:\n  user: {user}\n---\n"
        (notes / f"{name}.md").write_text(f"{front}# {name}\n\n{text}\n", encoding="utf-8")


Sent = tuple[str, str, dict[str, Any] | None]
"""The method, the path with its parameters, and the body of a request."""


def requests(document: dict[str, Any], outside: Path) -> Iterator[Sent]:
    """Yield requests of every operation, each with one text replaced by one of the names."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            schema = _body_of(operation, document)
            body = None if schema is None else _example(schema, document, all_fields=False)
            whole = None if schema is None else _example(schema, document, all_fields=True)
            for form in NAMES:
                name = form.format(outside=outside) if "{outside}" in form else form
                for parameters in _parameters(operation, path, name):
                    yield method.upper(), parameters, body
                for one in () if body is None else _replaced(body, whole, name):
                    yield method.upper(), _path(path, "ana"), one


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _path(path: str, value: str) -> str:
    return path.partition("{")[0] + (_quoted(value) if "{" in path else "")


def _parameters(operation: dict[str, Any], path: str, name: str) -> Iterator[str]:
    """Yield paths in which the path parameter or one query parameter is the name."""
    given = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    needed = {one["name"]: "ana" for one in given if one["required"]}
    if "{" in path:
        yield _path(path, name)
        if "\ud800" not in name and name.isprintable():
            yield path.partition("{")[0] + quote(name, safe="/%\\.")
    for one in given:
        sent = {**needed, one["name"]: name}
        pairs = "&".join(f"{key}={_quoted(value)}" for key, value in sent.items())
        yield f"{_path(path, 'ana')}?{pairs}"


def _body_of(operation: dict[str, Any], document: dict[str, Any]) -> dict[str, Any] | None:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return None if content is None else _resolved(content["schema"], document)


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    for kind in ("anyOf", "oneOf"):
        if kind in schema:
            return _resolved(schema[kind][0], document)
    return schema


def _example(schema: dict[str, Any], document: dict[str, Any], *, all_fields: bool) -> Any:
    """Return a value that a schema allows."""
    schema = _resolved(schema, document)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", [])
        return {
            name: _example(one, document, all_fields=all_fields)
            for name, one in schema.get("properties", {}).items()
            if all_fields or name in required
        }
    if kind == "array":
        return [_example(schema.get("items", {}), document, all_fields=all_fields)]
    return {"integer": 1, "number": 1, "boolean": False, "null": None}.get(str(kind), "ana")


def _replaced(body: Any, whole: Any, name: str) -> Iterator[Any]:
    """Yield the body with one text, of a field or of a list item, replaced by the name."""
    for key, value in whole.items():
        if isinstance(value, str):
            yield {**body, key: name}
        elif isinstance(value, list):
            yield {**body, key: [name]}
        elif isinstance(value, dict):
            yield {**body, key: {"paths": [name]}}
            yield {**body, key: {"path_prefix": name}}


def encoded(body: dict[str, Any]) -> bytes:
    """Return the JSON of a body, in which lone surrogates are escaped."""
    return json.dumps(body, ensure_ascii=True).encode("ascii")
