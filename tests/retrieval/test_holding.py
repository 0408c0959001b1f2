"""Ownership of a retriever's index: opened by it or passed to it; and deleting through it."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest

import hedgerow as hr

CHUNKS = [hr.Chunk(name, f"{name[0]}.md", "oak and elm") for name in ("a1", "a2", "b1")]


@pytest.fixture
def oak_file(tmp_path: Path) -> Path:
    with hr.Index.open(tmp_path / "oak.db") as index:
        index.upsert(CHUNKS)
    return tmp_path / "oak.db"


def test_what_it_opened_it_closes(oak_file: Path) -> None:
    for path in oak_file, str(oak_file):
        with hr.Retriever(path) as retriever:
            assert len(retriever.search("oak")) == 3
            assert retriever.index.path == oak_file
        with pytest.raises(hr.HedgerowError) as info:
            retriever.search("oak")
        assert "closed" in str(info.value.__cause__ or info.value)
        with pytest.raises(hr.IndexFileError, match="closed"):
            len(retriever.index)
        retriever.close()


def test_what_it_was_given_stays_open(oak_file: Path) -> None:
    with hr.Index.open(oak_file) as index:
        with hr.Retriever(index) as retriever, hr.Retriever(index) as other:
            assert retriever.search("oak") == other.search("oak")
        retriever.close()
        assert len(index) == len(retriever.search("oak")) == 3


def test_an_error_within_closes_too(oak_file: Path) -> None:
    with pytest.raises(KeyError), hr.Retriever(oak_file) as retriever:
        raise KeyError("oak")
    with pytest.raises(hr.IndexFileError, match="closed"):
        len(retriever.index)


def test_under_asyncio(oak_file: Path) -> None:
    async def used() -> hr.Retriever:
        async with hr.Retriever(oak_file) as retriever:
            assert len(await retriever.asearch("oak")) == 3
            assert await retriever.adelete(["a1", "z9"]) == hr.Deletion(1, ["a1"], ["z9"])
            assert await retriever.adelete_path("a.md") == 1
            assert len(await retriever.asearch("oak")) == 1
        with hr.Index.open(oak_file) as index:
            async with hr.Retriever(index):
                pass
            assert len(index) == 1
        return retriever

    retriever = asyncio.run(used())
    with pytest.raises(hr.IndexFileError, match="closed"):
        len(retriever.index)


def test_what_cannot_be_opened(tmp_path: Path, oak_file: Path) -> None:
    (tmp_path / "text").write_text("not an index, but a text that is long enough to be read")
    with pytest.raises(hr.IndexFileError) as info:
        hr.Retriever(tmp_path / "text")
    assert info.value.code == "not_an_index"
    for missing in (tmp_path / "typo.db", str(tmp_path / "typo.db")):
        with pytest.raises(
            hr.IndexFileError, match=r"typo\.db; check the path, or pass create=True"
        ):
            hr.Retriever(missing)
    assert not (tmp_path / "typo.db").exists()
    with hr.Retriever(tmp_path / "new.db", create=True) as made:
        assert len(made.index) == 0
    for wrong in (3, None, b"oak.db", [oak_file]):
        with pytest.raises(
            TypeError, match="index must be an Index, the path of one, or a Collection, not "
        ):
            hr.Retriever(wrong)


def test_a_wrong_option_leaves_nothing_open(oak_file: Path, tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidInputError, match='excludes operator="AND"'):
        hr.Retriever(oak_file, ranking=hr.Ranking("spec", matching="extended", operator="AND"))
    with pytest.raises(TypeError, match="embedder must have"):
        hr.Retriever(tmp_path / "never.db", embedder=3)
    assert [path.name for path in tmp_path.iterdir()] == ["oak.db"]


def test_it_pickles_with_its_path_or_its_index(oak_file: Path) -> None:
    with hr.Retriever(oak_file, on_leg_failure="raise") as retriever:
        with pickle.loads(pickle.dumps(retriever)) as again:
            assert again.search("oak") == retriever.search("oak")
            assert repr(again) == repr(retriever)
        with pytest.raises(hr.IndexFileError, match="closed"):
            len(again.index)
        assert len(retriever.search("oak")) == 3


def test_deleting_is_the_indexs(oak_file: Path) -> None:
    with hr.Retriever(oak_file) as retriever:
        assert retriever.delete(iter(["a1", "a1", "none"])) == hr.Deletion(1, ["a1"], ["none"])
        assert retriever.delete([]) == hr.Deletion(0, [], [])
        assert [hit.id for hit in retriever.search("oak")] == ["a2", "b1"]
        assert retriever.delete_path("none.md") == 0
        assert retriever.delete_path("a.md") == 1
        assert [hit.id for hit in retriever.search("oak")] == ["b1"]
        with pytest.raises(hr.InvalidInputError, match="ids"):
            retriever.delete("a1")
