"""Searches grouped by a declared key (spec/retrieval.md, "Grouping")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr

KINDS: dict[str, Any] = {
    "a1": "a", "a2": ["a"], "b1": "b", "n1": None, "none": ..., "many": ["a", "b"], "o": {"k": 1},
}  # fmt: skip
"""Chunks a1 and a2 form one group, and every other chunk is a group by itself."""


@pytest.fixture
def grouped(tmp_path: Path) -> hr.Index:
    """An index with the declared key `kind`, in which every chunk contains the word oak."""
    index = hr.Index(tmp_path / "grouped.db", metadata_index=["kind", "by.name"])
    index.upsert(
        hr.Chunk(
            id_,
            "notes/same.md",
            f"oak {id_} " + "oak " * (3 if id_ == "a2" else 0),
            metadata={"by": {"name": id_[0]}} | ({} if kind is ... else {"kind": kind}),
            embedding=[float(len(id_)), 1.0],
        )
        for id_, kind in KINDS.items()
    )
    return index


def found(index: hr.Index, group_by: str, **options: Any) -> list[str]:
    response = hr.Retriever(index).search("oak", group_by=group_by, limit=20, **options)
    assert response.trace.group_by == group_by
    assert response.trace.to_dict()["groupBy"] == group_by
    return [hit.id for hit in response]


@pytest.mark.parametrize("profile", ["spec", "best"])
def test_the_best_chunk_of_each_value_is_found(grouped: hr.Index, profile: str) -> None:
    retriever = hr.Retriever(grouped, ranking=hr.Ranking(profile))
    ids = {hit.id for hit in retriever.search("oak", group_by="kind", limit=20)}
    assert len(ids & {"a1", "a2"}) == 1
    assert ids - {"a1", "a2"} == {"b1", "n1", "none", "many", "o"}


def test_a_path_of_keys_and_the_name_with_metadata(grouped: hr.Index) -> None:
    assert len(found(grouped, "by.name")) == len({id_[0] for id_ in KINDS})
    assert found(grouped, "metadata.kind") == found(grouped, "kind")
    assert len(found(grouped, "path")) == 1


def test_it_follows_changes(grouped: hr.Index) -> None:
    assert len(found(grouped, "kind")) == 6
    grouped.update({"id": {"$in": ["b1", "none"]}}, metadata={"kind": "a"})
    assert len(found(grouped, "kind")) == 4
    grouped.delete(["o"])
    assert len(found(grouped, "kind")) == 3
    grouped.upsert([hr.Chunk("new", "n.md", "oak", metadata={"kind": 1.0})])
    assert len(found(grouped, "kind")) == 4
    grouped.upsert([hr.Chunk("one", "n.md", "oak", metadata={"kind": 1})])
    assert len(found(grouped, "kind")) == 4, "1 equals 1.0"


def test_filters_hold_before_groups(grouped: hr.Index) -> None:
    assert found(grouped, "kind", filters={"id": {"$ne": "a2"}}).count("a1") == 1


def test_fuzzy_hits_are_grouped_too(grouped: hr.Index) -> None:
    grouped.upsert(
        hr.Chunk(f"h{n}", f"notes/hedgehog-{n}.md", "spines", metadata={"kind": "h"})
        for n in range(3)
    )
    response = hr.Retriever(grouped).search("hedgehogg", group_by="kind", limit=20)
    assert len(response) == 1


def test_a_key_must_be_declared(grouped: hr.Index) -> None:
    with pytest.raises(hr.InvalidInputError) as caught:
        found(grouped, "year")
    assert caught.value.code == "invalid_option"
    assert str(caught.value) == (
        'group_by is "year", which is no declared key of this index (declared are "kind", "by.name"); '
        'to declare it once: hedgerow.Index.open(metadata_index=["year"])'
    )
    with pytest.raises(hr.InvalidInputError, match="none is declared"):
        found(hr.Index.in_memory(), "year")
    for wrong in ["", "$and"]:
        with pytest.raises(hr.InvalidInputError, match='must be "path" or a declared key'):
            found(grouped, wrong)


def test_a_key_declared_later_can_be_grouped_by(tmp_path: Path) -> None:
    with hr.Index(tmp_path / "late.db") as index:
        index.upsert(
            hr.Chunk(f"c{n}", "p.md", "oak", metadata={"year": 2020 + n % 2}) for n in range(6)
        )
        with pytest.raises(hr.InvalidInputError):
            found(index, "year")
        hr.Index(tmp_path / "late.db", metadata_index=["year"]).close()
        assert len(found(index, "year")) == 2


def test_why_not_names_the_chunk_that_stands_for_the_group(grouped: hr.Index) -> None:
    retriever = hr.Retriever(grouped)
    best = next(
        hit.id
        for hit in retriever.search("oak", group_by="kind", limit=20)
        if hit.id in ("a1", "a2")
    )
    other = "a1" if best == "a2" else "a2"
    why = retriever.why_not("oak", other, group_by="kind", limit=20)
    assert (why.cut, why.group_best) == ("group", best)
    assert f"'{best}' represents the group of '{other}'" in str(why)
    assert retriever.why_not("oak", best, group_by="kind", limit=20).cut is None


def test_batches_group_too(grouped: hr.Index) -> None:
    retriever = hr.Retriever(grouped)
    many = retriever.search_many(["oak", "oak b1"], group_by="kind", limit=20)
    assert [hit.id for hit in many[0]] == found(grouped, "kind")
