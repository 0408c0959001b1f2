"""Model clients: the scripted ones for tests, and the HTTP client against a local server."""

from __future__ import annotations

import pickle
import sys
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import hedgerow as hr
from agents_doubles import chat_completion
from hedgerow.agents import (
    FailingModel,
    ModelClient,
    ModelError,
    ModelPermanent,
    ModelReply,
    ModelRequest,
    ModelTransient,
    OpenAIModel,
    ScriptedModel,
)
from local_server import LocalServer, Reply, nobody_there
from waiting import until

KEY = "sk-hedge-0123456789"
REQUEST = ModelRequest("sonnet", "Be brief.", "Link these.")


def client(server: LocalServer, *replies: Reply, **options: Any) -> OpenAIModel:
    server.replies = list(replies)
    return server.closes(OpenAIModel(f"{server.url}/v1", **options))


def fails(call: Callable[[], object]) -> hr.HedgerowError:
    with pytest.raises(hr.HedgerowError) as raised:
        call()
    return raised.value


class TestScripts:
    def test_answers_come_in_their_order(self) -> None:
        reply = ModelReply("three", 1, 2, "stop")
        model: ModelClient = ScriptedModel(
            ["one", lambda request: request.prompt.upper(), reply, ValueError("four")]
        )
        assert model.complete(REQUEST) == ModelReply("one")
        assert model.complete(REQUEST).text == "LINK THESE."
        assert model.complete(REQUEST) is reply
        with pytest.raises(ValueError, match="four"):
            model.complete(REQUEST)
        error = fails(lambda: model.complete(REQUEST))
        assert type(error) is ModelPermanent
        assert (error.code, error.message) == (
            "model_permanent",
            "the script has 4 replies and this is request 5; give ScriptedModel more",
        )

    def test_requests_are_kept(self) -> None:
        model = ScriptedModel(["one"])
        model.complete(REQUEST)
        assert model.requests == [REQUEST]

    def test_a_failure(self) -> None:
        model = FailingModel()
        error = fails(lambda: model.complete(REQUEST))
        assert type(error) is ModelTransient
        assert (error.code, error.message) == (
            "model_transient",
            "the model fails on purpose",
        )
        assert model.requests == [REQUEST]
        with pytest.raises(KeyError):
            FailingModel(KeyError("x")).complete(REQUEST)

    def test_errors_pickle(self) -> None:
        for kind in (ModelTransient, ModelPermanent):
            error = pickle.loads(pickle.dumps(kind("busy", code="endpoint_refused")))
            assert (type(error), error.message, error.code) == (kind, "busy", "endpoint_refused")
            assert issubclass(kind, ModelError)


def test_what_a_server_is_sent(server: LocalServer) -> None:
    model = client(server, chat_completion(), chat_completion(), api_key=KEY, fields={"top_p": 0.5})
    model.complete(ModelRequest("sonnet", "Be brief.", "høst 🍂", max_tokens=9, temperature=0.0))
    model.complete(ModelRequest("opus", "", "Link."))
    first, second = server.requests
    assert first.path == "/v1/chat/completions"
    assert first.headers["Authorization"] == f"Bearer {KEY}"
    assert first.body == {
        "model": "sonnet",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "høst 🍂"},
        ],
        "max_tokens": 9,
        "temperature": 0.0,
        "top_p": 0.5,
    }
    assert second.body == {
        "model": "opus",
        "messages": [{"role": "user", "content": "Link."}],
        "top_p": 0.5,
    }


