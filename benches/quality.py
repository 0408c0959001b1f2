"""Measure search quality on a collection with judgments and precomputed vectors.

python benches/quality.py FOLDER [CHART.svg]
python benches/quality.py --suite FOLDER [--embedder NAME]

--suite measures the profile best on eight collections in one folder (quality_suite.py).

By default each document is a chunk with its own path. --folders gives the documents of a folder the
same path. --threads groups 1 to 8 documents under one path with the title of the first, as in a
mail thread. --passages cuts documents into passages without vectors, so only keywords are measured.
Documents are judged by id, or by path with --by path, which also groups results. Passages are
always judged by path.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import read_judgements, read_queries, read_vectors
from hedgerow.cli.eval_text import draw
from hedgerow.embedders import OnnxEmbedder, embedder_named
from hedgerow.rerankers import MaxSimReranker
from hedgerow.typing import JudgedBy, JudgedMode, Judgements, Tokenizer
from quality_suite import print_suite

THREAD_SIZES = (1, 1, 2, 3, 5, 8)
"""The possible numbers of documents in a thread, so that short threads compete with long ones."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the collection, with the path under which it is indexed."""

    id: str
    path: str
    title: str
    content: str
    summary: str
    tags: Sequence[str]
    vector: Any


@dataclass(frozen=True, slots=True)
class Shape:
    """The mapping from documents to chunks: the options of the command line."""

    passages: int | None = None
    titled: bool = True
    joined: Literal["folders", "threads", "similar"] | None = None
    by: JudgedBy = "id"
    tokenizer: Tokenizer = "porter unicode61"


def documents(folder: Path) -> Iterator[Document]:
    """Yield the documents of the collection."""
    vectors = np.load(folder / "emb_docs.npy").astype(np.float32)
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line, vector in zip(lines, vectors, strict=True):
            keys = json.loads(line)
            yield Document(
                keys["id"],
                keys.get("path") or keys["id"],
                keys.get("title", ""),
                keys["content"],
                keys.get("summary", ""),
                keys.get("tags", ()),
                vector,
            )


def joined(found: list[Document], shape: Shape) -> list[Document]:
    """Return the documents in path order, with paths merged according to `shape`."""
    if shape.joined is None:
        return found
    if shape.joined == "folders":
        return [replace(one, path=one.path.rpartition("/")[0]) for one in found]
    threads = _threads(found, similar=shape.joined == "similar")
    return [
        replace(one, path=f"thread-{number}", title=thread[0].title)
        for number, thread in enumerate(threads)
        for one in thread
    ]


def _threads(found: list[Document], *, similar: bool) -> Iterator[list[Document]]:
    """Yield threads of random documents, or of a random document and those most similar to it."""
    chance = random.Random(1)
    vectors = np.stack([one.vector for one in found])
    rest = list(range(len(found)))
    chance.shuffle(rest)
    while rest:
        size = chance.choice(THREAD_SIZES)
        if similar:
            first = vectors[rest[0]]
            rest[1:] = sorted(rest[1:], key=(vectors @ -first).__getitem__)
        yield [found[number] for number in rest[:size]]
        rest = rest[size:]
        if similar:
            chance.shuffle(rest)


def chunks(found: list[Document], shape: Shape) -> Iterator[hr.Chunk]:
    """Yield the chunks of documents in the order of their paths."""
    for ordinal, document in enumerate(found):
        title = document.title if shape.titled else ""
        if shape.passages is None:
            yield hr.Chunk(
                document.id,
                document.path,
                document.content,
                title=title,
                summary=document.summary,
                tags=document.tags,
                ordinal=ordinal,
                embedding=document.vector,
            )
            continue
        for number, passage in enumerate(_passages(document.content, shape.passages)):
            yield hr.Chunk(
                f"{document.id}#{number}",
                document.path,
                passage,
                title=title,
                ordinal=ordinal * 1_000 + number,
            )


