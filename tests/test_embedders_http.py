"""The embedders over HTTP, against a real server on this machine."""

from __future__ import annotations

import asyncio
import json
import math
import os
import pickle
import socket
import sys
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from itertools import pairwise
from time import monotonic, time
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.embedders import (
    AsyncOllamaEmbedder,
    AsyncOpenAIEmbedder,
    OllamaEmbedder,
    OpenAIEmbedder,
)
from local_server import LocalServer, Reply, Request

KEY = "sk-hedge-0123456789"


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.5]


def openai_answer(request: Request) -> Reply:
    """As OpenAI documents it, but in another order, which `index` puts right."""
    data = [
        {"object": "embedding", "index": index, "embedding": vector_of(text)}
        for index, text in enumerate(request.body["input"])
    ]
    return Reply({"object": "list", "data": data[::-1], "model": request.body["model"]})


def ollama_answer(request: Request) -> Reply:
    return Reply({"embeddings": [vector_of(text) for text in request.body["input"]]})


def openai(server: LocalServer, **options: Any) -> OpenAIEmbedder:
    server.answer = openai_answer
    return server.closes(OpenAIEmbedder("small", base_url=f"{server.url}/v1", **options))


def ollama(server: LocalServer, **options: Any) -> OllamaEmbedder:
    server.answer = ollama_answer
    return server.closes(OllamaEmbedder("small", base_url=server.url, **options))


def refused(call: Callable[[], object]) -> hr.HedgerowError:
    with pytest.raises(hr.HedgerowError) as raised:
        call()
    return raised.value


def rows(embeddings: Any) -> list[list[float]]:
    return [list(row) for row in embeddings]


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


# Names and keys


def test_names(server: LocalServer) -> None:
    assert openai(server).name == "small"
    assert openai(server, name="small, 3 dimensions").name == "small, 3 dimensions"
    assert ollama(server).name == "small"


