"""A client for OpenAI's chat completions and compatible servers (spec/agents.md, "Models")."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from hedgerow._adapters.connection import ApiKey, Connected
from hedgerow._extras import imports_of
from hedgerow.errors import HedgerowError

from .models import ModelError, ModelPermanent, ModelReply, ModelRequest, ModelTransient

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
