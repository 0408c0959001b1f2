"""The HTTP embedders, against a real local server."""

from __future__ import annotations

import asyncio
import json
import math
import os
import pickle
import sys
import time
from array import array
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

import hedgerow as hr
from embedder_servers import (
    KEY,
    ollama,
    ollama_answer,
    openai,
    openai_answer,
    refused,
    rows,
    vector_of,
)
from event_loops import Gone
from hedgerow.embedders import (
    AsyncOllamaEmbedder,
    AsyncOpenAIEmbedder,
    OllamaEmbedder,
    OpenAIEmbedder,
)
from local_server import LocalServer, Reply


@pytest.mark.parametrize("make", [openai, ollama])
def test_texts_become_rows_in_their_order(server: LocalServer, make: Any) -> None:
    with make(server, batch_size=2) as embedder:
        assert rows(embedder.embed(["a", "bb", "ccc", "dddd", "eeeee"])) == [
            vector_of(text) for text in ("a", "bb", "ccc", "dddd", "eeeee")
        ]
        assert embedder.embed([]) == []
    assert [body["input"] for body in server.bodies] == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]


def test_rows_are_of_four_bytes_a_number(server: LocalServer) -> None:
    [row] = openai(server).embed(["oak"])
    assert isinstance(row, array)
    assert row.typecode == "f"


def test_what_openai_is_sent(server: LocalServer) -> None:
    openai(server, api_key=KEY, dimensions=3, fields={"user": "tests"}).embed(["høst", "🍂"])
    [request] = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "small",
        "input": ["høst", "🍂"],
        "dimensions": 3,
        "user": "tests",
    }


def test_what_ollama_is_sent(server: LocalServer) -> None:
    ollama(server, fields={"truncate": False}).embed(["oak"])
    [request] = server.requests
    assert request.path == "/api/embed"
    assert "Authorization" not in request.headers
    assert request.body == {"model": "small", "input": ["oak"], "truncate": False}


def test_a_query_in_the_base_url_stays(server: LocalServer) -> None:
    server.answer = openai_answer
    with OpenAIEmbedder("m", base_url=f"{server.url}/v1/?version=2") as embedder:
        embedder.embed(["oak"])
    assert server.requests[0].path == "/v1/embeddings?version=2"


@pytest.mark.parametrize("make", [openai, ollama])
def test_blank_texts_are_not_sent_and_have_no_vector(server: LocalServer, make: Any) -> None:
    embedder = make(server)
    assert rows(embedder.embed(["", "oak", " \n"])) == [[], vector_of("oak"), []]
    assert rows(embedder.embed([" "])) == [[]]
    assert [body["input"] for body in server.bodies] == [["oak"]]


def test_a_vector_of_zeros_is_no_vector(server: LocalServer) -> None:
    server.replies = [Reply({"embeddings": [[0, 0], [0, 1]]})]
    assert rows(ollama(server).embed(["a", "b"])) == [[], [0, 1]]


def test_answers_without_an_index_are_in_order(server: LocalServer) -> None:
    server.replies = [Reply({"data": [{"embedding": [1]}, {"embedding": [2]}]})]
    assert rows(openai(server).embed(["a", "b"])) == [[1], [2]]


# Options and arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, not 0"),
        ({"batch_size": 2.0}, "batch_size must be an integer of at least 1, not 2.0"),
        ({"retries": -1}, "retries must be an integer of at least 0, not -1"),
        ({"retries": True}, "retries must be an integer of at least 0, not True"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0, not 0"),
        ({"timeout": math.inf}, "timeout must be a number of seconds above 0, not inf"),
        ({"dimensions": 0}, "dimensions must be an integer of at least 1, not 0"),
    ],
)
def test_options_that_cannot_be(server: LocalServer, options: Any, message: str) -> None:
    error = refused(lambda: openai(server, **options))
    assert type(error) is hr.InvalidInputError
    assert error.code == "invalid_option"
    assert str(error) == message


@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://host", "http://", "http://[::1", "http://host:99999", ""]
)
def test_a_url_that_is_none(url: str) -> None:
    error = refused(lambda: OllamaEmbedder("m", base_url=url))
    assert type(error) is hr.InvalidInputError
    assert error.code == "invalid_endpoint"
    assert str(error) == 'base_url must begin with "http://" or "https://" and name a host'


def test_a_url_with_a_password() -> None:
    error = refused(lambda: OllamaEmbedder("m", base_url=f"http://me:{KEY}@host"))
    assert error.code == "invalid_endpoint"
    assert str(error) == (
        "base_url holds a user name or a password; leave them out and pass api_key"
    )