def test_openais_own_variable_is_for_openai_alone(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    openai(server).embed(["oak"])
    assert "Authorization" not in server.requests[0].headers
    OpenAIEmbedder("small").close()
    monkeypatch.delenv("OPENAI_API_KEY")
    error = refused(lambda: OpenAIEmbedder("small"))
    assert error.code == "missing_api_key"
    assert str(error) == (
        "the environment variable OPENAI_API_KEY holds no key; set it, or pass api_key"
    )


def test_a_named_variable_is_read_at_each_request(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GARDEN_KEY", "first\n")
    embedder = openai(server, api_key_variable="GARDEN_KEY")
    embedder.embed(["oak"])
    monkeypatch.setenv("GARDEN_KEY", "second")
    embedder.embed(["oak"])
    sent = [request.headers["Authorization"] for request in server.requests]
    assert sent == ["Bearer first", "Bearer second"]
    monkeypatch.delenv("GARDEN_KEY")
    assert refused(lambda: embedder.embed(["oak"])).code == "missing_api_key"


@pytest.mark.parametrize("key", ["", "two words", "line\n", "clé"])
def test_a_key_that_no_header_can_hold(server: LocalServer, key: str) -> None:
    error = refused(lambda: openai(server, api_key=key))
    assert type(error) is hr.InvalidInputError
    assert error.code == "invalid_api_key"
    assert str(error) == (
        "api_key is empty, or holds a space, a line end or another character that no key has; "
        "copy the key again"
    )


def test_one_key_is_enough(server: LocalServer) -> None:
    error = refused(lambda: openai(server, api_key=KEY, api_key_variable="GARDEN_KEY"))
    assert error.code == "incompatible_options"
    assert str(error) == ("api_key and api_key_variable exclude each other; pass one of them")


def shown_by(error: BaseException) -> str:
    """All that a tool shows that prints chained errors with the locals of our and others' code."""
    shown = ""
    pending: list[BaseException | None] = [error]
    while pending:
        raised = pending.pop()
        if raised is None:
            continue
        pending += [raised.__cause__, raised.__context__]
        shown += f"{raised!r} {raised.args!r}"
        trace = raised.__traceback__
        while trace:
            if trace.tb_frame.f_globals["__name__"] != __name__:
                shown += repr(trace.tb_frame.f_locals)
            trace = trace.tb_next
    return shown


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    "reply",
    [
        Reply({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401),
        Reply(f"no such key: {KEY}".encode(), 500, {"Content-Type": "text/plain"}),
        Reply(hang_up=True),
        Reply(wait=1.0),
        Reply(b"{"),
        Reply({"data": KEY}),
    ],
)
def test_no_failure_shows_the_key(server: LocalServer, reply: Reply) -> None:
    embedder = openai(server, api_key=KEY, retries=1, timeout=0.3)
    server.answer = lambda _: reply
    error = refused(lambda: embedder.embed(["oak"]))
    assert error.__cause__ is None
    assert error.__context__ is None
    assert server.url in shown_by(error)
    assert KEY not in shown_by(error)
    assert KEY not in shown_by(refused(lambda: asyncio.run(ask_async(server, reply))))


async def ask_async(server: LocalServer, reply: Reply) -> None:
    server.answer = lambda _: reply
    url = f"{server.url}/v1"
    async with AsyncOpenAIEmbedder(
        "m", base_url=url, api_key=KEY, retries=0, timeout=0.3
    ) as embedder:
        await embedder.embed(["oak"])


def test_neither_repr_nor_pickle_has_the_key(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = openai(server, api_key=KEY)
    assert repr(given) == f"OpenAIEmbedder('small', url='{server.url}/v1/embeddings')"
    assert KEY not in repr(vars(given)) + repr(vars(given._endpoint))
    assert KEY.encode() not in pickle.dumps(given)
    error = refused(lambda: pickle.loads(pickle.dumps(given)).embed(["oak"]))
    assert error.code == "missing_api_key"
    assert str(error) == (
        "the key is not pickled and this copy has none; name the environment variable that holds "
        "it with api_key_variable"
    )

    monkeypatch.setenv("GARDEN_KEY", KEY)
    from_variable = openai(server, api_key_variable="GARDEN_KEY")
    assert KEY.encode() not in pickle.dumps(from_variable)
    again = server.closes(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(from_variable)))))
    assert rows(again.embed(["oak"])) == [vector_of("oak")]
    assert server.requests[-1].headers["Authorization"] == f"Bearer {KEY}"
    keyless = server.closes(pickle.loads(pickle.dumps(openai(server))))
    assert rows(keyless.embed(["oak"])) == [vector_of("oak")]


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


# Tries


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    "reply",
    [
        Reply({"error": "busy"}, 429),
        Reply({"error": "busy"}, 429, {"Retry-After": "0"}),
        Reply(b"<html>", 500, {"Content-Type": "text/html"}),
        Reply(b"", 503, {"Retry-After": "soon"}),
        Reply(hang_up=True),
    ],
)
def test_what_may_pass_is_tried_again(server: LocalServer, reply: Reply) -> None:
    server.replies = [reply, reply]
    assert rows(openai(server).embed(["oak"])) == [vector_of("oak")]
    assert len(server.requests) == 3
    assert server.bodies[0] == server.bodies[2]


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("retry_after", ["1", "date"])
def test_a_wait_that_the_server_asks_for_is_waited(server: LocalServer, retry_after: str) -> None:
    # A date has whole seconds: the wait is between one and two.
    header = formatdate(time() + 2, usegmt=True) if retry_after == "date" else retry_after
    server.replies = [Reply({}, 429, {"Retry-After": header})]
    openai(server).embed(["oak"])
    first, second = (request.at for request in server.requests)
    assert 0.9 < second - first < 2.5


