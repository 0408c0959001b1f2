"""The interface to language models, and calling one with a deadline (spec/agents.md, "Models").

Nothing here opens a connection: `openai_compatible` has a client over HTTP, and any object with
`complete` will do.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, Protocol

from hedgerow._checks import listed
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
