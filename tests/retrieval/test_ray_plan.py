"""The parts of `hedgerow.ray` that need no Ray: validation and checkpoints."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow._ray.plan import (
    BatchQueries,
    Checkpoint,
    Columns,
    GivenVectors,
    Makers,
    Plan,
    checked_fields,
    content_digest,
    place_of,
    plan_of,
    shape,
)
from hedgerow._tables import FIELDS
from retrieval_doubles import AsyncFnvEmbedder, FakeReranker, FnvEmbedder, fnv64

CHUNKS = [
    hr.Chunk("a", "notes/a.md", "oak and elm", title="Trees", embedding=fnv64("oak and elm")),
    hr.Chunk("b", "notes/b.md", "an elm alone", tags=("x",), metadata={"year": 2024}),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with hr.Index.open(tmp_path / "notes.db") as index:
        index.upsert(CHUNKS)
    return tmp_path / "notes.db"


def columns(**given: Any) -> Columns:
    names: dict[str, Any] = {
        "query": "query", "vector": None, "date": None, "fields": ("id",), "trace": False, "prefix": ""
    }  # fmt: skip
    return Columns(**{**names, **given})


def plan(index: Any, **given: Any) -> Plan:
    options: dict[str, Any] = {
        "columns": columns(), "embedder": None, "reranker": None, "makers": Makers(),
        "question_date": None, "threads": 1, "on_error": "raise", "batch_size": 256,
        "checkpoint_path": None, "options": {},
    }  # fmt: skip
    return plan_of(index, **{**options, **given})


# Opening an index in actors.


def test_an_actor_opens_a_file_only_to_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    for index in (path, str(path), path.name, hr.Index.open(path, ranking="fts5")):
        made = pickle.loads(pickle.dumps(plan(index)))
        monkeypatch.chdir("/")
        with made.open() as retriever:
            assert retriever.index.read_only
            assert retriever.index.path == path
            assert [hit.id for hit in retriever.search("elm")] == ["a", "b"]
        monkeypatch.chdir(path.parent)


def test_an_actor_opens_an_index_as_the_caller_did(path: Path) -> None:
    with hr.Index.open(path, ranking="fts5", vectors="fast", resident="codes") as index:
        theirs = index.__reduce__()[1]
        ours = plan(index).place.open().__reduce__()[1]
    # The file stores its stop words, so a writing handle need not state them.
    *ours, _, durability = ours
    assert (*ours, durability) == (*theirs[:3], True, *theirs[4:-2], theirs[-1])


def test_a_retriever_is_made_as_it_is(path: Path) -> None:
    embedder, reranker = FnvEmbedder(), FakeReranker("reverse")
    aliases = {"ulm": ["elm"]}
    with hr.Retriever(
        path, embedder=embedder, reranker=reranker, aliases=aliases, ranking=hr.Ranking("best")
    ) as retriever:
        again = plan(retriever, options={"limit": 1}).open()
        assert again.search("ulm") == retriever.search("ulm")
        assert repr(again).replace("read_only=True, ", "").count("Ranking('best')") == 1
    again.index.close()


def test_what_pickles_as_its_address_opens_itself() -> None:
    address = ("https://somewhere", "notes")
    assert place_of(address).open() == address
    assert content_digest(address) == content_digest(("https://somewhere", "notes"))
    assert content_digest(address) != content_digest(("https://somewhere", "other"))


def test_makers_are_called_where_the_retriever_is_made(path: Path) -> None:
    made = plan(path, makers=Makers(FnvEmbedder, lambda: FakeReranker("reverse")))
    with made.open() as retriever:
        assert isinstance(retriever.embedder, FnvEmbedder)
        assert retriever.reranker is not None
        assert retriever.reranker.name == "fake-reverse"
        assert retriever.search("elm").trace.reranked


def test_what_is_given_once_is_there_for_the_check_and_for_each_actor(path: Path) -> None:
    chunks = (chunk for chunk in [hr.Candidate("f", "fuzzy/ginkgo.md", content="of a kind")])
    made = plan(path, options={"trigram_chunks": chunks})
    with made.open() as retriever:
        assert [hit.id for hit in retriever.search("ginkgos")] == ["f"]


# Validation before a run.


def raised_by(index: Any, **options: Any) -> tuple[type[Exception], str]:
    with pytest.raises(Exception) as info:  # noqa: PT011 - its message is looked at
        plan(index, **options)
    return type(info.value), str(info.value)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"options": {"limt": 1}}, TypeError, "search_many() got an unexpected keyword argument 'limt'"),
        ({"options": {"limit": 0}}, hr.InvalidInputError, "limit must be an integer of at least 1, not 0"),
        ({"options": {"mode": "hybird"}}, hr.InvalidInputError, "mode must be"),
        ({"options": {"filters": {"year": {"$near": 1}}}}, hr.InvalidInputError, "$near"),
        ({"options": {"ranking": "best"}}, hr.InvalidInputError, "ranking must be a Ranking, as in"),
        ({"threads": 0}, hr.InvalidInputError, "threads must be an integer of at least 1, not 0"),
        ({"batch_size": 0}, hr.InvalidInputError, "batch_size must be an integer of at least 1, not 0"),
        ({"question_date": 5}, hr.InvalidInputError, "question_date must be a date or a text or a list, not 5"),
        ({"checkpoint_path": 5}, hr.InvalidInputError, "checkpoint_path must be a path, not 5"),
        ({"embedder": AsyncFnvEmbedder()}, hr.InvalidInputError,
         "the embedder is asynchronous, and actors await nothing; give one with plain methods"),
        ({"embedder": 5}, hr.InvalidInputError, "embedder"),
        ({"makers": Makers(5)}, hr.InvalidInputError, "make_embedder must be a function without arguments, not 5"),
        ({"makers": Makers(None, 5)}, hr.InvalidInputError, "make_reranker must be a function without arguments, not 5"),
        ({"embedder": len, "makers": Makers(FnvEmbedder)}, hr.InvalidInputError,
         "embedder and make_embedder are for the same thing; give one of them"),
        ({"columns": columns(vector="v"), "makers": Makers(FnvEmbedder)}, hr.InvalidInputError,
         "make_embedder and vector_column are for the same thing; give one of them"),
        ({"columns": columns(date="d"), "question_date": "2026-01-01"}, hr.InvalidInputError,
         "question_date and date_column are for the same thing; give one of them"),
        ({"checkpoint_path": "x", "embedder": lambda texts: [fnv64(text) for text in texts]},
         hr.InvalidInputError, "a checkpoint tells embedders apart by their names, and this one has none; "
         "give it an attribute name that identifies the model"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told_at_once(
    path: Path, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    found, said = raised_by(path, **options)
    assert found is kind
    assert message in said


def test_an_index_that_no_actor_can_open_is_told_at_once(tmp_path: Path) -> None:
    assert raised_by(tmp_path / "no.db")[1].startswith(
        f"there is no index at {tmp_path / 'no.db'};"
    )
    assert "an index in memory cannot be pickled" in raised_by(hr.Index.in_memory())[1]
    assert "must be an Index, the path of one, or a Collection" in raised_by(5)[1]
    assert list(tmp_path.iterdir()) == []


def test_a_retriever_has_its_own_options(path: Path) -> None:
    with hr.Retriever(path) as retriever:
        assert raised_by(
            retriever, options={"ranking": hr.Ranking("best")}, embedder=FnvEmbedder()
        ) == (
            hr.InvalidInputError,
            "the Retriever has its own options, besides ['embedder', 'ranking']; give them "
            "to it, or pass its index instead of it",
        )


def test_columns_are_checked() -> None:
    ours = columns(vector="v", trace=True, prefix="my_")
    ours.check(["query", "v", "results"])
    with pytest.raises(hr.InvalidInputError) as info:
        ours.check(["query", "w"])
    assert str(info.value) == (
        "the dataset has no column 'v', but ['query', 'w']; name the right one with "
        "query_column=, vector_column= or date_column="
    )
    with pytest.raises(hr.InvalidInputError) as info:
        ours.check(["query", "v", "my_trace"])
    assert str(info.value) == (
        "the dataset has a column 'my_trace' already; give prefix= a text to put before the names of "
        "the columns that are added"
    )


def test_fields_are_checked() -> None:
    assert checked_fields("all") == FIELDS
    assert checked_fields(iter(["score", "id"])) == ("score", "id")
    for wrong in (["id", "id"], [], ["id", "name"]):
        with pytest.raises(
            hr.InvalidInputError, match=r"fields must be \"all\" or some of id, path, "
        ):
            checked_fields(wrong)
    for wrong in ("id", 5):
        with pytest.raises(TypeError, match='fields must be "all" or a list of str'):
            checked_fields(wrong)  # type: ignore[arg-type]


def test_without_ray_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "import hedgerow as hr\n"
        "try: import hedgerow.ray\n"
        "except hr.MissingExtraError as error: print(error.code, error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert found.stdout == (
        "missing_extra hedgerow.ray needs the package ray, which is not installed and comes with the "
        'extra "ray"; run: pip install "hedgerow[ray]"\n'
    ), found.stderr


# Vectors from a column.


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers())), st.sets(st.sampled_from("abcd"))
)
def test_a_text_has_the_vector_of_its_row(rows: list[tuple[str, int]], refused: set[str]) -> None:
    embedder = GivenVectors()
    embedder.expect([text for text, _ in rows], [[number] for _, number in rows])
    asked = [(text, number) for text, number in rows if text not in refused]
    assert embedder.embed([text for text, _ in asked]) == [[number] for _, number in asked]


# Checkpoints.

ASKED = st.builds(
    BatchQueries,
    st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), max_size=3),
    st.none() | st.lists(st.lists(st.floats(allow_nan=False, width=32), max_size=2), max_size=3),
    st.none() | st.lists(st.none() | st.text() | st.dates() | st.datetimes(), max_size=3),
)


@given(ASKED, ASKED)
def test_only_equal_questions_have_one_name(one: BatchQueries, other: BatchQueries) -> None:
    # Compared by representation: -0.0 and 0.0 are different vectors.
    assert (one.digest() == other.digest()) == (repr(one) == repr(other))
    assert pickle.loads(pickle.dumps(one)).digest() == one.digest()


def test_the_digest_of_questions_stays() -> None:
    """A changed digest would restart the users' runs after an update without need."""
    asked = BatchQueries(
        ["oak", None], [[0.5, -1.0], ()], [None, datetime(2026, 1, 2, tzinfo=timezone.utc)]
    )
    assert asked.digest() == "66084a167daccaaea3fcebd267bda5c23421071ba0ba5bde8ff550860a4c4264"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "c"}, {"path": "other.md"}, {"content": "oak and elms"}, {"title": "Tree"},
        {"summary": "s"}, {"tags": ("y",)}, {"metadata": {"year": 1}}, {"ordinal": 3},
        {"embedding": fnv64("another")}, {"embedding": None},
    ],
)  # fmt: skip
def test_any_change_of_a_chunk_is_another_content(change: dict[str, Any]) -> None:
    [chunk] = [one for one in CHUNKS if one.id == "a"]
    names = [
        "id",
        "path",
        "title",
        "summary",
        "content",
        "tags",
        "metadata",
        "ordinal",
        "embedding",
    ]
    fields = {name: getattr(chunk, name) for name in names}
    with hr.Index.in_memory() as one, hr.Index.in_memory() as other, hr.Index.in_memory() as third:
        one.upsert([chunk])
        other.upsert([{**fields, **change}])
        third.upsert([{**fields, **change}])
        third.upsert([chunk])
        third.delete([change.get("id", "")])
        assert content_digest(one) != content_digest(other)
        assert content_digest(one) == content_digest(third)


