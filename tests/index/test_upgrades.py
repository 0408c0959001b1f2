"""Files from earlier builds, one for every past schema (spec/index.md, The file).

`make upgrade-file` wrote them, or an equivalent script with the engine of that time. They are never
rewritten.
"""

from __future__ import annotations

import gzip
import importlib.util
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

import hedgerow as hr
from places import ROOT

SCRIPT = ROOT / "scripts" / "write_upgrade_file.py"
FILES = sorted((ROOT / "tests" / "data" / "upgrades").glob("*.db.gz"))

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_upgrade_file", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=FILES, ids=lambda file: file.name.removesuffix(".db.gz"))
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / "older.db"
    file.write_bytes(gzip.decompress(request.param.read_bytes()))
    return file


@pytest.fixture
def present(script: ModuleType, tmp_path: Path) -> Path:
    file = tmp_path / "present.db"
    script.write(file)
    return file


def read(file: Path, statement: str, *values: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(statement, values).fetchall()


def has(file: Path, table: str) -> bool:
    return bool(read(file, "SELECT 1 FROM sqlite_master WHERE name = ?", table))


def test_there_is_a_file_of_the_present_schema(script: ModuleType, present: Path) -> None:
    """Fails after a new migration: run `make upgrade-file`, and commit the new file."""
    assert f"{script.name_of(present)}.db.gz" in {file.name for file in FILES}


def test_the_chunks_of_an_older_file_are_all_there(script: ModuleType, older: Path) -> None:
    has_vectors = has(older, "embeddings")
    with hr.Index.open(older) as index:
        assert index.check() == []
        for chunk in script.CHUNKS:
            found = index.get(chunk.id).to_dict()
            wanted = chunk.to_dict()
            assert found.pop("embedding") is None or has_vectors
            wanted.pop("embedding")
            assert found == wanted


def test_an_older_file_is_searched_as_one_that_was_made_today(
    request: pytest.FixtureRequest, older: Path, present: Path
) -> None:
    """Compare ids, order and scores, by keywords and, if the file had vectors, by meaning."""
    vectors, nodes = has(older, "embeddings"), has(older, "nodes")
    with hr.Index.open(older) as old, hr.Index.open(present) as new:
        if not nodes:  # every node is a chunk too
            new.delete(["hedge", "beech", "nuts"])
        # An older file keeps its tokenizer until another one is requested.
        is_words = "format-7" in request.node.callspec.id
        assert old.tokenizer == ("words" if is_words else "porter unicode61")
        assert is_words or old.search_bm25("冬眠") == []
        assert old.retokenize("words") is not is_words
        assert old.check() == []
        for query in (
            "hedge*",
            "hedgehogs AND winter",
            "slugs OR Hecke",
            '"beech hedge"',
            "冬眠する",
        ):
            found, wanted = old.search_bm25(query), new.search_bm25(query)
            assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in wanted]
            assert found
        if vectors:
            found, wanted = (one.search_vector([1.0, 0.2, 0.3]) for one in (old, new))
            assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in wanted]
            assert found
        conditions = {"year": {"$gte": 2024}}
        assert [hit.id for hit in old.search_bm25("hedge", filters=conditions)] == ["hedgehog-1"]


def test_the_nodes_of_an_older_file_are_all_there(script: ModuleType, older: Path) -> None:
    has_nodes = has(older, "nodes")
    with hr.Store.open(older) as store:
        assert [node.key for node in store] == (sorted(one.key for one in script.NODES) * has_nodes)
        if has_nodes:
            assert store.get("hedge").weight == 0.9
            assert store.query("seed:hedge | spread,max_hops=2,seeds=drop").keys == [
                "beech",
                "nuts",
            ]
            unvisited = "all | not-visited:gardener,7d | sort:weight"
            assert store.query(unvisited, now=1_700_086_400).keys == ["hedge", "nuts"]


def test_an_older_file_has_the_tables_of_a_new_one(older: Path, present: Path) -> None:
    for file in (older, present):
        with hr.Store.open(file) as store:
            store.index.upsert([hr.Chunk("new", "new.md", "Written after the migration.")])
            assert [hit.id for hit in store.index.search_bm25("migration")] == ["new"]
    for statement in (
        "PRAGMA user_version",
        "SELECT name, version FROM subjects ORDER BY name",
        "SELECT type, name FROM sqlite_master ORDER BY type, name",
        "SELECT k, v FROM knowledge_fts_config WHERE k LIKE '%merge' ORDER BY k",
    ):
        assert read(older, statement) == read(present, statement)


def versions(file: Path) -> dict[object, object]:
    """Return the version of each subject of a file. Empty for a file without subject versions."""
    if not has(file, "subjects"):
        return {}
    return dict(read(file, "SELECT name, version FROM subjects"))


@pytest.mark.parametrize("kind", [hr.Index, hr.Store])
def test_an_older_file_is_left_as_it_is_by_one_who_only_reads(
    kind: type[hr.Index | hr.Store], older: Path, present: Path
) -> None:
    before = older.read_bytes()
    # An index ignores the tables that a store adds.
    others = {"nodes", "agents"} if kind is hr.Index else set()
    known, wanted = versions(older), versions(present)
    if all(known.get(name) == wanted[name] for name in wanted.keys() - others):
        with kind.open(older, read_only=True) as opened:
            assert len(opened) > 0
    else:
        with pytest.raises(
            hr.IndexFileError, match="of an older version; open it once for writing"
        ):
            kind.open(older, read_only=True)
    assert older.read_bytes() == before


def test_a_migrated_file_is_not_migrated_again(older: Path) -> None:
    hr.Store.open(older).close()
    before = read(older, "SELECT name, value FROM settings ORDER BY name")
    hr.Store.open(older).close()
    assert read(older, "SELECT name, value FROM settings ORDER BY name") == before


def test_the_script_writes_no_file_twice(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["write_upgrade_file.py", str(tmp_path / "new")])
    script.main()
    [written] = (tmp_path / "new").iterdir()
    before = written.read_bytes()
    assert "commit it" in capsys.readouterr().out
    script.main()
    assert "is there already" in capsys.readouterr().out
    assert written.read_bytes() == before
