"""The choice of key and name of HTTP embedders. No failure shows a key."""

from __future__ import annotations

import asyncio
import pickle

import pytest

import hedgerow as hr
from embedder_servers import (
    KEY,
    ollama,
    openai,
    refused,
    rows,
    vector_of,
)
from hedgerow.embedders import (
    AsyncOpenAIEmbedder,
    OpenAIEmbedder,
)
from local_server import LocalServer, Reply


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
    """Return everything that a tool could print of chained errors, including local variables."""
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
        Reply(held=True),
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
