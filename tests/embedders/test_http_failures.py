"""Retries and errors of HTTP embedders."""

from __future__ import annotations

import asyncio
import gzip
import math
from email.utils import formatdate
from pathlib import Path
from time import time
from types import SimpleNamespace
from typing import Any

import pytest

import hedgerow as hr
from embedder_servers import (
    ollama,
    ollama_answer,
    openai,
    refused,
    rows,
    vector_of,
)
from hedgerow._adapters.http import certificates
from hedgerow.embedders import (
    AsyncOllamaEmbedder,
    OllamaEmbedder,
)
from local_server import LocalServer, Reply, nobody_there
from waiting import until

# Retries


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds between retries, which are recorded instead of waited."""
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=waited.append))
    return waited


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
def test_a_wait_that_the_server_asks_for_is_waited(
    server: LocalServer, waits: list[float], retry_after: str
) -> None:
    header = formatdate(time() + 25, usegmt=True) if retry_after == "date" else retry_after
    server.replies = [Reply({}, 429, {"Retry-After": header})]
    openai(server).embed(["oak"])
    [wait] = waits
    if retry_after == "date":
        # A date has whole seconds, and some time passes before it is read.
        assert 0 < wait <= 25
    else:
        assert wait == 1


def test_waits_grow(server: LocalServer, waits: list[float]) -> None:
    server.replies = [Reply({}, 500)] * 3
    openai(server, retries=3).embed(["oak"])
    assert all(least <= wait <= least + 0.5 for least, wait in zip((0.5, 1, 2), waits, strict=True))


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
    server.replies = [Reply(held=True)]
    error = refused(lambda: embedder.embed(["oak"]))
    assert error.code == "endpoint_unreachable"
    assert str(error) == (
        f"{server.url}/v1/embeddings did not answer within 0.2 s; raise timeout, or send less"
    )
    until(lambda: server.requests)
    assert len(server.requests) == 1


@pytest.mark.usefixtures("no_waiting")
def test_nobody_there() -> None:
    with nobody_there() as url:
        error = refused(lambda: OllamaEmbedder("m", base_url=url).embed(["oak"]))
    assert error.code == "endpoint_unreachable"
    assert str(error).startswith(f"{url}/api/embed could not be reached (ConnectError: ")
    assert str(error).endswith("); check that the server runs there (tried 3 times)")


# Responses


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
            "answered 418 I'm a Teapot; see the log of the server",
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
            "answered 500 Internal Server Error (out of memory); see the log of the server "
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
    # The reason phrases of some statuses differ between versions of Python.
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


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_is_too_large_is_not_read(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr("hedgerow._adapters.http.LARGEST_ANSWER", 1_000)
    # The compressed response is smaller than the limit.
    large = Reply(gzip.compress(b" " * 1_001), status, {"Content-Encoding": "gzip"})
    server.replies = [large, large]
    waiting = AsyncOllamaEmbedder("m", base_url=server.url)
    for embed in (
        lambda: ollama(server).embed(["oak"]),
        lambda: asyncio.run(waiting.embed(["oak"])),
    ):
        error = refused(embed)
        assert error.code == "bad_answer"
        said = "answered with more than 1,000 bytes; check base_url, or send less"
        assert str(error) == f"{server.url}/api/embed {said}"
    assert len(server.requests) == 2


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


# Certificates


@pytest.fixture
def no_certificates(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Forget the certificates that were read before."""
    certificates.cache_clear()
    return monkeypatch.setenv


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_plain_http_reads_no_certificates(
    server: LocalServer, no_certificates: Any, variable: str
) -> None:
    no_certificates(variable, "/nonexistent/cacert.pem")
    assert rows(openai(server).embed(["oak"])) == [vector_of("oak")]
    server.answer = ollama_answer

    async def embedded() -> Any:
        embedder = AsyncOllamaEmbedder("m", base_url=server.url)
        try:
            return await embedder.embed(["oak"])
        finally:
            await embedder.aclose()

    assert rows(asyncio.run(embedded())) == [vector_of("oak")]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_variable_without_certificates_is_named(
    tmp_path: Path, no_certificates: Any, *, is_there: bool
) -> None:
    file = tmp_path / "cacert.pem"
    embedder = OllamaEmbedder("m", base_url="https://127.0.0.1:9")
    if is_there:
        file.write_text("not PEM")
    no_certificates("SSL_CERT_FILE", str(file))
    with pytest.raises(hr.HedgerowError, match="correct or unset SSL_CERT_FILE") as raised:
        embedder.embed(["oak"])
    embedder.close()
    assert raised.value.code == "invalid_endpoint"
    assert f"the certificates of SSL_CERT_FILE={file} cannot be read" in str(raised.value)
