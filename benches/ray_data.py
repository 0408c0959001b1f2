"""Compare queries per second on Ray with those of threads in one process.

pip install "hedgerow[ray]" numpy, then: python benches/ray_data.py FOLDER [QUERIES]

FOLDER is a collection with precomputed vectors, as for benches/quality.py. QUERIES is the number of
queries to run. The queries of the collection are repeated, each with a number appended so that no
two are equal. Ray uses two CPUs.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import ray

import hedgerow as hr
from hedgerow.ray import search_many

_CPUS = 2
_BLOCKS = 8
_TIMES = 3


def rows_of(folder: Path, count: int) -> list[dict[str, Any]]:
    """Return the rows of the dataset, each with its query and its vector."""
    vectors = np.load(folder / "emb_queries.npy").astype(np.float32)
    with gzip.open(folder / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    return [
        {"n": n, "query": f"{texts[n % len(texts)]} {n}", "vector": vectors[n % len(texts)]}
        for n in range(count)
    ]


def chunks_of(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a chunk with a vector for each document of the collection."""
    vectors = np.load(folder / "emb_docs.npy").astype(np.float32)
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line, vector in zip(lines, vectors, strict=True):
            document = json.loads(line)
            names = ("id", "title", "content")
            yield {**{name: document.get(name, "") for name in names}, "embedding": vector}


class Column:
    """An embedder that returns the vectors of all rows, in their order."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.vectors = [row["vector"] for row in rows]

    def embed(self, texts: list[str], /) -> list[Any]:
        """Return the vectors of all rows."""
        return self.vectors[: len(texts)]


def show(name: str, count: int, run: Callable[[], object]) -> None:
    """Run a function several times and print the best time.

    Other load can only make a run slower.
    """
    seconds = []
    for _ in range(_TIMES):
        start = perf_counter()
        run()
        seconds.append(perf_counter() - start)
    print(f"{name:44}{min(seconds):9.2f} s{count / min(seconds):11.0f} queries/s", flush=True)


def main() -> None:
    """Print a line for each way of running the queries."""
    folder = Path(sys.argv[1])
    rows = rows_of(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 6000)
    queries = [row["query"] for row in rows]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "notes.db"
        with hr.Index.open(path) as index:
            index.upsert(chunks_of(folder))
            print(f"{folder.name}: {len(index)} chunks, {len(rows)} hybrid queries, {_CPUS} CPUs")
        with hr.Index.open(path, read_only=True) as index:
            retriever = hr.Retriever(index, embedder=Column(rows))
            for threads in (1, _CPUS):
                show(
                    f"Retriever.search_many, threads={threads}",
                    len(rows),
                    lambda threads=threads: retriever.search_many(queries, threads=threads),
                )
            expected = retriever.search_many(queries, threads=1)
        on_ray(path, rows, expected, Path(scratch))


def on_ray(
    path: Path, rows: list[dict[str, Any]], expected: list[hr.Response], scratch: Path
) -> None:
    """Run the queries in Ray actors, and compare the responses with the expected ones."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    start = perf_counter()
    ray.init(num_cpus=_CPUS, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        print(f"{'Ray starts':44}{perf_counter() - start:9.2f} s")
        ray.data.DataContext.get_current().enable_progress_bars = False
        dataset = ray.data.from_items(rows, override_num_blocks=_BLOCKS).materialize()
        kept = {"checkpoint_path": scratch / "checkpoint"}
        ways: list[tuple[str, dict[str, Any]]] = [
            ("hedgerow.ray, 1 actor", {"actors": 1}),
            (f"hedgerow.ray, {_CPUS} actors", {"actors": _CPUS}),
            (f"hedgerow.ray, {_CPUS} actors, fields=all", {"actors": _CPUS, "fields": "all"}),
            (f"hedgerow.ray, {_CPUS} actors, all in a checkpoint", {"actors": _CPUS, **kept}),
        ]
        found: list[Any] = []
        for name, options in ways:

            def run(options: dict[str, Any] = options) -> None:
                answered = search_many(path, dataset, vector_column="vector", **options)
                found[:] = [answered.materialize()]

            if "checkpoint_path" in options:
                run()
            show(name, len(rows), run)
            answers = sorted(found[0].take_all(), key=lambda row: row["n"])
            same = [[(hit["id"], hit["score"]) for hit in row["results"]] for row in answers] == [
                [(hit.id, hit.score) for hit in response] for response in expected
            ]
            if not same:
                sys.exit("the answers differ")
    finally:
        ray.shutdown()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{'largest process of Ray':44}{peak:9.0f} MB")


if __name__ == "__main__":
    main()
