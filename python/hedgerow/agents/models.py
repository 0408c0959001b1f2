"""Language models: their interface, calling one with a deadline, and a client over HTTP (spec/agents.md, "Models")."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

from hedgerow._adapters.connection import ApiKey, Connected
from hedgerow._checks import listed
from hedgerow._extras import imports_of
from hedgerow.errors import HedgerowError


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model.

    `model` is its name in the definition, `system` the system prompt and `prompt` the user prompt.
    `max_tokens` and `temperature` default to those of the client; `timeout_s` is in seconds.
    `metadata` identifies the caller, for logs.
    """

    model: str
    system: str
    prompt: str
    max_tokens: int | None = None
    temperature: float | None = None
    timeout_s: float = 120.0
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The reply of a model: its text and, if known, token counts and why it stopped.

    `stop_reason` is `stop` if the model finished and `length` if it was cut off; clients may use
    other words.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    stop_reason: str | None = None


class ModelClient(Protocol):
    """Answers prompts. Each run calls it from one thread at a time."""

    def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer the request, within `request.timeout_s` seconds.

        Raises ModelTransient if trying again later may help, ModelPermanent if it will not.
        """


class ModelError(HedgerowError):
    """A model did not answer."""


class ModelTransient(ModelError):  # noqa: N818 - named by the specification
    """A model did not answer this time; the agent tries again later."""

    def __init__(self, message: str, *, code: str = "model_transient") -> None:
        super().__init__(message, code=code)


class ModelPermanent(ModelError):  # noqa: N818 - named by the specification
    """A model will not answer until something is changed; the agent is paused."""

    def __init__(self, message: str, *, code: str = "model_permanent") -> None:
        super().__init__(message, code=code)


Scripted = str | ModelReply | Exception | Callable[[ModelRequest], str | ModelReply]


class ScriptedModel:
    """A client for tests that returns the given replies in turn.

    A reply is a string, a ModelReply, an exception to raise, or a function of the request.
    `requests` has every request so far. After the last reply it raises ModelPermanent.
    """

    def __init__(self, replies: Iterable[Scripted]) -> None:
        self._replies = listed(replies)
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest, /) -> ModelReply:
        """Return the next reply, or raise it."""
        self.requests.append(request)
        if len(self.requests) > len(self._replies):
            raise ModelPermanent(
                f"the script has {len(self._replies)} replies and this is request "
                f"{len(self.requests)}; give ScriptedModel more"
            )
        reply: Any = self._replies[len(self.requests) - 1]
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            reply = reply(request)
        return reply if isinstance(reply, ModelReply) else ModelReply(reply)


class FailingModel:
    """A client for tests that raises the same error each time, by default ModelTransient."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = ModelTransient("the model fails on purpose") if error is None else error
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest, /) -> ModelReply:
        """Raise the error."""
        self.requests.append(request)
        raise self._error


CALL_MARGIN_S = 10.0
"""How long past its timeout a client may take before it is abandoned."""

STOP_GRACE_S = 5.0
"""How long a call may go on after a stop was requested."""

_MOMENT_S = 0.05


class RunStopped(Exception):  # noqa: N818 - not an error
    """A run was abandoned because a stop was requested."""


def ask(client: ModelClient, request: ModelRequest, stop: threading.Event) -> ModelReply:
    """Call a model on a separate thread, so that the call can be abandoned.

    Raises the errors of the client; ModelTransient if it takes CALL_MARGIN_S longer than its
    timeout, RunStopped if it takes STOP_GRACE_S longer than `stop`.
    """
    answers: queue.SimpleQueue[ModelReply | BaseException] = queue.SimpleQueue()

    def call() -> None:
        try:
            answers.put(client.complete(request))
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            answers.put(error)

    # A daemon thread: an abandoned call must not keep the process alive.
    threading.Thread(
        target=copy_context().run, args=(call,), name="hedgerow-model", daemon=True
    ).start()
    answer = _wait(answers, request.timeout_s + CALL_MARGIN_S, stop)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _wait(
    answers: queue.SimpleQueue[ModelReply | BaseException], limit_s: float, stop: threading.Event
) -> ModelReply | BaseException:
    end = time.monotonic() + limit_s
    stopping = False
    while True:
        try:
            return answers.get(timeout=_MOMENT_S)
        except queue.Empty:
            now = time.monotonic()
        if stop.is_set() and not stopping:
            stopping = True
            end = min(end, now + STOP_GRACE_S)
        if now >= end:
            if stopping:
                raise RunStopped
            raise ModelTransient(f"the model did not answer within {limit_s:g} s")


