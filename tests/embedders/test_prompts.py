"""The prompts that adapters put before queries and documents."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
import library_doubles
from embedder_servers import ollama_answer, openai_answer, rows, vector_of
from hedgerow.embedders import (
    AsyncOllamaEmbedder,
    AsyncOpenAIEmbedder,
    Model2VecEmbedder,
    OllamaEmbedder,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
    embedder_named,
)
from hedgerow.embedders.prompts import Prompts, prompts_of_model, with_prompt
from local_server import LocalServer

PASSAGES = "Represent this sentence for searching relevant passages: "
WEB = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("intfloat/e5-small-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", f"{WEB} ", ""),
        ("intfloat/e5-mistral-7b-instruct", f"{WEB} ", ""),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0", "search_query: ", "search_document: "),
        ("BAAI/bge-small-en-v1.5", PASSAGES, ""),
        ("BAAI/bge-base-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("mixedbread-ai/mxbai-embed-large-v1", PASSAGES, ""),
        ("WhereIsAI/UAE-Large-V1", PASSAGES, ""),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", PASSAGES, ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("snowflake-arctic-embed2:568m", "query: ", ""),
        ("Qwen/Qwen3-Embedding-0.6B", WEB, ""),
        ("qwen3-embedding:8b", WEB, ""),
        ("google/embeddinggemma-300m", "task: search result | query: ", "title: none | text: "),
        ("models\\e5-base-v2\\", "query: ", "passage: "),
    ],
)
def test_families(model: str, query: str, document: str) -> None:
    assert prompts_of_model(model) == Prompts(query, document)


@pytest.mark.parametrize(
    "model",
    ["BAAI/bge-m3", "all-MiniLM-L6-v2", "text-embedding-3-small", "my-e5-small-v2", "", "e5", "/",
     "bge-small-en-v1.5-of-ours", "minishlab/potion-base-8M"],
)  # fmt: skip
def test_other_models_have_none(model: str) -> None:
    assert prompts_of_model(model) is None


@given(st.text(), st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_blank_texts_stay_blank(prompt: str, texts: list[str]) -> None:
    for text, prompted in zip(texts, with_prompt(texts, prompt), strict=True):
        assert prompted == (prompt + text if text.strip() else text)


@pytest.mark.parametrize(
    ("adapter", "answer"), [(OllamaEmbedder, ollama_answer), (OpenAIEmbedder, openai_answer)]
)
def test_served_models_are_sent_them(server: LocalServer, adapter: Any, answer: Any) -> None:
    server.answer = answer
    embedder = server.closes(adapter("nomic-embed-text", base_url=server.url))
    assert (embedder.query_prompt, embedder.document_prompt) == (
        "search_query: ",
        "search_document: ",
    )
    assert rows(embedder.embed_documents(["oak", " "])) == [
        vector_of("search_document: oak"),
        [],
    ]
    assert list(embedder.embed_query("elm")) == vector_of("search_query: elm")
    assert list(embedder.embed_query("\n")) == []
    embedder.embed_queries(["a", "b"])
    embedder.embed(["oak"])
    assert [body["input"] for body in server.bodies] == [
        ["search_document: oak"],
        ["search_query: elm"],
        ["search_query: a", "search_query: b"],
        ["oak"],
    ]


@pytest.mark.parametrize(
    ("adapter", "answer"),
    [(AsyncOllamaEmbedder, ollama_answer), (AsyncOpenAIEmbedder, openai_answer)],
)
def test_asynchronous_ones_too(server: LocalServer, adapter: Any, answer: Any) -> None:
    server.answer = answer

    async def both() -> None:
        async with adapter("e5-base", base_url=server.url) as embedder:
            assert list(await embedder.embed_query("oak")) == vector_of("query: oak")
            assert rows(await embedder.embed_documents(["oak"])) == [vector_of("passage: oak")]

    asyncio.run(both())


def test_options_come_before_what_is_known(server: LocalServer) -> None:
    server.answer = ollama_answer
    embedder = server.closes(
        OllamaEmbedder("e5-base", base_url=server.url, query_prompt="", document_prompt="text: ")
    )
    embedder.embed_query("oak")
    embedder.embed_documents(["oak"])
    assert [body["input"] for body in server.bodies] == [["oak"], ["text: oak"]]
    named = embedder_named(f"ollama:e5-base@{server.url}", query_prompt="q ")
    server.closes(named)
    assert (named.query_prompt, named.document_prompt) == ("q ", "passage: ")  # type: ignore[attr-defined]


def test_a_model_is_known_by_the_name_that_was_given(server: LocalServer) -> None:
    embedder = server.closes(
        OpenAIEmbedder("default", base_url=server.url, name="nomic-embed-text-v1")
    )
    assert embedder.query_prompt == "search_query: "


def test_arguments_are_checked(server: LocalServer) -> None:
    with pytest.raises(TypeError, match="query_prompt must be a str, not int"):
        OllamaEmbedder("m", base_url=server.url, query_prompt=3)  # type: ignore[arg-type]
    with pytest.raises(hr.InvalidInputError, match="document_prompt has half of a surrogate pair"):
        embedder_named("ollama:m", document_prompt="\ud83d")
    embedder = server.closes(OllamaEmbedder("m", base_url=server.url))
    with pytest.raises(TypeError, match="text must be a str, not list"):
        embedder.embed_query(["oak"])
    with pytest.raises(TypeError, match="texts must be a sequence of str, not one str"):
        embedder.embed_documents("oak")


@pytest.mark.usefixtures("libraries")
class TestLocal:
    def test_static_models_want_none(self) -> None:
        embedder = Model2VecEmbedder("org/e5-base-v2")
        assert (embedder.query_prompt, embedder.document_prompt) == ("", "")
        embedder = Model2VecEmbedder("org/model", query_prompt="q: ")
        assert list(embedder.embed_query("oak")) == [6, 1]
        assert embedder.embed_documents(["oak"]).tolist() == [[3, 1]]

    @pytest.mark.parametrize(
        ("own", "default", "query", "document"),
        [
            ({"query": "Q ", "document": "D "}, None, "Q ", "D "),
            ({"query": "Q ", "passage": "P "}, None, "Q ", "P "),
            ({"query": "Q "}, None, "Q ", ""),
            ({"query": "", "document": ""}, None, "query: ", "passage: "),
            ({}, None, "query: ", "passage: "),
            ({"sts": "S "}, "sts", "S ", "S "),
        ],
    )
    def test_the_models_own_come_first(
        self, own: dict[str, str], default: str | None, query: str, document: str
    ) -> None:
        model = library_doubles.PromptedTransformer("intfloat/e5-base-v2")
        model.prompts, model.default_prompt_name = own, default
        embedder = SentenceTransformerEmbedder(model, name="intfloat/e5-base-v2")
        assert embedder.embed_query("oak").tolist() == [len(query) + 3, 1]
        embedder.embed_documents(["oak", " "])
        assert model.calls == [
            {"form": "query", "prompt": query, "inputs": ["oak"]},
            {"form": "document", "prompt": document, "inputs": ["oak"]},
        ]

    def test_an_encoder_without_forms_gets_whole_texts(self) -> None:
        embedder = SentenceTransformerEmbedder("intfloat/e5-base-v2")
        assert embedder.embed_query("oak").tolist() == [len("query: oak"), 1]
        [call] = embedder._model.calls  # type: ignore[attr-defined]
        assert (call["inputs"], call["prompt_name"]) == (["query: oak"], None)

    def test_one_name_of_a_prompt_is_for_both(self) -> None:
        model = library_doubles.PromptedTransformer("m")
        model.prompts = {"query": "Q ", "sts": "S "}
        embedder = SentenceTransformerEmbedder(model, name="m", prompt_name="sts")
        assert (embedder.query_prompt, embedder.document_prompt) == ("S ", "S ")
        embedder = SentenceTransformerEmbedder(model, name="m", prompt_name="no such")
        embedder.embed_documents(["oak"])
        # An unknown name is passed on, and the library raises the error.
        assert model.calls[-1]["prompt_name"] == "no such"

    def test_options_come_before_the_models_own(self) -> None:
        model = library_doubles.PromptedTransformer("m")
        model.prompts = {"query": "Q "}
        embedder = SentenceTransformerEmbedder(
            model, name="m", query_prompt="", document_prompt="D"
        )
        embedder.embed_query("oak")
        embedder.embed_documents(["oak"])
        assert [call["prompt"] for call in model.calls] == ["", "D"]
        assert json.dumps(embedder.query_prompt) == '""'
