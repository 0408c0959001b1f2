"""`Retriever.upsert` and `reembed`: the embedded texts, the order, and the state after an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from retrieval_doubles import AsyncFnvEmbedder, BrokenEmbedder, FnvEmbedder, fnv64


def chunks(count: int) -> list[hr.Chunk]:
    return [hr.Chunk(f"c{n}", f"{n}.md", f"note {n}", title="Note") for n in range(count)]


class Dimensions(FnvEmbedder):
    """An embedder with vectors of any length, as a numpy array."""

    def __init__(self, name: str, dimensions: int) -> None:
        super().__init__()
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts, /):
        self.calls.append(list(texts))
        return np.ones((len(texts), self.dimensions), dtype=np.float32)


def test_what_has_no_vector_is_embedded_once() -> None:
    index, embedder = hr.Index.in_memory(), FnvEmbedder()
    retriever = hr.Retriever(index, embedder=embedder)
    given = hr.Chunk("given", "g.md", "by hand", embedding=fnv64("by hand"))
    assert retriever.upsert([*chunks(2), given]) == 3
    assert embedder.calls == [["Note\nnote 0", "Note\nnote 1"]]
    assert retriever.upsert(chunks(3)) == 3
    assert embedder.calls[1:] == [["Note\nnote 2"]]
    stats = index.stats()
    assert (stats.vectors, stats.embedder, stats.dimensions) == (4, "fnv64", 64)


def test_blank_texts_are_no_lines_of_their_own() -> None:
    embedder = FnvEmbedder()
    chunk = hr.Chunk("a", "a.md", "content", title=" ", summary="summary")
    hr.Retriever(hr.Index.in_memory(), embedder=embedder).upsert([chunk])
    assert embedder.calls == [["summary\ncontent"]]


def test_progress_is_told_after_each_block() -> None:
    told: list[tuple[int, int]] = []
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=FnvEmbedder())
    retriever.upsert(iter(chunks(600)), progress=lambda *progress: told.append(progress))
    assert told == [(256, 600), (512, 600), (600, 600)]
    told.clear()
    plain = hr.Retriever(hr.Index.in_memory())
    plain.upsert(chunks(3), progress=lambda *progress: told.append(progress))
    plain.upsert([], progress=lambda *progress: told.append(progress))
    assert told == [(3, 3)]


def test_an_embedder_that_fails_half_way_leaves_what_it_embedded() -> None:
    class TwoBlocks(FnvEmbedder):
        def embed(self, texts, /):
            if len(self.calls) == 2:
                raise ConnectionError("gone")
            return super().embed(texts)

    index = hr.Index.in_memory()
    with pytest.raises(ConnectionError, match="gone"):
        hr.Retriever(index, embedder=TwoBlocks()).upsert(chunks(600))
    assert index.stats().vectors == len(index) == 512
    embedder = FnvEmbedder()
    hr.Retriever(index, embedder=embedder).upsert(chunks(600))
    assert [len(call) for call in embedder.calls] == [88]


def test_ids_are_counted_once() -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=FnvEmbedder())
    assert retriever.upsert([*chunks(3), *chunks(3)]) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0]], "the embedder answered with 1 rows for 2 texts; it must return one row for each"),
        (iter([]), "the embedder answered with something without rows for 2 texts"),
    ],
)
def test_rows_that_are_not_those_of_the_texts(answer: object, message: str) -> None:
    embedder = FnvEmbedder()
    embedder.embed = lambda _texts: answer
    index = hr.Index.in_memory()
    with pytest.raises(hr.HedgerowError) as info:
        hr.Retriever(index, embedder=embedder).upsert(chunks(2))
    assert message in str(info.value)
    assert info.value.code == "bad_answer"
    assert len(index) == 0


def test_a_chunk_that_is_none_is_named() -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=FnvEmbedder())
    with pytest.raises(
        hr.InvalidInputError, match=r"chunks\[2\] must be a Chunk or a mapping, not str"
    ):
        retriever.upsert([*chunks(2), "text"])
    assert retriever.embedder.calls == []


def test_another_embedder_or_dimension_is_refused() -> None:
    index = hr.Index.in_memory()
    hr.Retriever(index, embedder=Dimensions("one", 3)).upsert(chunks(2))
    with pytest.raises(hr.InvalidInputError, match="one") as info:
        hr.Retriever(index, embedder=Dimensions("two", 3)).upsert(chunks(3))
    assert info.value.code == "embedder_mismatch"
    with pytest.raises(hr.InvalidInputError, match="4") as info:
        hr.Retriever(index, embedder=Dimensions("one", 4)).upsert(chunks(3))
    assert info.value.code == "dimension_mismatch"


class Interrupted(Dimensions):
    """An embedder that calls `meanwhile` once, while it embeds."""

    meanwhile: Callable[[], object] | None = None

    def embed(self, texts, /):
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().embed(texts)


@pytest.mark.parametrize("known", [False, True], ids=["asked first", "asked before"])
def test_an_index_embedded_anew_while_a_query_is_embedded(tmp_path: Path, known: bool) -> None:
    embedder = Interrupted("one", 3)
    with hr.Index.open(tmp_path / "i.db") as index, hr.Index.open(tmp_path / "i.db") as other:
        retriever = hr.Retriever(index, embedder=embedder)
        retriever.upsert(chunks(3))
        if known:
            assert retriever.search("asked before").trace.embedder_used
        replaced = hr.Retriever(other, embedder=Dimensions("two", 3))
        for search in [
            lambda: retriever.search("note"),
            lambda: retriever.search_many(["note", "0", "1"], threads=2, on_error="return"),
        ]:
            embedder.meanwhile = replaced.reembed
            with pytest.raises(hr.InvalidInputError) as info:
                search()
            assert info.value.code == "embedder_mismatch"
            assert (
                '"two", not "one"; use that one; to embed all chunks again: retriever.reembed()'
                in str(info.value)
            )
            assert embedder.meanwhile is None
            asked = len(embedder.calls)
            with pytest.raises(hr.InvalidInputError, match='"two", not "one"'):
                search()
            assert len(embedder.calls) == asked, "nobody pays for what is refused"
            assert retriever.search("note", mode="bm25").trace.bm25_count == 3
            retriever.reembed()
            assert retriever.search("note").trace.embedder_used


def test_reembed_replaces_all_vectors() -> None:
    index = hr.Index.in_memory()
    hr.Retriever(index, embedder=Dimensions("one", 3)).upsert(chunks(300))
    told: list[tuple[int, int]] = []
    other = hr.Retriever(index, embedder=Dimensions("two", 5))
    assert other.reembed(progress=lambda *progress: told.append(progress)) == 300
    assert told == [(256, 300), (300, 300)]
    stats = index.stats()
    assert (stats.vectors, stats.embedder, stats.dimensions) == (300, "two", 5)
    assert other.search("note", mode="semantic").trace.vector_count == 60


def test_a_reembed_that_fails_leaves_the_old_vectors() -> None:
    index = hr.Index.in_memory()
    hr.Retriever(index, embedder=Dimensions("one", 3)).upsert(chunks(3))
    with pytest.raises(ConnectionError):
        hr.Retriever(index, embedder=BrokenEmbedder()).reembed()
    assert index.stats().embedder == "one"
    with pytest.raises(hr.InvalidInputError, match="this retriever has no embedder; pass one"):
        hr.Retriever(index).reembed()


def test_a_reembed_that_fails_goes_on_where_it_ended(tmp_path: Path) -> None:
    class Fails(Dimensions):
        def embed(self, texts, /):
            if len(self.calls) == 2:
                raise ConnectionError("gone")
            return super().embed(texts)

    path = tmp_path / "i.db"
    with hr.Index.open(path) as index:
        hr.Retriever(index, embedder=Dimensions("one", 3)).upsert(chunks(600))
        with pytest.raises(ConnectionError):
            hr.Retriever(index, embedder=Fails("two", 5)).reembed()
        stats = index.stats()
        assert (stats.vectors, stats.embedder, stats.dimensions) == (600, "one", 3)
    with hr.Index.open(path) as index:
        index.upsert([hr.Chunk("c7", "7.md", "other text")])
        told: list[tuple[int, int]] = []
        embedder = Dimensions("two", 5)
        retriever = hr.Retriever(index, embedder=embedder)
        assert retriever.reembed(progress=lambda *progress: told.append(progress)) == 600
        assert [len(call) for call in embedder.calls] == [89]
        assert told == [(600, 600)]
        stats = index.stats()
        assert (stats.vectors, stats.embedder, stats.dimensions) == (600, "two", 5)
        retriever.reembed()
        assert [len(call) for call in embedder.calls] == [89, 256, 256, 88]


def test_an_embedder_without_a_name_begins_a_reembed_anew() -> None:
    class Nameless:
        def __init__(self, fails: bool) -> None:
            self.fails, self.calls = fails, 0

        def embed(self, texts, /):
            if self.fails and self.calls == 1:
                raise ConnectionError("gone")
            self.calls += 1
            return np.ones((len(texts), 4), dtype=np.float32)

    index = hr.Index.in_memory()
    index.upsert(chunks(300))
    with pytest.raises(ConnectionError):
        hr.Retriever(index, embedder=Nameless(fails=True)).reembed()
    embedder = Nameless(fails=False)
    assert hr.Retriever(index, embedder=embedder).reembed() == 300
    assert embedder.calls == 2


def test_what_is_written_while_reembedding_is_embedded_too() -> None:
    index = hr.Index.in_memory()
    index.upsert(chunks(2))

    class Writes(FnvEmbedder):
        def embed(self, texts, /):
            if not self.calls:
                index.upsert([hr.Chunk("late", "late.md", "just now")])
            return super().embed(texts)

    embedder = Writes()
    assert hr.Retriever(index, embedder=embedder).reembed() == 3
    assert embedder.calls[1] == ["just now"]


def test_asynchronous_embedders() -> None:
    index = hr.Index.in_memory()
    retriever = hr.Retriever(index, embedder=AsyncFnvEmbedder())
    assert asyncio.run(retriever.aupsert(chunks(300))) == 300
    assert asyncio.run(retriever.areembed()) == 300
    assert index.stats().vectors == 300