def _passages(text: str, words: int) -> Iterator[str]:
    """Cut a text into passages of equal lengths of about `words` words."""
    found = text.split()
    size = -(-len(found) // max(1, round(len(found) / words))) or 1
    for start in range(0, max(1, len(found)), size):
        yield " ".join(found[start : start + size])


def judgements_by_path(judgements: Judgements, found: list[Document]) -> Judgements:
    """Return the judgements with the path of each document instead of its id."""
    paths = {one.id: one.path for one in found}

    def of_query(judged: Mapping[str, int]) -> dict[str, int]:
        best: dict[str, int] = {}
        for name, score in judged.items():
            path = paths.get(name, name)
            best[path] = max(score, best.get(path, score))
        return best

    return {query: of_query(judged) for query, judged in judgements.items()}


def options() -> tuple[argparse.Namespace, Shape | None]:
    """Return the options of the command line, and the shape that they describe.

    The shape is None with --suite.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("chart", type=Path, nargs="?")
    parser.add_argument("--suite", action="store_true", help="measure the collections of FOLDER")
    parser.add_argument(
        "--embedder", help="with --suite, makes the vectors: local, or another name"
    )
    parser.add_argument(
        "--max-sim",
        metavar="MODEL",
        help="with --suite, reranks by the token vectors of a folder's model",
    )
    parser.add_argument("--passages", type=int, metavar="WORDS")
    parser.add_argument("--untitled", action="store_true", help="leave titles out")
    join = parser.add_mutually_exclusive_group()
    join.add_argument("--folders", action="store_true", help="a path for each folder")
    join.add_argument(
        "--threads",
        choices=["random", "similar"],
        help="a path for each thread of random or similar documents",
    )
    parser.add_argument("--by", choices=["id", "path"], default="id")
    parser.add_argument("--tokenizer", default="porter unicode61")
    given = parser.parse_args()
    if given.suite:
        return given, None
    how = {"random": "threads", "similar": "similar"}.get(given.threads)
    shape = Shape(
        passages=given.passages,
        titled=not given.untitled,
        joined="folders" if given.folders else how,
        by="path" if given.passages else given.by,
        tokenizer=given.tokenizer,
    )
    return given, shape


def main() -> None:
    """Print a line for each search: both matchings, keywords, both fusions, and profile best."""
    given, shape = options()
    folder, chart = given.folder, given.chart
    if shape is None:
        embedder = embedder_named(given.embedder) if given.embedder else None
        tokens = given.max_sim and OnnxEmbedder(given.max_sim)
        print_suite(folder, embedder, MaxSimReranker(tokens) if tokens else None)
        return
    queries = read_queries(folder / "queries.jsonl.gz")
    rows = read_vectors(folder / "emb_queries.npy", len(queries))
    vectors = evaluation.ReadyVectors([query.text for query in queries], rows)
    found = joined(list(documents(folder)), shape)
    judgements = read_judgements(folder / "qrels.tsv.gz")
    if shape.by == "path":
        judgements = judgements_by_path(judgements, found)
    index = hr.Index.in_memory(tokenizer=shape.tokenizer)
    index.upsert(chunks(found, shape))
    task = evaluation.make_task(index, queries, judgements, shape.by)
    print(f"{folder.name}: {len(index)} chunks, {len(task.queries)} queries")
    print(f"{'':48}" + "".join(f"{name:>11}" for name in (*evaluation.MEASURES, "seconds")))
    outcomes = []
    modes: list[JudgedMode] = ["bm25"] if shape.passages else ["bm25", "hybrid"]
    ways = evaluation.combinations(modes, ["spec", "extended"], ["rrf", "score"])
    for way in [*ways, *evaluation.best_profile(modes)]:
        outcome = evaluation.outcome_of(index, task, way, vectors=vectors)
        outcomes.append(outcome)
        figures = "".join(f"{outcome.measures[name]:11.4f}" for name in evaluation.MEASURES)
        print(f"{way!s:48}{figures}{outcome.seconds:11.2f}")
    if chart:
        draw(outcomes, str(chart))


if __name__ == "__main__":
    main()
