"""The OpenAPI document describes the actual requests and responses."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from hedgerow._serve import description

OF_INDEX = [
    ("POST", "/v1/search", {"query": "winter", "explain": True}),
    ("POST", "/v1/search", {"query": "winter OR bees", "limit": 1}),
    ("POST", "/v1/search_many", {"queries": ["winter", "("]}),
    ("POST", "/v1/explain", {"query": "the winter"}),
    ("POST", "/v1/why_not", {"query": "winter", "id": "c"}),
    ("POST", "/v1/why_not", {"query": "winter", "id": "a"}),
    ("GET", "/v1/stats", None),
    ("GET", "/v1/chunks/a", None),
    ("POST", "/v1/chunks", {"chunks": [{"id": "d", "content": "d"}]}),
    ("POST", "/v1/get_many", {"ids": ["d", "none"]}),
    ("POST", "/v1/count", {}),
    ("POST", "/v1/count", {"where": {"tags": ["animal"]}}),
    ("POST", "/v1/update", {"where": {"paths": ["d"]}, "metadata": {"a": 1}}),
    ("POST", "/v1/delete", {"where": {"where": {"a": 1}}}),
    ("POST", "/v1/delete", {"ids": ["d", "e"]}),
]
SECTIONS = ["Findings", "Decisions", "Conflicts / Corrections", "Open Questions"]
WRAPUP = "\n\n".join(f"## {section}\n\nSlugs." for section in SECTIONS)
OF_ROOT = [
    ("POST", "/v1/recall", {"query": "slugs", "explain": True}),
    ("POST", "/v1/grep", {"pattern": "slugs", "context": 1}),
    ("POST", "/v1/context", {"query": "slugs", "budget": 100}),
    ("POST", "/v1/why_not", {"query": "slugs", "key": "slugs", "limit": 1}),
    ("POST", "/v1/query", {"pipeline": "all", "explain": True}),
    ("POST", "/v1/query", {"pipeline": "all | count"}),
    ("POST", "/v1/remember", {"text": "Moles.", "title": "Moles"}),
    ("POST", "/v1/wrapup", {"text": WRAPUP, "title": "W"}),
    ("POST", "/v1/wrapup", {"text": WRAPUP, "title": "W", "topic": "slugs"}),
    ("POST", "/v1/process", {"mode": "lint"}),
    ("POST", "/v1/process", {"mode": "synthesize", "topic": "slugs"}),
    ("POST", "/v1/link", {"a": "slugs", "b": "slugs-2"}),
    ("GET", "/v1/graph?key=slugs", None),
    ("GET", "/v1/history?key=slugs", None),
    ("GET", "/v1/diff?key=slugs&old=slugs", None),
    ("POST", "/v1/unlink", {"a": "slugs", "b": "slugs-2"}),
    ("POST", "/v1/retract", {"key": "slugs-2", "reason": "no"}),
    ("POST", "/v1/recall", {"query": "slugs", "as_of": "2020-01-01"}),
    ("POST", "/v1/recall", {"query": "slugs", "include_superseded": True}),
    ("GET", "/v1/graph?key=slugs-2", None),
    ("POST", "/v1/restore", {"key": "slugs-2"}),
    ("POST", "/v1/rename", {"key": "slugs-2", "to": "slugs-3"}),
    ("POST", "/v1/supersede", {"old": "slugs-3", "text": "More traps."}),
    ("POST", "/v1/restore", {"key": "slugs-3"}),
    ("POST", "/v1/forget", {"key": "slugs-3", "purge": True}),
    ("POST", "/v1/visit", {"agent": "a", "keys": ["slugs"]}),
    ("GET", "/v1/status", None),
    ("GET", "/v1/audit", None),
    ("GET", "/v1/memories", None),
    ("GET", "/v1/memories/slugs", None),
]
OF_SERVER = [("GET", "/v1/about", None), ("GET", "/healthz", None), ("GET", "/readyz", None)]
OF_BOTH = [
    ("GET", "/v1/about", None, description.ServerAbout),
    ("GET", "/healthz", None, description.State),
    ("GET", "/readyz", None, description.State),
    ("GET", "/v1/nothing", None, description.ProblemDocument),
]


def check(client: TestClient, method: str, path: str, body: Any, shape: Any) -> None:
    answer = client.request(method, path, json=body)
    assert answer.is_success or shape is description.ProblemDocument, answer.text
    adapter = TypeAdapter(shape)
    found = answer.json()
    # Undescribed fields would be dropped here. Lists represent tuples.
    read = adapter.dump_python(adapter.validate_json(answer.content), mode="json")
    assert json.loads(json.dumps(read)) == found


def test_answers_of_an_index(of_index):
    check_all(of_index, OF_INDEX + OF_SERVER)
    for method, path, body, shape in OF_BOTH:
        check(of_index, method, path, body, shape)


def test_answers_of_a_root(of_root, root):
    (root / "notes" / "slugs-2.md").write_text("# More\n\nTraps against slugs.\n")
    check_all(of_root, OF_ROOT + OF_SERVER)
    for method, path, body, shape in OF_BOTH:
        check(of_root, method, path, body, shape)


def check_all(client: TestClient, requests: list[tuple[str, str, Any]]) -> None:
    """Check that each response has the format in the OpenAPI document, and no other keys."""
    document = client.get("/openapi.json").json()
    for method, path, body in requests:
        answer = client.request(method, path, json=body)
        assert answer.is_success, answer.text
        route = path.partition("?")[0].replace("memories/slugs", "memories/{key}")
        route = route.replace("chunks/a", "chunks/{id}")
        described = document["paths"][route][method.lower()]["responses"]["200"]
        schema = described["content"]["application/json"]["schema"]
        validator = jsonschema.Draft202012Validator(
            {**closed(schema), "components": closed(document["components"])}
        )
        assert [one.message for one in validator.iter_errors(answer.json())] == [], path


def closed(schema: Any) -> Any:
    """Return a schema whose objects have only the described keys."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(one) for key, one in schema.items()}
    if found.get("type") == "object" and "properties" in found:
        found.setdefault("additionalProperties", False)
    return found


