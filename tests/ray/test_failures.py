"""Failing queries, legs and actors, and resumed runs."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import ray
from pyarrow import parquet

import hedgerow as hr
from hedgerow.ray import search_many
from ray_doubles import ToldEmbedder, told
from retrieval_doubles import BrokenEmbedder, FnvEmbedder
from waiting import LONGEST, until

HUGE = "x" * 70_000


def dataset_of(queries: list[Any], blocks: int = 2) -> ray.data.Dataset:
    rows = [{"n": n, "query": query} for n, query in enumerate(queries)]
    return ray.data.from_items(rows, override_num_blocks=blocks)


def taken(dataset: ray.data.Dataset) -> list[dict[str, Any]]:
    return sorted(dataset.take_all(), key=lambda row: row["n"])


def ids(rows: list[dict[str, Any]]) -> list[list[tuple[str, float]]]:
    return [[(hit["id"], hit["score"]) for hit in row["results"]] for row in rows]


def expected(path: Path, queries: list[str], **parts: Any) -> list[list[tuple[str, float]]]:
    with hr.Retriever(path, **parts) as retriever:
        return [
            [(hit.id, hit.score) for hit in one]
            for one in retriever.search_many(queries, threads=1)
        ]


def test_the_error_of_a_query_stands_in_its_row(path: Path, queries: list[str]) -> None:
    asked = [*queries[:5], HUGE, None, *queries[5:9]]
    found = taken(search_many(path, dataset_of(asked), on_error="return"))
    errors = {row["n"]: row["error"] for row in found if row["error"] is not None}
    assert {n: error["code"] for n, error in errors.items()} == {
        5: "query_text_too_large", 6: "invalid_query"
    }  # fmt: skip
    assert errors[6]["message"] == (
        "a row has no query: its column 'query' is null; filter such rows out, or give "
        'on_error="return"'
    )
    assert [found[n]["results"] for n in errors] == [None, None]
    rest = [row for row in found if row["n"] not in errors]
    assert ids(rest) == expected(path, queries[:9])


def test_the_first_error_ends_the_run(path: Path, queries: list[str]) -> None:
    with pytest.raises(ray.exceptions.RayTaskError) as info:
        search_many(path, dataset_of([*queries[:5], HUGE])).materialize()
    assert "hedgerow.errors.QueryTooLargeError: " in str(info.value)


def test_an_actor_that_cannot_start_says_why(path: Path, queries: list[str]) -> None:
    def make() -> Any:
        raise ConnectionError("no model here")

    with pytest.raises(ray.exceptions.RayActorError, match="no model here"):
        search_many(path, dataset_of(queries), make_embedder=make).materialize()


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([{"q": "oak"}], {}, "the dataset has no column 'query', but ['q']; name the right one"),
        ([{"query": "oak", "error": 1}], {}, "the dataset has a column 'error' already; give prefix="),
        ([{"query": 5}], {}, "the column 'query' is of int64 and must be of texts; convert it"),
        ([{"query": "oak", "v": "1"}], {"vector_column": "v"}, "the column 'v' is of string and must be of "
         "vectors, lists of numbers; convert it"),
    ],
)  # fmt: skip
def test_columns_are_checked_where_they_are_known(
    path: Path, rows: list[dict[str, Any]], options: dict[str, Any], said: str
) -> None:
    lazy = ray.data.from_items(rows).map_batches(lambda batch: batch)
    with pytest.raises(ray.exceptions.RayTaskError) as info:
        search_many(path, lazy, **options).materialize()
    assert said in str(info.value)
    if "column 'query' is of" not in said and "column 'v' is of" not in said:
        with pytest.raises(hr.InvalidInputError) as told_at_once:
            search_many(path, ray.data.from_items(rows), **options)
        assert said in str(told_at_once.value)


def test_wrong_arguments_are_told_at_once(path: Path, queries: list[str]) -> None:
    dataset = dataset_of(queries[:2])
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ([1], {}, "dataset must be a ray.data.Dataset, not list"),
        (dataset, {"on_error": "skip"}, "on_error must be one of raise, return, not 'skip'"),
        (dataset, {"actors": 0}, "actors must be an integer of at least 1, not 0"),
        (dataset, {"actors": (2, 1)}, "actors must be the least and the most of them, not (2, 1)"),
        (dataset, {"query_column": None}, "query_column must be a str, not NoneType"),
        (dataset, {"fields": "id"}, "fields must be \"all\" or a list of str, not 'id'"),
        (dataset, {"limt": 1}, "search_many() got an unexpected keyword argument 'limt'"),
    ]
    for given, options, message in wrong:
        with pytest.raises((TypeError, hr.InvalidInputError)) as info:
            search_many(path, given, **options)
        assert str(info.value) == message


def test_a_killed_actor_changes_no_answer(path: Path, queries: list[str], tmp_path: Path) -> None:
    # The actor is killed in the middle of a block, after part of its results.
    make = functools.partial(ToldEmbedder, tmp_path, kills_at=queries[70])
    found = taken(
        search_many(path, dataset_of(queries, 3), make_embedder=make, batch_size=10, actors=2)
    )
    assert (tmp_path / "killed").exists()
    assert [row["query"] for row in found] == queries
    assert ids(found) == expected(path, queries, embedder=FnvEmbedder())


@pytest.mark.parametrize("on_error", ["raise", "return"])
def test_a_run_that_failed_goes_on(
    path: Path, queries: list[str], tmp_path: Path, on_error: str
) -> None:
    kept, first, second = (tmp_path / name for name in ("kept", "first", "second"))
    first.mkdir()
    second.mkdir()
    options: dict[str, Any] = {"batch_size": 10, "actors": 1, "checkpoint_path": kept, "on_error": on_error,
                               "on_leg_failure": "raise"}  # fmt: skip
    dataset = dataset_of(queries, 3)
    failing = search_many(
        path, dataset, embedder=ToldEmbedder(first, fails_at=queries[75]), **options
    )
    if on_error == "raise":
        with pytest.raises(ray.exceptions.RayTaskError, match="no model today"):
            failing.materialize()
    else:
        failed = [row for row in failing.take_all() if row["error"] is not None]
        assert {row["error"]["code"] for row in failed} == {"leg_failed"}
        assert queries[75] in [row["query"] for row in failed]
    # An actor may continue for a moment after the run has failed.
    known = len([*kept.rglob("*.parquet")])
    assert known > 0
    found = taken(search_many(path, dataset, embedder=ToldEmbedder(second), **options))
    assert ids(found) == expected(path, queries, embedder=FnvEmbedder())
    batches = 3 * 13
    assert len(told(second)) <= batches - known
    assert {*chain.from_iterable(told(first) + told(second))} == {*queries}


def test_an_answer_without_a_leg_says_so_and_is_not_kept(
    path: Path, queries: list[str], tmp_path: Path
) -> None:
    class Gone(BrokenEmbedder):
        name = "fnv64"

    dataset = dataset_of(queries[:20])
    found = taken(search_many(path, dataset, embedder=Gone(), checkpoint_path=tmp_path))
    assert {(row["error"]["code"], row["error"]["message"]) for row in found} == {
        (
            "leg_failed",
            "the stage vector failed, the rest answered: search by meaning failed: no model for 10 texts",
        )
    }
    assert ids(found) == expected(path, queries[:20])
    assert [*tmp_path.rglob("*.parquet")] == []
    found = taken(search_many(path, dataset, embedder=FnvEmbedder(), checkpoint_path=tmp_path))
    assert {row["error"] for row in found} == {None}
    assert [*tmp_path.rglob("*.parquet")] != []


def test_a_damaged_file_is_made_anew(path: Path, queries: list[str], tmp_path: Path) -> None:
    dataset = dataset_of(queries, 1)
    options: dict[str, Any] = {
        "checkpoint_path": tmp_path,
        "fields": "all",
        "trace": True,
        "batch_size": 50,
    }
    sound = taken(search_many(path, dataset, **options))
    *files, shorter = sorted(tmp_path.rglob("*.parquet"), key=lambda file: -rows_in(file))
    assert rows_in(files[-1]) > rows_in(shorter)
    contents = [file.read_bytes() for file in files]
    flipped = bytearray(contents[1])
    flipped[len(flipped) // 3] ^= 1
    damaged = [contents[0][:100], bytes(flipped), shorter.read_bytes(), b""]
    for file, content in zip(files, damaged, strict=False):
        file.write_bytes(content)
    assert taken(search_many(path, dataset, **options)) == sound
    assert [file.read_bytes() for file in files] == contents


def rows_in(file: Path) -> int:
    rows: int = parquet.read_metadata(file).num_rows
    return rows


def test_a_killed_run_goes_on(cluster: str, path: Path, queries: list[str], tmp_path: Path) -> None:
    kept, first, second = (tmp_path / name for name in ("kept", "first", "second"))
    first.mkdir()
    second.mkdir()
    dataset_of(queries, 4).write_parquet(str(tmp_path / "in"))
    program = textwrap.dedent(f"""
        from pathlib import Path
        import ray
        from hedgerow.ray import search_many
        from ray_doubles import ToldEmbedder
        ray.init(address={cluster!r}, log_to_driver=False)
        ray.data.DataContext.get_current().execution_options.preserve_order = True
        embedder = ToldEmbedder(Path({str(first)!r}), seconds=0.2)
        dataset = ray.data.read_parquet({str(tmp_path / "in")!r})
        search_many({str(path)!r}, dataset, embedder=embedder, batch_size=10,
                    checkpoint_path={str(kept)!r}).materialize()
        print("finished")
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        until(lambda: running.poll() is not None or len([*kept.rglob("*.parquet")]) >= 5)
        running.kill()
        printed, _ = running.communicate(timeout=LONGEST)
    assert printed == "", "it was to be killed in the middle"
    done = len([*kept.rglob("*.parquet")])
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    try:
        dataset = ray.data.read_parquet(str(tmp_path / "in"))
        embedder = ToldEmbedder(second)
        found = taken(
            search_many(path, dataset, embedder=embedder, batch_size=10, checkpoint_path=kept)
        )
    finally:
        context.execution_options.preserve_order = False
    assert ids(found) == expected(path, queries, embedder=FnvEmbedder())
    assert done >= 5
    # Each of the four blocks may end with a short batch.
    assert len(told(second)) <= len(queries) / 10 + 4 - done
