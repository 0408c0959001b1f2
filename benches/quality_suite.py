"""Measure profile="best" on the suite of eight collections, by keywords only and with vectors.

python benches/quality.py --suite FOLDER [--embedder NAME] [--max-sim MODEL]

The folder has a subfolder for each of `COLLECTIONS`, in the format that `quality.py` reads. Each
conversation has its own index, in which a turn is a chunk of its session. Sessions are ranked by
their best turn. The vectors come from the folders; with --embedder a model computes them, which
takes minutes to hours. With --max-sim the hits are reranked by late interaction over the token vectors of
an ONNX model, such as that of an installed companion package.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import JudgedQuery, read_judgements, read_queries, read_vectors
from hedgerow.embedders.base import AnyEmbedder, Embedder
from hedgerow.rerankers.base import Reranker
from hedgerow.typing import JudgedBy, Judgements

MEASURE = evaluation.MEASURES[0]


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection of the suite: its folder, the folder of its chunks, and its kind of ids."""

    folder: str
    chunks: str
    by: JudgedBy = "id"
    talks: bool = False


COLLECTIONS = (
    Collection("scifact", "scifact"),
    Collection("cranfield", "cranfield"),
    Collection("cacm", "cacm"),
    Collection("cisi", "cisi"),
    Collection("npl", "npl"),
    Collection("jb-lme-seed", "jb-lme-seed"),
    Collection("locomo-turn", "locomo-turn", talks=True),
    Collection("locomo-session", "locomo-turn", by="path", talks=True),
)


def lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON Lines."""
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def chunks(folder: Path, collection: Collection) -> Iterator[tuple[str, hr.Chunk]]:
    """Yield each chunk with its scope. Every scope has its own index."""
    documents = lines(folder / collection.chunks / "corpus.jsonl.gz")
    vectors = np.load(folder / collection.chunks / "emb_docs.npy").astype(np.float32)
    for ordinal, (keys, vector) in enumerate(zip(documents, vectors, strict=True)):
        path = keys.get("path") or keys["id"]
        metadata = {key: keys[key] for key in ("speaker", "role", "date") if keys.get(key)}
        yield (
            keys.get("scope", ""),
            hr.Chunk(
                keys["id"],
                path.rpartition("/")[0] if collection.talks else path,
                keys["content"],
                title=keys.get("title", ""),
                summary=keys.get("summary", ""),
                tags=keys.get("tags", ()),
                metadata=metadata if collection.talks else {},
                ordinal=ordinal if collection.talks else 0,
                embedding=vector,
            ),
        )


def judgements_of(folder: Path, collection: Collection) -> Judgements:
    """Return the judgments. Judgments of sessions use the paths of their turns."""
    judgements = read_judgements(folder / collection.folder / "qrels.tsv.gz")
    if collection.by == "id":
        return judgements
    documents = lines(folder / collection.folder / "corpus.jsonl.gz")
    paths = {keys["id"]: keys["path"].removesuffix(".md") for keys in documents}
    return {
        query: {paths[name]: score for name, score in judged.items()}
        for query, judged in judgements.items()
    }


@dataclass(frozen=True, slots=True)
class Scoped:
    """The index of a scope, its questions with their judgements, and the vectors of the questions."""

    index: hr.Index
    task: evaluation.Task
    vectors: Embedder | None


def scopes(
    folder: Path, collection: Collection, embedder: AnyEmbedder | None = None
) -> Iterator[Scoped]:
    """Yield the scopes of a collection one by one."""
    own = folder / collection.folder
    queries = read_queries(own / "queries.jsonl.gz")
    of_queries = {keys["id"]: keys.get("scope", "") for keys in lines(own / "queries.jsonl.gz")}
    rows = read_vectors(own / "emb_queries.npy", len(queries))
    vectors: Embedder = evaluation.ReadyVectors([query.text for query in queries], rows)
    judgements = judgements_of(folder, collection)
    found: dict[str, list[hr.Chunk]] = {}
    for scope, chunk in chunks(folder, collection):
        found.setdefault(scope, []).append(chunk)
    for scope, scoped in found.items():
        index = hr.Index.in_memory()
        if embedder is None:
            index.upsert(scoped)
        else:
            bare = [hr.Chunk(**{**one.to_dict(), "embedding": None}) for one in scoped]
            hr.Retriever(index, embedder=embedder).upsert(bare)
        asked: Sequence[JudgedQuery] = [one for one in queries if of_queries[one.id] == scope]
        of_scope = {one.id: judgements[one.id] for one in asked if one.id in judgements}
        task = evaluation.make_task(index, asked, of_scope, collection.by)
        if embedder is not None:
            vectors = evaluation.embed_once(embedder, asked, index=index)
        yield Scoped(index, task, vectors)


def measure(
    folder: Path,
    collection: Collection,
    embedder: AnyEmbedder | None = None,
    reranker: Reranker | None = None,
) -> list[float]:
    """Return the mean nDCG@10 by keywords only, and with vectors."""
    values: list[list[float]] = [[], []]
    for scoped in scopes(folder, collection, embedder):
        for measured, way in zip(values, evaluation.best_profile(["bm25", "hybrid"]), strict=True):
            outcome = evaluation.outcome_of(
                scoped.index, scoped.task, way, vectors=scoped.vectors, reranker=reranker
            )
            measured += [one[MEASURE] for one in outcome.per_query.values()]
    return [sum(one) / len(one) for one in values]


def print_suite(
    folder: Path, embedder: AnyEmbedder | None = None, reranker: Reranker | None = None
) -> None:
    """Print a line for each collection, and the overall means."""
    print(f"{MEASURE:20}{'keywords':>10}{'vectors':>10}")
    measured = []
    for collection in COLLECTIONS:
        measured.append(measure(folder, collection, embedder, reranker))
        keywords, with_vectors = measured[-1]
        print(f"{collection.folder:20}{keywords:10.4f}{with_vectors:10.4f}", flush=True)
    keywords, with_vectors = (sum(one) / len(measured) for one in zip(*measured, strict=True))
    print(f"{'mean':20}{keywords:10.4f}{with_vectors:10.4f}")
