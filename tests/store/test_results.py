"""The result of a pipeline as a list of keys, as nodes and as JSON."""

from __future__ import annotations

import json
import pickle

import pytest

import hedgerow as hr


@pytest.fixture
def trees() -> hr.Store:
    made = hr.Store.in_memory()
    made.upsert([hr.Node("oak", weight=0.9), hr.Node("elm", weight=0.5)])
    return made


def test_it_iterates_over_keys(trees):
    result = trees.query("all | sort:weight")
    assert list(result) == result.keys == ["oak", "elm"]
    assert (len(result), result[0], result[1:]) == (2, "oak", ["elm"])
    assert "elm" in result
    assert list(trees.query("all | count")) == []


def test_it_gives_the_nodes_that_there_are(trees):
    result = trees.query("all | sort:weight")
    assert result.nodes(trees) == [trees.get("oak"), trees.get("elm")]
    trees.delete(["oak"])
    assert [node.key for node in result.nodes(trees)] == ["elm"]


@pytest.mark.parametrize(
    "pipeline", ["all | sort:weight", "all | count", "all | select:key,weight", "all | limit:1"]
)
def test_it_is_json(trees, pipeline):
    result = trees.query(pipeline, explain=True)
    fields = result.to_dict()
    assert json.loads(json.dumps(fields)) == fields
    assert fields["keys"] == result.keys
    assert fields["stages"][0]["name"] == result.stages[0].name
    assert pickle.loads(pickle.dumps(result)) == result


def test_it_is_a_page(trees):
    assert "<td>oak</td>" in trees.query("all")._repr_html_()
    assert trees.query("all | count")._repr_html_() == "<p>count: 2</p>"
    trees.upsert([hr.Node("<oak>")])
    page = trees.query("all | select:key,weight")._repr_html_()
    assert page.startswith("<table><thead><tr><th>key</th><th>weight</th></tr></thead>")
    assert "<td>&lt;oak&gt;</td>" in page


def test_nodes_are_asked_of_a_store() -> None:
    with hr.Store.in_memory() as store:
        store.upsert([hr.Node("oak")])
        result = store.query("all")
        with pytest.raises(TypeError, match="store must be the Store that was queried, not Index"):
            result.nodes(store.index)
