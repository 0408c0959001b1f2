"""What an agent asks a language model, and how that may fail (spec/agents.md, "Models").

Nothing here opens a connection. `openai_compatible` has a client over HTTP; any object with
`complete` will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hedgerow.errors import HedgerowError

__all__ = [
    "FailingModel",
    "ModelClient",
    "ModelError",
    "ModelPermanent",
    "ModelReply",
    "ModelRequest",
    "ModelTransient",
    "ScriptedModel",
]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model.

    `model` is the name that a definition has for it, `prompt` what is asked and `system` what goes
    before. `max_tokens` (None: as many as the client likes) and `temperature` (None: the model's
    own) shape the answer; `timeout_s` is in seconds. `metadata` tells who asks, for logs.
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
    """What a model answered: the text, and where it is known how many tokens and why it stopped.

    `stop_reason` is `stop` when the model was done and `length` when it was cut off; clients may
    give other words.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    stop_reason: str | None = None


class ModelClient(Protocol):
    """Answers prompts. Runs call it from one thread at a time each."""

    def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer the request, within `request.timeout_s` seconds.

        Raises ModelTransient where trying again later may help, ModelPermanent where it will not.
        """


class ModelError(HedgerowError):
    """A model gave no answer."""


class ModelTransient(ModelError):  # noqa: N818 - the word of the specification
    """A model gave no answer this time: the agent tries again later."""

    def __init__(self, message: str, *, code: str = "model_transient") -> None:
        super().__init__(message, code=code)


class ModelPermanent(ModelError):  # noqa: N818 - the word of the specification
    """A model will give no answer until somebody changes something: the agent is paused."""

    def __init__(self, message: str, *, code: str = "model_permanent") -> None:
        super().__init__(message, code=code)


Scripted = str | ModelReply | Exception | Callable[[ModelRequest], str | ModelReply]


class ScriptedModel:
    """A client for tests, which answers what it was given, one after the other.

    An answer is a text, a ModelReply, an exception to raise, or a function of the request.
    `requests` has every request so far. When nothing is left it raises ModelPermanent.
    """

    def __init__(self, replies: Iterable[Scripted]) -> None:
        self._replies = list(replies)
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest, /) -> ModelReply:
        """Give the next answer, or raise it."""
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
    """A client for tests, which fails with the same error each time; ModelTransient by default."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = (
            ModelTransient("the model fails, as it was told to") if error is None else error
        )
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest, /) -> ModelReply:
        """Raise the error."""
        self.requests.append(request)
        raise self._error
