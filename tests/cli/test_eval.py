"""`hedgerow eval`: tables, charts, and errors in its files."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import hedgerow as hr
from command_line import as_json, failed, failed_as_json, ok
from hedgerow.evaluation import MEASURES
from local_server import LocalServer, Reply, Request
from retrieval_doubles import FnvEmbedder, fnv64

QUERIES = [
    {"id": "1", "text": "hedgehogs in winter"},
    {"id": "2", "text": "frozen water", "date": "2026-04-18"},
    {"id": "3", "text": "not judged"},
]
QRELS = "query-id\tcorpus-id\tscore\n1\thedge\t2\n1\tpond\t1\n2\tpond\t1\n2\tlake\t1\n9\thedge\t1\n"
GIVEN = ["--db", "notes.db", "--queries", "queries.jsonl", "--qrels", "qrels.tsv"]


@pytest.fixture(autouse=True)
def judged_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with hr.Index.open("notes.db") as index:
        hr.Retriever(index, embedder=FnvEmbedder()).upsert([
            hr.Chunk("hedge", "hedge.md", "Hedgehogs sleep all winter."),
            hr.Chunk("pond", "pond.md", "The water of the pond is frozen in winter."),
            hr.Chunk("soup", "soup.md", "Peas, leeks and water."),
        ])  # fmt: skip
    write_queries()
    Path("qrels.tsv").write_text(QRELS)
    return tmp_path


def write_queries(**extra: Any) -> None:
    lines = [query | {key: of(query["text"]) for key, of in extra.items()} for query in QUERIES]
    Path("queries.jsonl").write_text("\n".join(map(json.dumps, lines)))


def ollama(request: Request) -> Reply:
    return Reply({"embeddings": [fnv64(text) for text in request.body["input"]]})


def test_a_table_with_what_was_left_out() -> None:
    lines = ok("eval", *GIVEN).splitlines()
    assert lines[:4] == [
        "2 judged queries on notes.db (3 chunks); 4 judgements by id.",
        "1 judged query not among the queries and left out (9).",
        "1 query without a judgement and left out (3).",
        "1 judged document not in the index and so not found (lake).",
    ]
    assert [line.split() for line in lines[5:6]] == [
        ["matching", "mode", "fusion", "neighbors", "reweight", "adds", *MEASURES, "seconds"]
    ]
    figures = ["0.8066", "0.7500", "1.0000"]
    assert [line.split()[:-1] for line in lines[7:]] == [
        ["spec", "bm25", *figures],
        ["extended", "bm25", *figures],
        [
            "extended",
            "bm25",
            "score",
            "neighbors",
            "not",
            "reweighted",
            "speakers,",
            "dates",
            *figures,
        ],
    ]
    plain = ok("eval", *GIVEN, "--no-best").splitlines()
    assert plain[5].split() == [
        "matching", "mode", "fusion", "nDCG@10", "Recall@10", "MRR@10", "seconds"
    ]  # fmt: skip
    assert len(plain) == len(lines) - 1


def test_every_option_can_be_measured_on_its_own() -> None:
    given = [*GIVEN, "--matching", "spec", "--no-best"]
    found = as_json("eval", *given, "--neighbors", "off,on", "--reweight", "on,off")["results"]
    assert [(row["fusion"], row["neighbors"], row["reweight"]) for row in found] == [
        (None, False, True),
        (None, False, False),
        ("rrf", True, True),
        ("rrf", True, False),
        ("score", True, True),
        ("score", True, False),
    ]


def test_json_has_all_combinations_where_queries_have_vectors() -> None:
    write_queries(embedding=fnv64)
    found = as_json("eval", *GIVEN)
    *results, by_keywords, hybrid = found.pop("results")
    for row, mode in [(by_keywords, "bm25"), (hybrid, "hybrid")]:
        way = [row[name] for name in ("matching", "mode", "fusion", "neighbors", "reweight")]
        assert way == ["extended", mode, "score", True, False]
    assert found.pop("seconds") >= 0
    assert found == {
        "db": "notes.db",
        "chunks": 3,
        "by": "id",
        "queries": 2,
        "judgements": 4,
        "unasked": ["9"],
        "unjudged": ["3"],
        "withoutRelevant": [],
        "unknown": ["lake"],
    }
    assert [(row["matching"], row["mode"], row["fusion"]) for row in results] == [
        (matching, mode, fusion)
        for matching in ("spec", "extended")
        for mode, fusion in [("bm25", None), ("hybrid", "rrf"), ("hybrid", "score")]
    ]
    for row in results:
        assert row["degraded"] == 0
        assert row["seconds"] >= 0
        assert 0 < row["nDCG@10"] <= 1
        assert row["Recall@10"] == 0.75


def test_vectors_come_from_any_of_three(server: LocalServer) -> None:
    server.answer = ollama
    asked = ["eval", *GIVEN, "--modes", "semantic,hybrid", "--matching", "spec", "--no-best"]
    with hr.Index.open("notes.db") as index:
        hr.Retriever(index, embedder=FnvEmbedder()).reembed()
    np.save("vectors.npy", np.array([fnv64(query["text"]) for query in QUERIES], np.float16))
    by_file = as_json(*asked, "--query-vectors", "vectors.npy")["results"]
    write_queries(embedding=fnv64)
    by_key = as_json(*asked)["results"]
    write_queries()
    with hr.Index.open("unnamed.db") as copy, hr.Index.open("notes.db") as index:
        copy.upsert(index.chunks())
    asked[2] = "unnamed.db"
    by_name = as_json(*asked, "--embedder", f"ollama:fnv@{server.url}")["results"]
    for results in (by_file, by_key, by_name):
        assert [row["mode"] for row in results] == ["semantic", "hybrid", "hybrid"]
        for row in results:
            del row["seconds"]
    assert by_file == by_key == by_name


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--modes", "hybrid"], "give --embedder NAME or --query-vectors FILE.npy, put an"),
        (["--modes", "bm25,fuzzy"], "'fuzzy' is not one of bm25, semantic, hybrid; write them"),
        (["--matching", ""], "'' is not one of spec, extended"),
        (["--modes", "hybrid", "--embedder", "ollama:x", "--query-vectors", "x"], ", not both."),
        (["--chart", "x.jpg"], "--chart draws .svg and .png, and x.jpg is neither."),
        (["--chart", "no/x.svg"], "--chart no/x.svg: there is no folder no."),
        (["--per-query", "no/x.tsv"], "--per-query no/x.tsv: there is no folder no."),
        (["--by", "title"], "'title' is not one of 'id', 'path'"),
    ],
)
def test_wrong_usage(extra: list[str], message: str) -> None:
    assert message in failed(2, "eval", *GIVEN, *extra)


def test_an_index_without_vectors_is_not_searched_by_meaning() -> None:
    write_queries(embedding=fnv64)
    with hr.Index.open("plain.db") as index:
        index.upsert([hr.Chunk("hedge", "hedge.md", "Hedgehogs.")])
    given = ["--db", "plain.db", *GIVEN[2:]]
    assert "plain.db has no vectors" in failed(2, "eval", *given, "--modes", "hybrid")
    assert "hybrid" not in ok("eval", *given)


def test_failures_name_the_file_and_the_line() -> None:
    error = failed_as_json(1, "eval", *GIVEN[:-1], "none.tsv")
    assert error == {"code": "path_not_found", "message": "none.tsv: no such file"}
    Path("qrels.tsv").write_text("1\thedge\n")
    assert failed(1, "eval", *GIVEN).startswith(
        "Error: qrels.tsv:1: 2 columns; write query, document"
    )
    Path("qrels.tsv").write_text("1\tlake.md\t1\n")
    assert "none of the 1 judged documents, such as" in failed(1, "eval", *GIVEN)
    write_queries()
    Path("qrels.tsv").write_text(QRELS)
    assert "make it with: hedgerow index" in failed(1, "eval", "--db", "none.db", *GIVEN[2:])
    write_queries(embedding=lambda _: [1.0, 2.0])
    error = failed_as_json(1, "eval", *GIVEN, "--modes", "hybrid")
    assert error["code"] == "dimension_mismatch"


def test_an_embedder_that_fails_ends_it(server: LocalServer) -> None:
    server.answer = lambda _: Reply({"error": "no such model"}, status=404)
    message = failed(
        1, "eval", *GIVEN, "--modes", "hybrid", "--embedder", f"ollama:fnv64@{server.url}"
    )
    assert "no such model" in message


def test_another_embedder_is_refused_before_it_is_asked(server: LocalServer) -> None:
    message = failed(1, "eval", *GIVEN, "--modes", "hybrid", "--embedder", f"ollama:x@{server.url}")
    assert 'has vectors of the embedder "fnv64", not "x"' in message
    assert server.bodies == []


def test_charts(judged_notes: Path) -> None:
    write_queries(embedding=fnv64)
    for name in ("a.svg", "b.svg", "c.PNG"):
        ok("eval", *GIVEN, "--chart", name)
    assert (judged_notes / "a.svg").read_bytes() == (judged_notes / "b.svg").read_bytes()
    drawn = " ".join(ET.parse("a.svg").getroot().itertext())  # noqa: S314 - we wrote it
    for text in ("nDCG@10", "Recall@10", "spec bm25", "extended hybrid score", "0.807"):
        assert text in drawn
    assert (judged_notes / "c.PNG").read_bytes().startswith(b"\x89PNG")


def test_per_query() -> None:
    ok(
        "eval",
        *GIVEN,
        "--modes",
        "bm25",
        "--matching",
        "spec",
        "--no-best",
        "--per-query",
        "each.tsv",
    )
    with Path("each.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, dialect="excel-tab"))
    assert [(row["query"], row["mode"], row["fusion"], row["Recall@10"]) for row in rows] == [
        ("1", "bm25", "", "1.000000"),
        ("2", "bm25", "", "0.500000"),
    ]
    assert (rows[0]["neighbors"], rows[0]["reweight"]) == ("off", "on")


def test_a_query_without_a_vector_is_told() -> None:
    write_queries(embedding=lambda text: fnv64(text) if "water" in text else [])
    text = ok("eval", *GIVEN, "--modes", "hybrid", "--matching", "spec", "--fusion", "rrf")
    assert "spec hybrid rrf: 1 query without a vector, or with a leg that failed.\n" in text


def test_a_missing_extra_is_said_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert 'run: pip install "hedgerow[eval]"' in failed(1, "eval", *GIVEN)
    monkeypatch.delitem(sys.modules, "ir_measures")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ok("eval", *GIVEN)
    assert "a chart needs the package matplotlib" in failed(1, "eval", *GIVEN, "--chart", "x.svg")


def test_a_folder_has_all_three_files() -> None:
    folder = Path("lang")
    folder.mkdir()
    passages = [
        {"id": 1, "title": "庭", "text": "刺猬在树篱下冬眠。"},
        {"_id": "2", "text": "池塘里的水"},
    ]
    (folder / "passages.jsonl.gz").write_bytes(
        gzip.compress("\n".join(map(json.dumps, passages)).encode())
    )
    (folder / "queries.jsonl").write_text(json.dumps({"id": "a", "text": "哪里冬眠"}))
    (folder / "qrels.tsv").write_text("a\t1\t1\n")
    found = as_json(
        "eval", "--folder", "lang", "--modes", "bm25", "--matching", "spec", "--no-best"
    )
    assert found["chunks"] == 2
    assert [row["nDCG@10"] for row in found["results"]] == [1.0]
    assert "leave --qrels out" in failed(2, "eval", "--folder", "lang", "--qrels", "x")
    both = ["--folder", "lang", "--folder", "lang", "--modes", "bm25", "--no-best"]
    table = ok("eval", *both).splitlines()
    assert sum(line.startswith("lang ") for line in table) == 4
    assert "folder" in table[3]
    folders = as_json("eval", *both)["folders"]
    assert [one["chunks"] for one in folders] == [2, 2]
    assert "--chart is of one --folder" in failed(2, "eval", *both, "--chart", "x.svg")
    assert "Missing option '--queries'" in failed(2, "eval", "--db", "notes.db")
    (folder / "passages.jsonl.gz").write_bytes(b"{}")
    assert 'needs an "id"' in failed(1, "eval", "--folder", "lang")


def test_a_reranker_is_named_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Backwards:
        name = "backwards"
        closed = 0

        def rerank(self, _: str, documents: Any) -> list[Any]:
            return [-one.score for one in documents]

        def close(self) -> None:
            self.closed += 1

    reranker = Backwards()
    monkeypatch.setattr("hedgerow.rerankers.reranker_named", lambda _: reranker)
    plain = as_json("eval", *GIVEN, "--modes", "bm25")
    reranked = as_json("eval", *GIVEN, "--modes", "bm25", "--rerank", "tei:http://localhost:1")
    assert reranker.closed == 1
    before, after = ([one["nDCG@10"] for one in found["results"]] for found in (plain, reranked))
    assert before != after
