"""The errors of an index: the code, and a message that names the fix."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow as hr
from index_doubles import run_sql


def chunk(name: str = "a", **fields):
    return hr.Chunk(name, "p", "winter", **fields)


@pytest.fixture
def garden_file(tmp_path: Path) -> Path:
    with hr.Index.open(tmp_path / "index.db") as index:
        index.upsert(hr.Chunk(f"c{n}", f"p{n}", f"winter garden {n} " * 20) for n in range(200))
    return tmp_path / "index.db"


def refused(code: str, message: str, call, *arguments, **options) -> None:
    with pytest.raises(hr.HedgerowError) as caught:
        call(*arguments, **options)
    assert (caught.value.code, caught.value.message) == (code, message)
    index_file = code.startswith(("index", "backup", "not_an"))
    expected = hr.IndexFileError if index_file else hr.InvalidInputError
    assert isinstance(caught.value, hr.EngineError if code == "engine_fault" else expected)
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


CYCLE: list = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": 3}, "id must be str, not int"),
        ({"path": None}, "path must be str, not NoneType"),
        ({"content": b"a"}, "content must be str, not bytes"),
        ({"title": 1.5}, "title must be str, not float"),
        ({"summary": ["a"]}, "summary must be str, not list"),
        ({"tags": "winter"}, "tags is one str; give a list of strings"),
        ({"tags": {"a", "b"}}, "tags must be a list or tuple of str, not set"),
        ({"tags": ["a", None]}, "tags[1] must be str, not NoneType"),
        ({"ordinal": -1}, "ordinal must be an int from 0 to 2**63 - 1"),
        ({"ordinal": 2**63}, "ordinal must be an int from 0 to 2**63 - 1"),
        ({"ordinal": 1.0}, "ordinal must be an int from 0 to 2**63 - 1"),
        ({"metadata": []}, "metadata must be a mapping with str keys, not list"),
        ({"metadata": {1: 2}}, "metadata has a key that is int; JSON keys are str"),
        (
            {"metadata": {"a": [{"b": {3: 4}}]}},
            'metadata["a"][0]["b"] has a key that is int; JSON keys are str',
        ),
        (
            {"metadata": {"a": float("inf")}},
            'metadata["a"] is not a finite number, which JSON cannot hold',
        ),
        (
            {"metadata": {"a": [1, -(2**63) - 1]}},
            'metadata["a"][1] is an integer of more than 64 bits; keep it as a str',
        ),
        (
            {"metadata": {"a": b"x"}},
            (
                'metadata["a"] is bytes, which is not JSON; use str, int, float, bool, None, '
                "list or dict"
            ),
        ),
        (
            {"metadata": {"a": CYCLE}},
            'metadata["a"]' + "[0]" * 99 + " nests deeper than 100 levels",
        ),
    ],
)
def test_a_chunk_that_cannot_be_stored(fields, message):
    given = {"id": "a", "path": "p", "content": "c", **fields}
    refused("invalid_chunk", message, hr.Chunk, **given)


@pytest.mark.parametrize("field", ["id", "path", "content", "title", "summary"])
def test_half_a_surrogate_pair(field):
    given = {"id": "a", "path": "p", "content": "c", field: "ab\ud800"}
    sentence = (
        "has half of a surrogate pair at character {}; decode its source as UTF-8 with "
        'errors="replace", or remove the character'
    )
    refused("lone_surrogate", f"{field} {sentence.format(2)}", hr.Chunk, **given)
    for name, metadata in [
        ("a key of metadata", {"\udfff": 1}),
        ('metadata["k"]', {"k": "\udfff"}),
    ]:
        refused("lone_surrogate", f"{name} {sentence.format(0)}", chunk, metadata=metadata)
    refused("lone_surrogate", f"tags[1] {sentence.format(1)}", chunk, tags=["a", "b\ud800"])


def test_what_is_no_chunk():
    with hr.Index.in_memory() as index:
        empty = "chunks[1]: the id is empty; give every chunk its own id"
        refused("invalid_chunk", empty, index.upsert, [chunk(), chunk("")])
        wrong = "chunks[0] must be a Chunk or a mapping, not str"
        refused("invalid_chunk", wrong, index.upsert, ["a"])
        refused(
            "invalid_chunk", "chunks[0] has no 'content'; give it one", index.upsert, [{"id": "a"}]
        )
        wrong = "chunks must be an iterable of Chunk or mappings, not Chunk"
        refused("invalid_chunk", wrong, index.upsert, chunk())
        assert len(index) == 0


def test_ids_that_are_one_str():
    with hr.Index.in_memory() as index:
        refused("invalid_id", "ids is one str; give a list of strings", index.delete, "abc")
        refused("invalid_id", "ids must be an iterable of str, not int", index.delete, 3)
        refused("invalid_id", "ids[1] must be str, not int", index.delete, ["a", 3])


def test_limits():
    with hr.Index.in_memory() as index:
        for limit in [0, -1, -(10**30)]:
            message = f"limit must be at least 1, not {limit}"
            refused("invalid_limit", message, index.search_bm25, "winter", limit)
        for limit in [1.0, "1", True, None]:
            message = f"limit must be an int of at least 1, not {type(limit).__name__}"
            refused("invalid_limit", message, index.search_bm25, "winter", limit)


def test_options():
    with hr.Index.in_memory() as index:
        message = 'matching must be "spec" or "extended", not "fuzzy"'
        refused("invalid_option", message, index.search_bm25, "a", matching="fuzzy")
        message = 'operator must be "OR" or "AND", not "or"'
        refused("invalid_option", message, index.search_bm25, "a", operator="or")
    message = 'path must name a file, not ":memory:"; use Index.in_memory()'
    refused("invalid_option", message, hr.Index.open, ":memory:")


def test_tokenizers(garden_file):
    message = (
        'tokenizer must be "words", "porter unicode61", "unicode61" or "trigram", not "snowball"'
    )
    refused("unknown_tokenizer", message, hr.Index.open, garden_file, tokenizer="snowball")
    refused("unknown_tokenizer", message, hr.Index.in_memory, tokenizer="snowball")
    message = (
        f'the index {garden_file} has the tokenizer "words", not "trigram"; leave '
        "the tokenizer out, or change it with retokenize"
    )
    refused("tokenizer_mismatch", message, hr.Index.open, garden_file, tokenizer="trigram")


def test_an_index_in_memory_cannot_be_pickled():
    message = (
        "an index in memory cannot be pickled; use Index.open with a file, or send a backup of it"
    )
    with hr.Index.in_memory() as index:
        refused("not_picklable", message, pickle.dumps, index)


def test_paths_that_cannot_be_opened(tmp_path):
    missing = tmp_path / "missing" / "index.db"
    message = f"the folder {missing.parent} does not exist; create it first"
    refused("index_io", message, hr.Index.open, missing)
    message = f"{tmp_path} is a folder; give the path of a file in it"
    refused("index_io", message, hr.Index.open, tmp_path)
    nul = f"{tmp_path}/a\0b"
    message = f"the index {nul} cannot be opened: its path holds a NUL character; remove it"
    refused("index_io", message, hr.Index.open, nul)
    message = (
        f"there is no index at {tmp_path}/index.db; check the path, or open it without read_only "
        "to make one"
    )
    refused("index_not_found", message, hr.Index.open, tmp_path / "index.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_index(tmp_path):
    text, database = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("just some notes\n" * 200)
    run_sql(database, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    for file in [text, database]:
        before = file.read_bytes()
        message = (
            f"the index {file} is not a hedgerow index and was left as it is; give another path"
        )
        for read_only in [False, True]:
            refused("not_an_index", message, hr.Index.open, file, read_only=read_only)
        assert file.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_a_newer_file(garden_file):
    run_sql(garden_file, "PRAGMA user_version = 8")
    before = garden_file.read_bytes()
    message = f"the index {garden_file} has schema version 8 and this hedgerow reads up to 7; upgrade hedgerow"
    for read_only in [False, True]:
        refused("index_too_new", message, hr.Index.open, garden_file, read_only=read_only)
    assert garden_file.read_bytes() == before


def test_a_truncated_file(garden_file):
    garden_file.write_bytes(garden_file.read_bytes()[: 3 * 4096])
    with pytest.raises(hr.IndexFileError) as caught, hr.Index.open(garden_file) as index:
        list(index.chunks())
    assert caught.value.code == "index_damaged"
    assert str(caught.value) == (
        f"the index {garden_file} is damaged (database disk image is malformed); restore a backup, or "
        "make a new index and upsert the chunks again"
    )


def state(path: Path) -> str:
    try:
        with hr.Index.open(path) as index:
            return "problems" if index.check() else "healthy"
    except hr.IndexFileError as error:
        return error.code


def test_flipped_bytes_are_found(garden_file):
    """After a flipped byte anywhere, damage is reported, or the content is unaffected."""
    healthy = garden_file.read_bytes()
    found = 0
    for place in range(5000, len(healthy), len(healthy) // 60):
        damaged = bytearray(healthy)
        damaged[place] ^= 0xFF
        garden_file.write_bytes(damaged)
        health = state(garden_file)
        assert health in {"index_damaged", "problems", "healthy"}
        found += health != "healthy"
    assert found > 20


def test_a_row_without_its_chunk(garden_file):
    run_sql(garden_file, "DELETE FROM knowledge_chunks WHERE id = 'c7'")
    with hr.Index.open(garden_file) as index:
        assert index.check() == [
            '1 rows of the full-text index have no chunk: "row 8"',
            "the full-text index and the texts of the chunks differ",
        ]
        with pytest.raises(
            hr.IndexFileError, match="a row of the full-text index has no"
        ) as caught:
            index.search_bm25('"garden 7"')
        assert caught.value.code == "index_damaged"
    with hr.Index.open(garden_file, read_only=True) as index:
        assert len(index.check()) == 1


def test_a_table_that_somebody_removed(garden_file):
    run_sql(garden_file, "DROP TABLE knowledge_chunks")
    with hr.Index.open(garden_file) as index, pytest.raises(hr.IndexFileError) as caught:
        len(index)
    assert caught.value.code == "index_damaged"
    assert str(caught.value).startswith(f"the index {garden_file} is damaged (no such table: know")


def test_a_column_that_somebody_renamed(garden_file):
    run_sql(garden_file, "ALTER TABLE knowledge_chunks RENAME COLUMN summary TO summarx")
    with hr.Index.open(garden_file) as index, pytest.raises(hr.IndexFileError) as caught:
        index.get("c1")
    assert caught.value.code == "index_damaged"
    assert "no such column: summary" in str(caught.value)


def test_a_read_only_handle_refuses_to_write(garden_file):
    message = (
        f"the index {garden_file} is open for reading only; open it without read_only, with write "
        "permission on the file and its folder"
    )
    before = garden_file.read_bytes()
    with hr.Index.open(garden_file, read_only=True) as index:
        refused("index_read_only", message, index.upsert, [chunk()])
        refused("index_read_only", message, index.delete, ["c1"])
        refused("index_read_only", message, index.delete_path, "p1")
        refused("index_read_only", message, index.optimize)
        assert len(index.search_bm25("winter", 500)) == 200
    assert garden_file.read_bytes() == before
    empty = garden_file.with_name("empty.db")
    empty.touch()
    message = f"the index {empty} is empty or of an older version; open it once for writing"
    refused("index_read_only", message, hr.Index.open, empty, read_only=True)


def test_a_closed_handle(garden_file):
    for index, name in [
        (hr.Index.open(garden_file), f"the index {garden_file}"),
        (hr.Index.in_memory(), "the index in memory"),
    ]:
        chunks = index.chunks()
        index.close()
        index.close()
        message = f"{name} is closed; open it again to use it"
        for call in [
            lambda index=index: len(index),
            index.stats,
            index.check,
            index.optimize,
            lambda index=index: index.search_bm25("winter"),
            lambda index=index: index.search_bm25(""),
            lambda index=index: index.search_vector([1.0]),
            lambda index=index: index.search_vector([]),
            lambda index=index: index.get("a"),
            lambda index=index: index.upsert([]),
            lambda index=index: index.delete([]),
            lambda index=index: index.backup(garden_file.with_name("backup.db")),
            lambda chunks=chunks: next(chunks),
        ]:
            refused("index_closed", message, call)
        assert "Index." in repr(index)
        assert index.tokenizer == "words"


def test_a_writer_that_holds_the_file_for_too_long(garden_file):
    program = (
        "import sqlite3, sys\n"
        "held = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "held.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()"
    )
    with (
        hr.Index.open(garden_file) as index,
        subprocess.Popen(
            [sys.executable, "-c", program, str(garden_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as holder,
    ):
        assert holder.stdout.readline() == "held\n"
        index._set_write_timeout(0.05)
        message = f"the index {garden_file} was locked by another process for too long; try again"
        refused("index_busy", message, index.upsert, [chunk()])
        assert len(index.search_bm25("winter", 500)) == 200, "readers do not wait"
        holder.stdin.close()
        holder.wait()
        assert index.upsert([chunk()]) == 1


def test_backups_that_cannot_be_made(garden_file, tmp_path):
    with hr.Index.open(garden_file) as index:
        message = (
            f"there is already something at {garden_file}; give the backup another name, or remove it "
            "first"
        )
        refused("backup_exists", message, index.backup, garden_file)
        message = 'the path "" names no file; give the backup a name'
        refused("index_io", message, index.backup, "")
        missing = tmp_path / "missing" / "backup.db"
        with pytest.raises(
            hr.IndexFileError, match=f"^the backup {missing} cannot be written"
        ) as caught:
            index.backup(missing)
        assert caught.value.code == "index_io"
    assert [entry.name for entry in tmp_path.iterdir()] == ["index.db"]


def test_a_file_that_was_removed_is_not_made_again(garden_file):
    index = hr.Index.open(garden_file)
    garden_file.unlink()
    with pytest.raises(hr.IndexFileError, match="cannot be read or written") as caught:
        index.search_bm25("winter")
    assert caught.value.code == "index_io"
    index.close()
    assert not garden_file.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("place", ["file", "memory"])
def test_a_handle_is_refused_after_fork(garden_file, place):
    index = hr.Index.open(garden_file) if place == "file" else hr.Index.in_memory()
    index.upsert([chunk()])
    index.search_bm25("winter")
    name = f"the index {garden_file}" if place == "file" else "the index in memory"
    message = f"{name} was opened in another process; open it again after fork"
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for call in [index.stats, index.close, lambda: index.search_bm25("winter")]:
                refused("index_forked", message, call)
            refused("index_forked", message, index.upsert, [chunk("b")])
            del index
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert index.upsert([chunk("b")]) == 1
    assert len(index.search_bm25("winter", 500)) >= 2
    assert index.check() == []
    index.close()
