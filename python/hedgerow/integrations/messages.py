"""Messages of chats as chunks that keep speaker and role: of OpenAI, LangChain and LlamaIndex.

None of these libraries is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from hedgerow import Chunk
from hedgerow._checks import shown
from hedgerow.errors import InvalidInputError

__all__ = ["message_chunks"]
__dir__ = partial(sorted, __all__)

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
"""Roles of LangChain in the words of OpenAI."""


def message_chunks(
    messages: Iterable[Any], path: str, *, date: str | None = None, title: str = ""
) -> Iterator[Chunk]:
    """Yield a chunk for each message with text, in order; its id is `path#n`, where n counts all messages.

    A message is a mapping with `role` and `content`, as in OpenAI's API, or an object with `content` and
    with `role` (LlamaIndex) or `type` (LangChain). The metadata has the `role`, the `name` of the message as
    `speaker`, and `date`, which is text in ISO 8601. Of content in parts, the parts with text are joined.

    Raises InvalidInputError for anything else.
    """
    for number, message in enumerate(messages):
        role = _field(message, "role") or _field(message, "type")
        role = getattr(role, "value", role)
        if not isinstance(role, str):
            raise InvalidInputError(
                f"messages[{number}] must have a role and a content, not {shown(message)}",
                code="invalid_chunk",
            )
        text = _text(_field(message, "content"))
        if not text.strip():
            continue
        name = _field(message, "name")
        metadata = {"role": _ROLES.get(role, role)}
        if isinstance(name, str) and name:
            metadata["speaker"] = name
        if date is not None:
            metadata["date"] = date
        yield Chunk(f"{path}#{number}", path, text, title=title, ordinal=number, metadata=metadata)


def _field(message: Any, name: str) -> Any:
    if isinstance(message, Mapping):
        return message.get(name)
    return getattr(message, name, None)


def _text(content: Any) -> str:
    """Return the text of a content, which may be parts; empty for none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable):
        return ""
    parts = (part if isinstance(part, str) else _field(part, "text") for part in content)
    return "\n".join(part for part in parts if isinstance(part, str))
