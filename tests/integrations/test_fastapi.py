"""Results as fields of pydantic models and as FastAPI responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel, TypeAdapter, ValidationError

import hedgerow as hr

INDEX = hr.Index.from_texts(
    ["The oak in winter.", "An oak in summer."],
    ids=["a", "b"],
    paths=["trees.md", "trees.md"],
    metadatas=[{"year": 2026}, None],
    embeddings=[[1.0, 0.0], [0.0, 1.0]],
)
RETRIEVER = hr.Retriever(INDEX, embedder=lambda texts: [[1.0, 0.5] for _ in texts])
STORE = hr.Store.in_memory()
STORE.upsert([hr.Node("oak"), hr.Node("elm")])


class Answer(BaseModel):
    response: hr.Response
    best: hr.Hit | None = None
    trace: hr.Trace | None = None
    selected: hr.QueryResult | None = None


app = FastAPI()


@app.get("/annotated")
def annotated(q: str) -> hr.Response:
    return RETRIEVER.search(q)


@app.get("/model", response_model=hr.Response)
async def by_model(q: str) -> Any:
    return await RETRIEVER.asearch(q)


@app.get("/bare")
def bare(q: str):
    return RETRIEVER.search(q)


@app.get("/hits")
def hits(q: str) -> list[hr.Hit]:
    return RETRIEVER.search(q)[:1]


@app.get("/bare_hits")
def bare_hits(q: str):
    return RETRIEVER.search(q)[:1]


@app.get("/trace")
def trace(q: str) -> hr.Trace:
    return RETRIEVER.search(q).trace


@app.get("/nodes")
def nodes(pipeline: str) -> hr.QueryResult:
    return STORE.query(pipeline, explain=True)


@app.get("/answer")
def answer(q: str) -> Answer:
    response = RETRIEVER.search(q)
    return Answer(response=response, best=response[0], trace=response.trace)


@app.post("/echo")
def echo(response: hr.Response) -> hr.Response:
    return response


client = TestClient(app)


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "trace": {**found["trace"], "timings": None}}


@pytest.mark.parametrize("path", ["/annotated", "/model"])
def test_a_response_is_answered_as_its_dictionary(path):
    answered = client.get(path, params={"q": "the oak"})
    assert answered.status_code == 200
    expected = RETRIEVER.search("the oak").to_dict()
    assert without_times(answered.json()) == without_times(expected)


def test_a_response_without_a_type_is_answered_by_the_names_of_its_attributes():
    answered = client.get("/bare", params={"q": "oak"})
    assert answered.status_code == 200
    response = RETRIEVER.search("oak")
    assert answered.json()["results"] == [hit.to_dict() for hit in response]
    assert answered.json()["trace"]["original_query"] == "oak"


@pytest.mark.parametrize("path", ["/hits", "/bare_hits"])
def test_hits(path):
    found = client.get(path, params={"q": "winter"}).json()
    assert found == [hit.to_dict() for hit in RETRIEVER.search("winter")[:1]]


def test_traces_and_results_of_pipelines():
    found = client.get("/trace", params={"q": "oak"}).json()
    assert found["matchQuery"] == '"oak"'
    assert "errorStage" not in found
    found = client.get("/nodes", params={"pipeline": "all | sort:weight | select:key"}).json()
    assert found["rows"] == [["elm"], ["oak"]] or found["rows"] == [["oak"], ["elm"]]
    assert found["stages"][0]["name"] == "all"


def test_a_model_of_the_callers_own():
    found = client.get("/answer", params={"q": "winter"}).json()
    assert found["best"] == found["response"]["results"][0]
    assert found["trace"] == found["response"]["trace"]
    assert found["selected"] is None


def test_the_schema_describes_them():
    schema = client.get("/openapi.json").json()["components"]["schemas"]
    names = {name.removesuffix("-Output").removesuffix("-Input") for name in schema}
    assert {"Hit", "Trace", "Response", "QueryResult"} <= names
    hit = schema["Hit"]
    assert list(hit["properties"]) == RETRIEVER.search("oak")[0].keys()
    assert hit["properties"]["tags"] == {
        "items": {"type": "string"},
        "type": "array",
        "title": "Tags",
    }


def test_a_response_is_read_again():
    response = RETRIEVER.search("oak")
    adapter = TypeAdapter(hr.Response)
    text = adapter.dump_json(response)
    assert json.loads(text) == response.to_dict()
    for found in (adapter.validate_json(text), adapter.validate_python(response.to_dict())):
        assert found.trace == response.trace
        assert [hit.to_dict() for hit in found] == [hit.to_dict() for hit in response]
        assert found.explain() == response.explain()
    unknown = response.to_dict()
    unknown["results"][0]["explanation"]["fusion"] = "none"
    with pytest.raises(ValidationError, match='there is no fusion "none"'):
        adapter.validate_python(unknown)
    assert adapter.validate_python(response) is response
    answered = client.post("/echo", json=response.to_dict())
    assert answered.status_code == 200
    assert answered.json()["trace"] == response.to_dict()["trace"]


def test_every_trace_is_read_again():
    for query, options in [
        ("oak", {}),
        ("the oak", {"mode": "bm25", "group_by": "path"}),
        ("oka", {}),
        ("", {}),
        ("oak last week", {"question_date": "2026-04-18"}),
    ]:
        for profile in ("spec", "best"):
            trace = hr.Retriever(INDEX, ranking=hr.Ranking(profile)).search(query, **options).trace
            adapter = TypeAdapter(hr.Trace)
            assert adapter.validate_json(adapter.dump_json(trace)) == trace


def test_a_result_of_a_pipeline_is_read_again():
    adapter = TypeAdapter(hr.QueryResult)
    for pipeline in ["all", "all | count", "all | select:key,weight"]:
        result = STORE.query(pipeline, explain=True)
        assert adapter.validate_json(adapter.dump_json(result)) == result
        assert adapter.validate_python(result.to_dict()) == result


@pytest.mark.parametrize("kind", [hr.Hit, hr.Trace, hr.Response, hr.QueryResult])
@pytest.mark.parametrize("value", [{}, [], None, 5, "oak", {"id": 1}, {"results": 5, "trace": 1}])
def test_what_is_none_is_refused(kind, value):
    adapter = TypeAdapter(kind)
    with pytest.raises(ValidationError):
        adapter.validate_python(value)
    with pytest.raises(ValidationError):
        adapter.validate_json(json.dumps(value))


def test_values_of_another_type_are_refused():
    hit = RETRIEVER.search("oak")[0].to_dict()
    for field, value in [("tags", "oak"), ("ordinal", -1), ("score", "x"), ("content", 5)]:
        with pytest.raises(ValidationError):
            TypeAdapter(hr.Hit).validate_python({**hit, field: value})
        with pytest.raises(ValidationError):
            TypeAdapter(hr.Hit).validate_json(json.dumps({**hit, field: value}))
