"""Removing chunks is the same operation in this process, from a server, and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

import hedgerow as hr
from hedgerow._serve.index_routes import IndexService
from serving import CHUNKS, WRITE, WRITER, listening

Delete = Callable[..., hr.Deletion]


def plain(target: Any) -> Delete:
    deletion: Delete = target.delete
    return deletion


def awaited(target: Any) -> Delete:
    async def delete(given: dict[str, Any]) -> hr.Deletion:
        deletion: hr.Deletion = await target.adelete(**given)
        if isinstance(target, hr.remote.RemoteRetriever):
            await target.aclose()
        return deletion

    return lambda **given: asyncio.run(delete(given))


def over_http(url: str) -> Delete:
    def delete(**given: Any) -> hr.Deletion:
        answer = httpx.post(f"{url}/v1/delete", json=given, headers=WRITE).raise_for_status().json()
        assert answer.pop("db") == "notes.db"
        return hr.Deletion(**answer)

    return delete


@pytest.fixture
def retriever(tmp_path: Path) -> Iterator[hr.Retriever]:
    more = [hr.Chunk(f"c{number}", "notes/c.md", "Ivy.", ordinal=number) for number in range(1, 4)]
    with hr.Retriever(tmp_path / "notes.db", create=True) as retriever:
        retriever.upsert([*CHUNKS, *more])
        yield retriever


@pytest.fixture(params=["delete", "adelete", "remote delete", "remote adelete", "HTTP"])
def delete(request: pytest.FixtureRequest, retriever: hr.Retriever) -> Iterator[Delete]:
    face = request.param
    with ExitStack() as stack:
        if face in {"delete", "adelete"}:
            target: Any = retriever
        else:
            target = url = stack.enter_context(listening(IndexService(retriever)))
            if face != "HTTP":
                target = stack.enter_context(hr.connect(url, kind="index", token=WRITER))
        yield (
            over_http(target)
            if face == "HTTP"
            else (awaited(target) if "adelete" in face else plain(target))
        )


@pytest.mark.parametrize(
    ("given", "deletion", "left"),
    [
        (
            {"ids": ["a", "none", "a", "b/1"]},
            hr.Deletion(2, ["a", "b/1"], ["none"]),
            ["c", "c1", "c2", "c3"],
        ),
        (
            {"paths": ["nowhere.md", "notes/c.md", "notes/c.md"]},
            hr.Deletion(4, [], ["nowhere.md"]),
            ["a", "b/1"],
        ),
        (
            {"ids": ["c", "a", "none"], "paths": ["notes/c.md", "nowhere.md"]},
            hr.Deletion(5, ["c", "a"], ["none", "nowhere.md"]),
            ["b/1"],
        ),
        ({"where": {"tags": ["animal"]}}, hr.Deletion(1, [], []), ["b/1", "c", "c1", "c2", "c3"]),
        ({"ids": ["none"]}, hr.Deletion(0, [], ["none"]), ["a", "b/1", "c", "c1", "c2", "c3"]),
        ({"ids": [], "paths": []}, hr.Deletion(0, [], []), ["a", "b/1", "c", "c1", "c2", "c3"]),
    ],
)
def test_a_deletion_says_what_was_removed_and_what_was_missing(
    delete: Delete,
    retriever: hr.Retriever,
    given: dict[str, Any],
    deletion: hr.Deletion,
    left: list[str],
) -> None:
    assert delete(**given) == deletion
    assert sorted(chunk.id for chunk in retriever.index) == left


class Counting:
    """An index that records the calls of methods that write."""

    def __init__(self, index: hr.Index) -> None:
        self.index, self.writes = index, 0

    def delete(self, *given: Any, **options: Any) -> int:
        self.writes += 1
        return self.index.delete(*given, **options)

    def __getattr__(self, name: str) -> Any:
        assert name in {"get_many", "count"}
        return getattr(self.index, name)


@pytest.mark.parametrize(
    "given",
    [
        {"ids": ["a", "b/1"]},
        {"paths": ["notes/a.md", "notes/b.md", "notes/c.md"]},
        {"ids": ["a"], "paths": ["notes/b.md", "notes/c.md"]},
        {"where": {"path_prefix": "notes/"}},
    ],
)
def test_a_deletion_is_one_transaction(
    retriever: hr.Retriever, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    counting = Counting(retriever.index)
    monkeypatch.setattr(retriever._stages, "index", counting)
    assert retriever.delete(**given).removed > 1
    assert counting.writes == 1
