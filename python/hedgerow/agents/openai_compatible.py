"""Models behind OpenAI's `POST /chat/completions`, or a server that has it (spec/agents.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow._connection import ApiKey, Connected
from hedgerow._extras import imports_of
from hedgerow.errors import HedgerowError

from .models import ModelError, ModelPermanent, ModelReply, ModelRequest, ModelTransient

__all__ = ["OpenAIModel"]

_OPENAI_URL = "https://api.openai.com/v1"
_TIMEOUT = 120.0


class OpenAIModel(Connected):
    """A `ModelClient` over OpenAI's chat completions, or a server that speaks them.

    `base_url` ends before `/chat/completions`, as in `"http://localhost:8000/v1"`; the model is
    the one that a definition names. The key is `api_key`, or what the environment variable
    `api_key_variable` holds at each request; for OpenAI itself that is OPENAI_API_KEY where
    neither is given, and other servers get no key that was not named for them. `fields` are added
    to each request. After 429, 5xx and a broken connection there are `retries` more tries, as far
    as the time of the request allows.

    Threads may share it; it pickles without the key. Raises MissingExtraError without the extra
    "openai", InvalidInputError for options that cannot be used, HedgerowError (`missing_api_key`)
    when the variable is not set.
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
            from ._model_endpoint import ModelEndpoint  # noqa: PLC0415 - needs the extra
        if base_url == _OPENAI_URL and api_key is None and api_key_variable is None:
            # Read for OpenAI alone: another server has no business with OpenAI's key.
            api_key_variable = "OPENAI_API_KEY"
        key = ApiKey(api_key, api_key_variable)
        self._fields = dict(fields or {})
        self._endpoint = ModelEndpoint(
            base_url, "/chat/completions", key=key, timeout=_TIMEOUT, retries=retries
        )

    def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer the request.

        Raises ModelTransient when the server fails, is slow or busy, cannot be reached, or
        answers without text; ModelPermanent when it refuses, answers something else, or the key
        is missing.
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
                f"{self._endpoint.shown} answered without text (it stopped for {stop_reason!r}); "
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
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) else None
