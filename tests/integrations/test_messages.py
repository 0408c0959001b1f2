"""Chat messages as chunks that keep speaker and role."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace

import pytest

import hedgerow as hr
from hedgerow.integrations.messages import message_chunks

CHAT = [
    {"role": "system", "content": "You are a gardener."},
    {"role": "user", "name": "Ann", "content": "Where do my hedgehogs sleep?"},
    {"role": "assistant", "content": [{"type": "text", "text": "Under the hedge,"}, {"text": "in leaves."}]},
    {"role": "assistant", "content": None, "tool_calls": []},
]  # fmt: skip


class Role(Enum):
    USER = "user"


def test_openai_messages() -> None:
    chunks = list(message_chunks(CHAT, "chats/1", date="2026-04-18", title="Hedgehogs"))
    assert [(chunk.id, chunk.ordinal, chunk.content) for chunk in chunks] == [
        ("chats/1#0", 0, "You are a gardener."),
        ("chats/1#1", 1, "Where do my hedgehogs sleep?"),
        ("chats/1#2", 2, "Under the hedge,\nin leaves."),
    ]
    assert chunks[1].metadata == {"role": "user", "speaker": "Ann", "date": "2026-04-18"}
    assert chunks[2].metadata == {"role": "assistant", "date": "2026-04-18"}
    assert chunks[0].title == "Hedgehogs"


def test_messages_of_frameworks() -> None:
    langchain = [
        SimpleNamespace(type="human", content="hello", name=None),
        SimpleNamespace(type="ai", content="good day", name="Gardener"),
    ]
    assert [chunk.metadata for chunk in message_chunks(langchain, "c")] == [
        {"role": "user"},
        {"role": "assistant", "speaker": "Gardener"},
    ]
    llama_index = [SimpleNamespace(role=Role.USER, content="hello")]
    assert [chunk.metadata for chunk in message_chunks(llama_index, "c")] == [{"role": "user"}]


def test_what_is_no_message_is_refused() -> None:
    for wrong in ("text", {"content": "text"}, {"role": 3, "content": "text"}, None):
        with pytest.raises(hr.InvalidInputError, match=r"messages\[0\] must have a role") as error:
            list(message_chunks([wrong], "c"))
        assert error.value.code == "invalid_chunk"


def test_what_the_user_said_is_found_by_my() -> None:
    index = hr.Index.in_memory()
    index.upsert(message_chunks(CHAT, "chats/1"))
    found = hr.Retriever(index, ranking=hr.Ranking("best")).search("where do my hedgehogs sleep")
    assert found[0].id == "chats/1#1"
    assert found[0].explanation["speaker"]["because"] == "first_person"
