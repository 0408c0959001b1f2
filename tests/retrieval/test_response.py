"""A response as a list, a dictionary and an HTML page."""

from __future__ import annotations

import dataclasses
import json
import pickle

import pytest

import hedgerow as hr


@pytest.fixture
def oaks() -> hr.Retriever:
    index = hr.Index.in_memory()
    index.upsert(
        {"id": str(n), "path": "p.md", "content": "oak " * n, "ordinal": n} for n in (1, 2, 3)
    )
    return hr.Retriever(index)


def test_it_is_read_like_a_list(oaks):
    response = oaks.search("oak")
    assert len(response) == 3
    assert list(response) == response.results == response[:]
    assert response[-1] == response.results[2]
    assert response[1:] == response.results[1:]
    assert response[::-1] == response.results[::-1]
    assert response.results[1] in response
    assert response
    assert not oaks.search("elm")
    with pytest.raises(IndexError):
        response[3]


def test_a_dictionary_is_json(oaks):
    response = oaks.search("oak", limit=2, offset=1)
    found = response.to_dict()
    assert list(found) == ["results", "offset", "error", "notices", "trace"]
    assert found["results"] == [hit.to_dict() for hit in response]
    assert (found["offset"], found["error"]) == (1, None)
    assert found["trace"] == response.trace.to_dict()
    assert json.loads(json.dumps(found)) == found


def test_a_dictionary_says_what_failed_but_not_where(oaks):
    response = oaks.search("oak")
    for error, expected in [
        (OSError("/srv/secret"), {"type": "OSError", "code": None}),
        (
            hr.IndexFileError("/srv/secret is damaged", code="index_damaged"),
            {"type": "IndexFileError", "code": "index_damaged"},
        ),
    ]:
        found = dataclasses.replace(response, error=error).to_dict()
        assert found["error"] == expected
        assert "secret" not in json.dumps(found)


def test_it_is_still_replaced_compared_and_pickled(oaks):
    response = oaks.search("oak")
    assert pickle.loads(pickle.dumps(response)) == response
    assert dataclasses.replace(response, offset=3) != response


def test_a_page_names_what_was_left_out(oaks):
    page = oaks.search("the oak", limit=1, offset=1)._repr_html_()
    assert "<td>2</td><td>p.md</td>" in page
    assert "<p>1 of 3 found, mode bm25</p>" in page
    assert "<p>Not searched for: the.</p>" in page
    assert "<p>0 of 0 found, mode bm25</p>" in oaks.search("elm")._repr_html_()


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow")])
def test_a_table_says_what_to_install(oaks, monkeypatch, method, package):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(hr.MissingExtraError) as caught:
        getattr(oaks.search("oak"), method)()
    assert str(caught.value) == (
        f"{method} needs the package {package}, which is not installed; run: pip install {package}"
    )
    assert caught.value.code == "missing_extra"