def test_waits_grow(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow._endpoint.FIRST_WAIT", 0.1)
    server.replies = [Reply({}, 500)] * 3
    openai(server, retries=3).embed(["oak"])
    waits = [second.at - first.at for first, second in pairwise(server.requests)]
    assert all(
        least <= wait < least + 0.4 for least, wait in zip((0.1, 0.2, 0.4), waits, strict=True)
    )


def test_a_server_that_asks_for_too_long_is_not_waited_for(server: LocalServer) -> None:
    embedder = openai(server)
    server.answer = lambda _: Reply({"error": "quota"}, 429, {"Retry-After": "3600"})
    error = refused(lambda: embedder.embed(["oak"]))
    assert error.code == "endpoint_refused"
    assert str(error) == (
        f"{server.url}/v1/embeddings answered 429 Too Many Requests (quota) and asks to wait "
        "3600 s; send less, or raise retries"
    )
    assert len(server.requests) == 1


def test_a_timeout_is_not_tried_again(server: LocalServer) -> None:
    embedder = openai(server, timeout=0.2)
    server.replies = [Reply(wait=1.0)]
    start = monotonic()
    error = refused(lambda: embedder.embed(["oak"]))
    assert monotonic() - start < 0.9
    assert error.code == "endpoint_unreachable"
    assert str(error) == (
        f"{server.url}/v1/embeddings did not answer within 0.2 s; raise timeout, or send less"
    )
    assert len(server.requests) == 1


@pytest.mark.usefixtures("no_waiting")
def test_nobody_there() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        error = refused(lambda: OllamaEmbedder("m", base_url=url).embed(["oak"]))
    assert error.code == "endpoint_unreachable"
    assert str(error).startswith(f"{url}/api/embed could not be reached (ConnectError: ")
    assert str(error).endswith("); check that the server runs there (tried 3 times)")


# Answers


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            Reply({"error": 'model "small" not found, try pulling it first'}, 404),
            'answered 404 Not Found (model "small" not found, try pulling it first); check '
            "base_url and the model",
        ),
        (
            Reply({"error": {"message": "no\n  such\x07 key", "type": "auth"}}, 401),
            "answered 401 Unauthorized (no such key); check the API key",
        ),
        (
            Reply({"detail": [{"loc": "input"}]}, 422),
            "answered 422 Unprocessable Entity; check the model and the options, or lower "
            "batch_size",
        ),
        (
            Reply(b"<html>a page</html>", 418, {"Content-Type": "text/html"}),
            "answered 418 I'm a Teapot; look into the log of the server",
        ),
        (
            Reply(b"x" * 400, 400, {"Content-Type": "text/plain"}),
            f"answered 400 Bad Request ({'x' * 300}…); check the model and the options",
        ),
        (
            Reply(b"", 301, {"Location": "http://elsewhere/"}),
            "answered 301 Moved Permanently; redirects are not followed, so set base_url to "
            "where it moved",
        ),
        (
            Reply({"message": "out of memory"}, 500),
            "answered 500 Internal Server Error (out of memory); look into the log of the server "
            "(tried 3 times)",
        ),
    ],
)
def test_refusals(server: LocalServer, reply: Reply, message: str) -> None:
    embedder = openai(server)
    server.answer = lambda _: reply
    error = refused(lambda: embedder.embed(["oak"]))
    assert type(error) is hr.HedgerowError
    assert error.code == "endpoint_refused"
    # The reason phrases of a few statuses differ between versions of Python.
    said = str(error).replace("Unprocessable Content", "Unprocessable Entity")
    assert said.lower() == f"{server.url}/v1/embeddings {message}".lower()