def test_what_a_server_answers(server: LocalServer) -> None:
    bare = {"choices": [{"message": {"content": "b"}}]}
    model = client(
        server,
        chat_completion("a"),
        Reply(bare),
        chat_completion("c", usage={"prompt_tokens": True}),
        chat_completion("c", usage={"prompt_tokens": -1, "completion_tokens": 2**63}),
    )
    assert model.complete(REQUEST) == ModelReply("a", 12, 5, "stop")
    assert model.complete(REQUEST) == ModelReply("b")
    for _ in range(2):
        assert model.complete(REQUEST) == ModelReply("c", stop_reason="stop")


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"choices": []},
        {"choices": {}},
        {"choices": ["a"]},
        {"choices": [{"message": None}]},
        {"choices": [{"text": "a"}]},
    ],
)
def test_an_answer_without_a_message_is_for_good(server: LocalServer, body: Any) -> None:
    model = client(server, Reply(body))
    error = fails(lambda: model.complete(REQUEST))
    assert type(error) is ModelPermanent
    assert (error.code, error.message) == (
        "bad_answer",
        f"{server.url}/v1/chat/completions answered without a message; check base_url and the model",
    )


@pytest.mark.parametrize("text", [None, "", " \n", ["a"]])
def test_an_answer_without_text_may_pass(server: LocalServer, text: Any) -> None:
    model = client(server, chat_completion(text))
    error = fails(lambda: model.complete(REQUEST))
    assert type(error) is ModelTransient
    assert (error.code, error.message) == (
        "bad_answer",
        f"{server.url}/v1/chat/completions answered without text (stop reason 'stop'); look "
        "into the log of the server",
    )


def test_an_answer_that_is_no_json_is_for_good(server: LocalServer) -> None:
    model = client(server, Reply(b"<html>"))
    error = fails(lambda: model.complete(REQUEST))
    assert (type(error), error.code) == (ModelPermanent, "bad_answer")
    assert error.message.endswith("answered with something that is not JSON; check base_url")


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 413, 422, 431])
def test_a_refusal_is_for_good_and_not_tried_again(server: LocalServer, status: int) -> None:
    model = client(server, Reply({"error": {"message": "no such model"}}, status))
    error = fails(lambda: model.complete(REQUEST))
    assert (type(error), error.code) == (ModelPermanent, "endpoint_refused")
    assert f"answered {status}" in error.message
    assert "(no such model)" in error.message
    assert len(server.requests) == 1


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_busy_server_is_asked_again(server: LocalServer, status: int) -> None:
    busy = Reply({"error": "busy"}, status)
    model = client(server, busy, busy, chat_completion("at last"))
    assert model.complete(REQUEST).text == "at last"
    server.replies = [busy] * 3
    error = fails(lambda: model.complete(REQUEST))
    assert (type(error), error.code) == (ModelTransient, "endpoint_refused")
    assert error.message.endswith("(tried 3 times)")
    assert len(server.requests) == 6


@pytest.mark.parametrize("status", [408, 409, 425])
def test_what_may_pass_later_is_left_to_the_next_run(server: LocalServer, status: int) -> None:
    model = client(server, Reply({}, status))
    assert type(fails(lambda: model.complete(REQUEST))) is ModelTransient
    assert len(server.requests) == 1


def test_a_slow_server_has_the_time_of_the_request(server: LocalServer) -> None:
    model = client(server, Reply(held=True))
    error = fails(lambda: model.complete(ModelRequest("m", "", "p", timeout_s=0.1)))
    assert (type(error), error.code) == (ModelTransient, "endpoint_unreachable")
    assert error.message == (
        f"{server.url}/v1/chat/completions did not answer within 0.1 s; raise timeout, or send less"
    )
    until(lambda: server.requests)
    assert len(server.requests) == 1


def test_all_tries_together_have_the_time_of_the_request(server: LocalServer) -> None:
    busy = Reply({}, 503, {"Retry-After": "30"})
    model = client(server, busy, busy, chat_completion(), retries=9)
    error = fails(lambda: model.complete(ModelRequest("m", "", "p", timeout_s=29)))
    assert type(error) is ModelTransient
    assert len(server.requests) == 1