def test_content_is_also_how_it_is_indexed() -> None:
    kinds: list[dict[str, Any]] = [
        {},
        {"tokenizer": "unicode61"},
        {"stopwords": "none"},
        {"stopwords": ["oak", "elm"]},
    ]
    digests = set()
    for kind in kinds:
        with hr.Index.in_memory(**kind) as index:
            digests.add(content_digest(index))
    assert len(digests) == len(kinds)


def kept(path: Path, folder: Path, **given: Any) -> Checkpoint:
    made = plan(path, checkpoint_path=folder, **given)
    with made.open() as retriever:
        found = made.checkpoint(retriever)
    assert found is not None
    return found


def test_other_settings_have_another_folder(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    first = kept(path, folder)
    named = FnvEmbedder()
    named.name = "another"
    different: list[dict[str, Any]] = [
        {"options": {"limit": 9}},
        {"options": {"ranking": hr.Ranking("best")}},
        {"options": {"aliases": {"ulm": ["elm"]}}},
        {"options": {"filters": {"year": 2024}}},
        {"options": {"trigram_chunks": [hr.Candidate("f", "p", content="x" * 99)]}},
        {"options": {"trigram_chunks": [hr.Candidate("f", "p", content="x" * 98 + "y")]}},
        {"embedder": FnvEmbedder()},
        {"embedder": named},
        {"reranker": FakeReranker("reverse")},
        {"question_date": "2026-01-01"},
        {"columns": columns(fields=("id", "path"))},
        {"columns": columns(trace=True)},
    ]
    folders = {kept(path, folder, **options).folder for options in different}
    assert len({first.folder, *folders}) == len(different) + 1
    with hr.Index.open(path) as index:
        index.upsert([{"id": "c", "content": "more"}])
    assert kept(path, folder).folder not in {first.folder, *folders}


def test_what_changes_no_answer_has_the_same_folder(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    first = kept(path, folder, embedder=FnvEmbedder())
    same: list[dict[str, Any]] = [
        {"threads": 2}, {"batch_size": 7}, {"on_error": "return"}, {"options": {"slow_ms": 5}},
        {"columns": columns(query="question", prefix="my_")},
    ]  # fmt: skip
    for options in same:
        assert kept(path, folder, embedder=FnvEmbedder(), **options) == first
    assert kept(path, folder, makers=Makers(FnvEmbedder)) == first
    with hr.Index.open(path) as index, hr.Retriever(index, embedder=FnvEmbedder()) as retriever:
        assert kept(index, folder, embedder=FnvEmbedder()) == first
        assert kept(retriever, folder).folder.parent == folder
    settings = (first.folder / "settings.json").read_text()
    assert '"embedder"' in settings


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint.of(tmp_path / "kept", {"limit": 1})


def test_a_file_is_there_whole_or_not_at_all(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    assert checkpoint.read("a") is None
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.write("a", b"half")
    assert [file.name for file in checkpoint.folder.iterdir()] == ["settings.json"]
    checkpoint.write("a", b"one")
    checkpoint.write("a", b"other")
    assert checkpoint.read("a") == b"other"
    assert sorted(file.name for file in checkpoint.folder.iterdir()) == ["a", "settings.json"]


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(hr.HedgerowError) as info:
        Checkpoint.of(tmp_path / "file", {})
    assert info.value.code == "checkpoint_io"
    assert str(info.value).startswith(f"the checkpoint {tmp_path / 'file'}")
    assert str(info.value).endswith(
        "give checkpoint_path= a folder that every node sees and may write to"
    )


def test_values_have_one_shape() -> None:
    assert shape((1, 2.5, None, "x", True)) == [1, 2.5, None, "x", True]
    assert shape(hr.Filters(tags=["x"])) == repr(hr.Filters(tags=["x"]))
    assert shape(CHUNKS[0]) != shape(CHUNKS[1])
