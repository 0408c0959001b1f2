"""The prompts that an index stores for its embedder, and embedders with other prompts."""

from __future__ import annotations

import json
import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow._engine import _embedder_of
from hedgerow._retrieval.embedding import RecordedEmbedder, stored_name
from prompted_double import Adapter
from retrieval_doubles import FnvEmbedder


class Older(FnvEmbedder):
    """The same embedder, as it was before prompts existed."""

    name = "e5"


CHUNKS = [hr.Chunk("a", "a.md", "An oak."), hr.Chunk("b", "b.md", "An elm.")]


def index_of(embedder: Any, path: Path | None = None) -> hr.Index:
    index = hr.Index.in_memory() if path is None else hr.Index.open(path)
    hr.Retriever(index, embedder=embedder).upsert(CHUNKS)
    return index


def refused(index: hr.Index, embedder: Any) -> str:
    """Return the error of using an embedder, which must be the same for reads and writes."""
    messages = set()
    retriever = hr.Retriever(index, embedder=embedder)
    for call in (
        lambda: retriever.search("oak"),
        lambda: retriever.upsert([hr.Chunk("c", "c.md", "New.")]),
    ):
        with pytest.raises(hr.InvalidInputError) as raised:
            call()
        assert raised.value.code == "embedder_mismatch"
        messages.add(str(raised.value))
    assert embedder.calls == [], "nobody pays for what is refused"
    [message] = messages
    return message


def test_each_form_has_its_prompt_and_the_file_remembers() -> None:
    embedder = Adapter()
    index = index_of(embedder)
    assert embedder.calls == [["passage: An oak.", "passage: An elm."]]
    hr.Retriever(index, embedder=embedder).search_many(["oak", "elm"])
    assert embedder.calls[1:] == [["query: oak", "query: elm"]]
    assert index.stats().embedder == 'e5 + "passage: "'
    name, details, _ = _embedder_of(index)
    assert name == 'e5 + "passage: "'
    assert json.loads(details or "") == {
        "name": "e5",
        "adapter": "ollama",
        "model": "e5",
        "query_prompt": "query: ",
        "document_prompt": "passage: ",
    }
    assert hr.Retriever(index, embedder=Adapter()).search("oak").trace.embedder_used


def test_another_document_prompt_is_refused_until_all_is_embedded_anew() -> None:
    index = index_of(Adapter(document="text: "))
    assert refused(index, Adapter()) == (
        'the index in memory has vectors of the embedder "e5", for which documents were embedded '
        "with the prompt 'text: ', not with the prompt 'passage: '; to give the embedder that prompt: "
        'document_prompt="text: "; to embed all chunks again: retriever.reembed()'
    )
    assert "not with no prompt; to give the embedder that prompt: document_prompt=" in refused(
        index, Adapter(document="")
    )
    embedder = Adapter()
    retriever = hr.Retriever(index, embedder=embedder)
    assert retriever.reembed() == 2
    assert embedder.calls == [["passage: An oak.", "passage: An elm."]]
    assert retriever.search("oak").trace.embedder_used
    assert RecordedEmbedder.of(index).document_prompt == "passage: "


def test_no_prompt_that_was_chosen_is_remembered_too() -> None:
    index = index_of(Adapter(document=""))
    assert index.stats().embedder == "e5"
    assert (
        "with no prompt, not with the prompt 'passage: '; to give the embedder that prompt: document_prompt="
        in refused(index, Adapter())
    )


def test_another_query_prompt_is_for_the_caller_to_choose() -> None:
    index = index_of(Adapter(query="ask: "))
    assert refused_query(index) == (
        'the index in memory has vectors of the embedder "e5", for which queries are embedded with '
        "the prompt 'ask: ', not with the prompt 'query: '; to give the embedder that prompt: "
        'query_prompt="ask: "; to use another prompt: query_prompt=...'
    )
    for prompt in ("", "task: "):
        embedder = Adapter(query=prompt)
        assert hr.Retriever(index, embedder=embedder).search("oak").trace.embedder_used
        assert embedder.calls == [[f"{prompt}oak"]]