@pytest.mark.usefixtures("no_waiting")
def test_a_later_try_has_what_is_left_of_the_time(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    timeouts = []
    build = httpx.Client.build_request

    def built(*args: Any, timeout: float, **more: Any) -> Any:
        nonlocal now
        timeouts.append(timeout)
        now += 99.5
        return build(*args, timeout=timeout, **more)

    monkeypatch.setattr("hedgerow._adapters.http.monotonic", lambda: now)
    monkeypatch.setattr(httpx.Client, "build_request", built)
    model = client(server, Reply({}, 503), Reply(held=True))
    error = fails(lambda: model.complete(ModelRequest("m", "", "p", timeout_s=100)))
    assert timeouts == [100, 0.5]
    assert "did not answer within 100 s" in error.message
    until(lambda: len(server.requests) == 2)


@pytest.mark.usefixtures("no_waiting")
def test_no_server_may_pass() -> None:
    with nobody_there() as url, OpenAIModel(url, retries=1) as model:
        error = fails(lambda: model.complete(REQUEST))
    assert (type(error), error.code) == (ModelTransient, "endpoint_unreachable")
    assert error.message.startswith(f"{url}/chat/completions could not be reached (ConnectError")
    assert error.message.endswith("(tried 2 times)")


class TestKeys:
    def test_it_comes_from_the_environment_at_each_request(
        self, server: LocalServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GARDEN_KEY", "first")
        model = client(server, chat_completion(), chat_completion(), api_key_variable="GARDEN_KEY")
        model.complete(REQUEST)
        monkeypatch.setenv("GARDEN_KEY", "second")
        model.complete(REQUEST)
        sent = [request.headers["Authorization"] for request in server.requests]
        assert sent == ["Bearer first", "Bearer second"]
        monkeypatch.delenv("GARDEN_KEY")
        error = fails(lambda: model.complete(REQUEST))
        assert (type(error), error.code) == (ModelPermanent, "missing_api_key")
        assert "GARDEN_KEY holds no key" in error.message

    def test_openais_own_is_for_openai_alone(
        self, server: LocalServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        client(server, chat_completion()).complete(REQUEST)
        assert "Authorization" not in server.requests[0].headers
        OpenAIModel().close()
        monkeypatch.delenv("OPENAI_API_KEY")
        assert fails(OpenAIModel).code == "missing_api_key"

    def test_it_is_never_shown(self, server: LocalServer) -> None:
        model = client(server, Reply({"error": f"bad key {KEY}"}, 401), api_key=KEY)
        error = fails(lambda: model.complete(REQUEST))
        assert "bad key ***" in error.message
        with_locals = traceback.TracebackException.from_exception(error, capture_locals=True)
        assert KEY not in "".join(with_locals.format())
        assert KEY not in repr(model)
        assert KEY.encode() not in pickle.dumps(model)


def test_a_copy_from_a_pickle_works(server: LocalServer) -> None:
    copy = server.closes(pickle.loads(pickle.dumps(client(server, chat_completion()))))
    assert copy.complete(REQUEST).text == "LINK a b"
    assert repr(copy) == f"OpenAIModel(url='{server.url}/v1/chat/completions')"


def test_a_closed_client_says_so(server: LocalServer) -> None:
    model = client(server)
    model.close()
    error = fails(lambda: model.complete(REQUEST))
    assert (type(error), error.code) == (ModelPermanent, "endpoint_closed")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"base_url": "ftp://x"}, "invalid_endpoint"),
        ({"base_url": "http://x", "retries": -1}, "invalid_option"),
        ({"base_url": "http://x", "api_key": "a", "api_key_variable": "B"}, "incompatible_options"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], code: str) -> None:
    assert fails(lambda: OpenAIModel(**options)).code == code


def test_the_extra_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("httpx", "hedgerow._adapters.http"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "httpx", None)
    error = fails(lambda: OpenAIModel("http://x"))
    assert type(error) is hr.MissingExtraError
    assert error.message.endswith('run: pip install "hedgerow[openai]"')