_OPENAI_URL = "https://api.openai.com/v1"
_TIMEOUT = 120.0
_LARGEST_COUNT = 2**63 - 1

# Client errors that may be temporary: the server did not refuse the request itself.
_RETRYABLE = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
}


class OpenAIModel(Connected):
    """A `ModelClient` for OpenAI's chat completions, or a server compatible with them.

    `base_url` ends before `/chat/completions`, as in `"http://localhost:8000/v1"`; the model is
    the one that a definition names. The key is `api_key`, or the value of the environment variable
    `api_key_variable` at each request; it defaults to OPENAI_API_KEY for OpenAI itself and to no
    key for other servers. `fields` are added to each request. After 429, 5xx and a broken
    connection there are up to `retries` more tries within the timeout of the request.

    Threads may share it; it pickles without the key. Raises MissingExtraError without the extra
    "openai", InvalidInputError for invalid options, HedgerowError (`missing_api_key`) if the
    variable is not set.
    """

    def __init__(
        self,
        base_url: str = _OPENAI_URL,
        *,
        api_key: str | None = None,
        api_key_variable: str | None = None,
        retries: int = 2,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        with imports_of("openai", needed_by=type(self).__name__):
            from hedgerow._adapters.http import Endpoint  # noqa: PLC0415 - needs the extra
        if base_url == _OPENAI_URL and api_key is None and api_key_variable is None:
            # For OpenAI only: no other server may see OpenAI's key.
            api_key_variable = "OPENAI_API_KEY"
        key = ApiKey(api_key, api_key_variable)
        self._fields = dict(fields or {})
        self._endpoint = Endpoint(
            base_url,
            "/chat/completions",
            key=key,
            timeout=_TIMEOUT,
            retries=retries,
            error=_model_error,
        )

    def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer the request.

        Raises ModelTransient if the server fails, is slow or busy, cannot be reached, or answers
        without text; ModelPermanent if it refuses, answers anything else, or the key is missing.
        """
        problem = None
        try:
            answer = self._endpoint.post(self._payload(request), within=request.timeout_s)
        except ModelError:
            raise
        except HedgerowError as error:
            problem = error
        if problem is not None:
            # Not from inside the `except`: its frames may hold the key.
            raise ModelPermanent(problem.message, code=problem.code)
        return self._read(answer)

    def _payload(self, request: ModelRequest) -> dict[str, Any]:
        messages = [{"role": "user", "content": request.prompt}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        options = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        given = {name: value for name, value in options.items() if value is not None}
        return {"model": request.model, "messages": messages, **given, **self._fields}

    def _read(self, answer: Any) -> ModelReply:
        try:
            choice = answer["choices"][0]
            content, stop_reason = choice["message"].get("content"), choice.get("finish_reason")
        except (AttributeError, IndexError, KeyError, TypeError):
            raise ModelPermanent(
                f"{self._endpoint.shown} answered without a message; check base_url and the model",
                code="bad_answer",
            ) from None
        if not isinstance(content, str) or not content.strip():
            raise ModelTransient(
                f"{self._endpoint.shown} answered without text (stop reason {stop_reason!r}); "
                "look into the log of the server",
                code="bad_answer",
            )
        usage = answer.get("usage")
        return ModelReply(
            content,
            tokens_in=_count(usage, "prompt_tokens"),
            tokens_out=_count(usage, "completion_tokens"),
            stop_reason=stop_reason if isinstance(stop_reason, str) else None,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(url={self._endpoint.shown!r})"


def _count(usage: Any, name: str) -> int | None:
    """A count of tokens; None for anything that a store could not hold as one."""
    count = usage.get(name) if isinstance(usage, dict) else None
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _LARGEST_COUNT:
        return None
    return count


def _model_error(message: str, code: str, status: int | None) -> ModelError:
    """ModelPermanent if the server understood the request and refused it; ModelTransient if the server
    or the connection failed.
    """
    client_error = status is not None and status < HTTPStatus.INTERNAL_SERVER_ERROR
    refused = client_error and status not in _RETRYABLE
    kind = ModelPermanent if refused or code == "bad_answer" else ModelTransient
    return kind(message, code=code)