def test_every_route_is_tried_here(of_index, of_root):
    for client, tried in ((of_index, OF_INDEX + OF_BOTH), (of_root, [*OF_ROOT, *OF_BOTH])):
        document = client.get("/openapi.json").json()
        routes = {
            (method.upper(), path.split("{")[0])
            for path, methods in document["paths"].items()
            for method in methods
        }
        known = {
            (method, path.split("?")[0].removesuffix("a").removesuffix("slugs"))
            for method, path, *_ in tried
        }
        known |= {(method, path.split("?")[0]) for method, path, *_ in tried}
        # These have other kinds of responses, with separate tests.
        others = {("GET", "/metrics"), ("POST", "/v1/backup"), ("PUT", "/v1/memories/")}
        assert routes - known <= others


def test_the_document_tells_what_is_asked_and_answered(of_root, of_index):
    for client in (of_root, of_index):
        document = client.get("/openapi.json").json()
        assert document["security"] == [{"token": []}]
        schemas = document["components"]["schemas"]
        assert "HTTPValidationError" not in schemas
        names = [
            operation["operationId"]
            for methods in document["paths"].values()
            for operation in methods.values()
        ]
        assert len(names) == len(set(names))
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                assert "422" not in operation["responses"]
                if path not in {"/metrics", "/v1/backup"}:
                    problem = operation["responses"]["default"]["content"]
                    assert [*problem] == ["application/problem+json"]
                    content = operation["responses"]["200"]["content"]
                    assert "$ref" in content["application/json"]["schema"], path
                keyed = [one["name"] for one in operation.get("parameters", [])]
                assert ("Idempotency-Key" in keyed) == (method != "get")
