"""How good the answers are, on a collection with judgements and ready-made vectors.

python benches/quality.py FOLDER [CHART.svg]
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import read_judgements, read_queries, read_vectors
from hedgerow.cli.eval_chart import draw
from hedgerow.typing import JudgedMode


def chunks(folder: Path) -> Iterator[hr.Chunk]:
    """The documents of the collection with their vectors, a chunk each."""
    vectors = np.load(folder / "emb_docs.npy").astype(np.float32)
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line, vector in zip(lines, vectors, strict=True):
            document = json.loads(line)
            yield hr.Chunk(
                document["id"],
                document.get("path") or document["id"],
                document["content"],
                title=document.get("title", ""),
                summary=document.get("summary", ""),
                tags=document.get("tags", ()),
                embedding=vector,
            )


def main() -> None:
    """Print a line for each way of searching: both matchings, by keywords and both fusions; and best."""
    folder = Path(sys.argv[1])
    queries = read_queries(folder / "queries.jsonl.gz")
    rows = read_vectors(folder / "emb_queries.npy", len(queries))
    vectors = evaluation.ReadyVectors([query.text for query in queries], rows)
    index = hr.Index.in_memory()
    index.upsert(chunks(folder))
    task = evaluation.make_task(index, queries, read_judgements(folder / "qrels.tsv.gz"))
    print(f"{folder.name}: {len(index)} chunks, {len(task.queries)} queries")
    print(f"{'':48}" + "".join(f"{name:>11}" for name in (*evaluation.MEASURES, "seconds")))
    outcomes = []
    modes: list[JudgedMode] = ["bm25", "hybrid"]
    ways = evaluation.combinations(modes, ["spec", "extended"], ["rrf", "score"])
    for way in [*ways, *evaluation.best(modes)]:
        outcome = evaluation.outcome_of(index, task, way, vectors=vectors)
        outcomes.append(outcome)
        figures = "".join(f"{outcome.measures[name]:11.4f}" for name in evaluation.MEASURES)
        print(f"{way!s:48}{figures}{outcome.seconds:11.2f}")
    if len(sys.argv) > 2:
        draw(outcomes, sys.argv[2])


if __name__ == "__main__":
    main()