FITS = "; check that it serves a model of this kind"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "answered with something that is not JSON; check base_url"),
        (b"[" * 100_000, "answered with something that is not JSON; check base_url"),
        (b"\xff", "answered with something that is not JSON; check base_url"),
        ([], "answered without a list of embeddings" + FITS),
        ({"embeddings": None}, "answered without a list of embeddings" + FITS),
        ({"embeddings": [[1]]}, "answered with 1 embeddings for 2 texts" + FITS),
        (
            {"embeddings": [[1], ["1"]]},
            "answered with something other than a list of numbers for texts[2]" + FITS,
        ),
        (
            {"embeddings": [[1], [None]]},
            "answered with something other than a list of numbers for texts[2]" + FITS,
        ),
        (
            {"embeddings": [1, 2]},
            "answered with something other than a list of numbers for texts[0]" + FITS,
        ),
        ({"embeddings": [[], []]}, "answered with an empty embedding for texts[0]" + FITS),
        (
            {"embeddings": [[1.0, 2.0], [1.0]]},
            "answered with 1 dimensions for texts[2], and 2 for others" + FITS,
        ),
        (
            {"embeddings": [[1], [math.nan]]},
            "answered with a number that is not finite for texts[2]" + FITS,
        ),
        (
            {"embeddings": [[1], [1e300]]},
            "answered with a number that is not finite for texts[2]" + FITS,
        ),
    ],
)
def test_answers_that_do_not_fit(server: LocalServer, body: Any, message: str) -> None:
    server.replies = [Reply(body)]
    error = refused(lambda: ollama(server).embed(["oak", "", "elm"]))
    assert type(error) is hr.HedgerowError
    assert error.code == "bad_answer"
    assert str(error) == f"{server.url}/api/embed {message}"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "data",
    [
        "text",
        [1, 2],
        [{"embedding": [1], "index": 0}, {"embedding": [1], "index": 0}],
        [{"embedding": [1], "index": 1}, {"embedding": [1], "index": 2}],
    ],
)
def test_openai_answers_that_do_not_fit(server: LocalServer, data: Any) -> None:
    server.replies = [Reply({"data": data})]
    error = refused(lambda: openai(server).embed(["a", "b"]))
    assert error.code == "bad_answer"
    assert "answered without a list of embeddings; check" in str(error)


def test_dimensions_that_change_from_batch_to_batch(server: LocalServer) -> None:
    server.replies = [Reply({"embeddings": [[1, 2]]}), Reply({"embeddings": [[1, 2, 3]]})]
    error = refused(lambda: ollama(server, batch_size=1).embed(["a", "b"]))
    assert "answered with 3 dimensions for texts[1], and 2 for others" in str(error)


# Connections


def test_threads_may_share_one(server: LocalServer) -> None:
    with openai(server) as embedder, ThreadPoolExecutor(8) as pool:
        texts = [f"{'x' * number}" for number in range(1, 41)]
        answers = pool.map(lambda text: rows(embedder.embed([text])), texts)
        assert list(answers) == [[vector_of(text)] for text in texts]


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
    before = embedder._endpoint._client
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        same = rows(embedder.embed(["elm"])) == [vector_of("elm")]
        os._exit(0 if same and embedder._endpoint._client is not before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert rows(embedder.embed(["oak"])) == [vector_of("oak")]


# asyncio


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
            f"{server.url}/v1/embeddings answered 403 Forbidden (no); check the API key and what "
            "it may do"
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
        await embedder._endpoint._client().aclose()

    asyncio.run(run())
    asyncio.run(run())
    assert len(embedder._endpoint._clients) == 1, "those of loops that are closed are let go"
    again = pickle.loads(pickle.dumps(embedder))
    assert repr(again) == repr(embedder)


def test_it_can_be_cancelled(server: LocalServer) -> None:
    async def run() -> None:
        async with AsyncOllamaEmbedder("m", base_url=server.url) as embedder:
            server.replies = [Reply(wait=1.0)]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(embedder.embed(["oak"]), 0.1)

    asyncio.run(run())


def test_the_server_of_these_tests_reads_what_was_sent(server: LocalServer) -> None:
    openai(server).embed(["\u2028x"])
    assert json.dumps(server.bodies[0]["input"]) == '["\\u2028x"]'