def refused_query(index: hr.Index) -> str:
    return refused(index, Adapter())


def test_an_older_file_goes_on_as_it_was_embedded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither new chunks nor queries get a prompt, so that nothing is mixed.

    The log reports it once.
    """
    with index_of(Older(), tmp_path / "i.db") as index:
        embedder = Adapter()
        retriever = hr.Retriever(index, embedder=embedder)
        with caplog.at_level(logging.WARNING, "hedgerow"):
            assert retriever.search("oak").trace.embedder_used
            retriever.upsert([hr.Chunk("c", "c.md", "New.")])
        assert embedder.calls == [["oak"], ["New."]]
        [message] = [record.getMessage() for record in caplog.records]
        assert message == (
            f"{tmp_path / 'i.db'} has vectors that an earlier version made without the prompts of "
            '"e5"; queries and new chunks are embedded without them too. For better results '
            "embed all chunks again"
        )
        assert index.stats().embedder == "e5"
        embedder.calls.clear()
        assert retriever.reembed() == 3
        assert retriever.search("oak").trace.embedder_used
        assert embedder.calls[-1] == ["query: oak"]
        assert index.stats().embedder == 'e5 + "passage: "'


def test_an_older_file_is_not_mixed_with_what_was_chosen() -> None:
    index = index_of(Older())
    assert "with no prompt, not with the prompt 'doc: '" in refused(
        index, Adapter(document="doc: ")
    )


def test_an_older_file_without_a_document_prompt_gets_the_query_prompt() -> None:
    index = index_of(Older())
    embedder = Adapter(document="")
    hr.Retriever(index, embedder=embedder).search("oak")
    assert embedder.calls == [["query: oak"]]


def test_another_name_is_refused_as_ever() -> None:
    index = index_of(Adapter())
    with pytest.raises(
        hr.InvalidInputError, match='not "fnv64"; use that one; to embed all chunks'
    ):
        hr.Retriever(index, embedder=FnvEmbedder()).search("oak")
    assert 'has vectors of the embedder "fnv64", not "e5 + "passage: "";' in refused(
        index_of(FnvEmbedder()), Adapter()
    )


def test_embedded_anew_by_another_handle_while_a_query_is_embedded(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    with index_of(Older(), path) as index, hr.Index.open(path) as other:
        retriever = hr.Retriever(index, embedder=Adapter())
        assert retriever.search("oak").trace.embedder_used
        hr.Retriever(other, embedder=Adapter()).reembed()
        with pytest.raises(hr.InvalidInputError, match="e5"):
            retriever.search("oak")
        assert retriever.search("oak").trace.embedder_used


def test_an_embedder_of_the_callers_records_its_name_alone() -> None:
    index = index_of(FnvEmbedder())
    assert _embedder_of(index) == ("fnv64", None, 64)
    assert RecordedEmbedder.of(index) == RecordedEmbedder("fnv64")


@pytest.mark.parametrize(
    "details",
    ["", "null", "[1]", '{"name": 3, "adapter": ["x"]}', "{" * 100_000, '{"name": "other"}',
     '{"name": "e5", "document_prompt": "of another: "}'],
    ids=range(7),
)  # fmt: skip
def test_details_may_be_anybodys(tmp_path: Path, details: str) -> None:
    path = tmp_path / "i.db"
    index_of(Older(), path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO settings VALUES ('embedder_details', ?)", (details,))
    connection.close()
    with hr.Index.open(path) as index:
        assert RecordedEmbedder.of(index).name == "e5"
        assert RecordedEmbedder.of(index).adapter is None
        assert hr.Retriever(index, embedder=Adapter()).search("oak").trace.embedder_used


@given(st.text(), st.text(), st.text())
def test_a_stored_name_tells_prompts_apart(name: str, one: str, other: str) -> None:
    assert (stored_name(name, one) == stored_name(name, other)) == (one == other)
    assert stored_name(name, "") == name
    assert stored_name(None, one) is None