def test_texts_are_checked_before_anything_is_sent(server: LocalServer) -> None:
    embedder = openai(server)
    error = refused(lambda: embedder.embed(["oak", "winter \ud83d"]))
    assert error.code == "lone_surrogate"
    assert str(error) == (
        "texts[1] has half of a surrogate pair at character 7; decode its source as UTF-8 with "
        'errors="replace", or remove the character'
    )
    with pytest.raises(TypeError, match="texts must be a sequence of str, not one str"):
        embedder.embed("oak")
    with pytest.raises(TypeError, match=r"texts\[0\] must be a str, not int"):
        embedder.embed([3])  # type: ignore[list-item]
    assert server.requests == []


# Connections


def test_threads_may_share_one(server: LocalServer) -> None:
    with openai(server) as embedder, ThreadPoolExecutor(8) as pool:
        texts = [f"{'x' * number}" for number in range(1, 41)]
        answers = pool.map(lambda text: rows(embedder.embed([text])), texts)
        assert list(answers) == [[vector_of(text)] for text in texts]


def test_threads_that_begin_together_make_one_client(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class SlowClient(httpx.Client):
        def __init__(self, **options: Any) -> None:
            made.append(self)
            time.sleep(0.1)  # so that the other threads come while this one is made
            super().__init__(**options)

    monkeypatch.setattr(httpx, "Client", SlowClient)
    with openai(server) as embedder, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: embedder.embed(["oak"]), range(8)))
    assert len(made) == 1
    assert made[0].is_closed


def test_closed_is_closed(server: LocalServer) -> None:
    embedder = openai(server)
    embedder.embed(["oak"])
    embedder.close()
    embedder.close()
    error = refused(lambda: embedder.embed(["oak"]))
    assert error.code == "endpoint_closed"
    assert str(error) == (f"the connection to {server.url}/v1/embeddings is closed; make another")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="warns of a fork beside threads")
def test_a_forked_child_has_a_connection_of_its_own(server: LocalServer) -> None:
    embedder = openai(server)
    embedder.embed(["oak"])
    before = embedder._endpoint._connections._client
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        same = rows(embedder.embed(["elm"])) == [vector_of("elm")]
        os._exit(0 if same and embedder._endpoint._connections._client is not before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert rows(embedder.embed(["oak"])) == [vector_of("oak")]


# asyncio


def test_event_loops_of_other_threads_come_and_go(server: LocalServer) -> None:
    server.answer = openai_answer
    embedder = AsyncOpenAIEmbedder("m", base_url=f"{server.url}/v1")
    clients: Any = embedder._endpoint._connections._clients
    clients[Gone(clients)] = None

    async def run() -> None:
        async with embedder:
            assert rows(await embedder.embed(["a"])) == [vector_of("a")]

    asyncio.run(run())
    assert not any(isinstance(loop, Gone) for loop in clients)


@pytest.mark.usefixtures("no_waiting")
def test_async_embedders_do_the_same(server: LocalServer) -> None:
    async def run() -> None:
        server.answer = openai_answer
        server.replies = [Reply({}, 500), Reply({}, 429, {"Retry-After": "0"})]
        async with AsyncOpenAIEmbedder("m", base_url=f"{server.url}/v1") as embedder:
            assert rows(await embedder.embed(["a", "", "bb"])) == [
                vector_of("a"),
                [],
                vector_of("bb"),
            ]
            server.answer = lambda _: Reply({"error": "no"}, 403)
            with pytest.raises(hr.HedgerowError) as raised:
                await embedder.embed(["a"])
        assert str(raised.value) == (
            f"{server.url}/v1/embeddings answered 403 Forbidden (no); check the API key and its "
            "permissions"
        )
        with pytest.raises(hr.HedgerowError, match="is closed; make another"):
            await embedder.embed(["a"])

    asyncio.run(run())
    assert len(server.requests) == 4


def test_an_async_embedder_goes_from_loop_to_loop(server: LocalServer) -> None:
    server.answer = ollama_answer
    embedder = AsyncOllamaEmbedder("m", base_url=server.url)

    async def run() -> None:
        both = await asyncio.gather(embedder.embed(["a"]), embedder.embed(["bb"]))
        assert [rows(answer) for answer in both] == [[vector_of("a")], [vector_of("bb")]]
        await embedder._endpoint._connections._of_loop(server.url).aclose()

    asyncio.run(run())
    asyncio.run(run())
    assert len(embedder._endpoint._connections._clients) == 1, (
        "those of loops that are closed are let go"
    )
    again = pickle.loads(pickle.dumps(embedder))
    assert repr(again) == repr(embedder)


def test_it_can_be_cancelled(server: LocalServer) -> None:
    async def run() -> None:
        async with AsyncOllamaEmbedder("m", base_url=server.url) as embedder:
            server.replies = [Reply(held=True)]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(embedder.embed(["oak"]), 0.1)

    asyncio.run(run())


def test_the_server_of_these_tests_reads_what_was_sent(server: LocalServer) -> None:
    openai(server).embed(["\u2028x"])
    assert json.dumps(server.bodies[0]["input"]) == '["\\u2028x"]'
