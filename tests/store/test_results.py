"""The result of a pipeline as a list of keys, as nodes and as JSON."""

from __future__ import annotations

import json
import pickle

import pytest

import hedgerow as hr


@pytest.fixture
def store() -> hr.Store:
    made = hr.Store.in_memory()
    made.upsert([hr.Node("oak", weight=0.9), hr.Node("elm", weight=0.5)])
    return made


def test_it_iterates_over_keys(store):
    result = store.query("all | sort:weight")
    assert list(result) == result.keys == ["oak", "elm"]
    assert (len(result), result[0], result[1:]) == (2, "oak", ["elm"])
    assert "elm" in result
    assert list(store.query("all | count")) == []


def test_it_gives_the_nodes_that_there_are(store):
    result = store.query("all | sort:weight")
    assert result.nodes(store) == [store.get("oak"), store.get("elm")]
    store.delete(["oak"])
    assert [node.key for node in result.nodes(store)] == ["elm"]


@pytest.mark.parametrize(
    "pipeline", ["all | sort:weight", "all | count", "all | select:key,weight", "all | limit:1"]
)
def test_it_is_json(store, pipeline):
    result = store.query(pipeline, explain=True)
    fields = result.to_dict()
    assert json.loads(json.dumps(fields)) == fields
    assert fields["keys"] == result.keys
    assert fields["stages"][0]["name"] == result.stages[0].name
    assert pickle.loads(pickle.dumps(result)) == result


def test_it_is_a_page(store):
    assert "<td>oak</td>" in store.query("all")._repr_html_()
    assert store.query("all | count")._repr_html_() == "<p>count: 2</p>"
    store.upsert([hr.Node("<oak>")])
    page = store.query("all | select:key,weight")._repr_html_()
    assert page.startswith("<table><thead><tr><th>key</th><th>weight</th></tr></thead>")
    assert "<td>&lt;oak&gt;</td>" in page
