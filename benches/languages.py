"""Measure the tokenizer `words` on a large index: speed, and quality against words without stems.

python benches/languages.py [--chunks N] [--english DIR] FOLDER...

A FOLDER has passages.jsonl.gz, queries.jsonl.gz and qrels.tsv.gz, as `hedgerow eval --folder` reads
them. DIR has corpus.jsonl.gz and queries.jsonl.gz, as quality.py reads them. The passages of a
folder are searched alone, and again among synthetic passages up to N. A synthetic passage consists
of fragments of 40 characters from random passages, so it has words of the language but answers no
query. The times are medians.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import hedgerow as hr
from hedgerow._judged import read_passages, read_queries
from hedgerow.typing import Tokenizer

FRAGMENT = 40
QUESTIONS = 200
TOKENIZERS: tuple[Tokenizer, ...] = ("words", "unicode61")


def filled(passages: Sequence[hr.Chunk], count: int) -> Iterator[hr.Chunk]:
    """Yield the passages, then synthetic ones up to `count`."""
    yield from passages
    chance = random.Random(1)
    texts = [one.content for one in passages]
    for number in range(len(passages), count):
        parts = []
        for _ in range(max(1, len(chance.choice(texts)) // FRAGMENT)):
            text = chance.choice(texts)
            start = chance.randrange(max(1, len(text) - FRAGMENT))
            parts.append(text[start : start + FRAGMENT])
        yield hr.Chunk(f"synthetic-{number}", f"synthetic-{number}", " ".join(parts))


def index_of(passages: Sequence[hr.Chunk], count: int, tokenizer: Tokenizer) -> hr.Index:
    """Return an index in memory that has loaded its ranking."""
    index = hr.Index.in_memory(tokenizer=tokenizer, ranking="memory")
    index.upsert(filled(passages, count))
    index.search_bm25("nothing")
    return index


def median_time(index: hr.Index, questions: Sequence[str]) -> float:
    """Return the median time per question in milliseconds."""
    times = []
    for question in questions:
        start = time.perf_counter()
        index.search_bm25(question, 10)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def english(folder: Path, count: int) -> float:
    """Return the median time per English question in milliseconds."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    passages = [hr.Chunk(row["id"], row["id"], row["content"]) for row in rows][:count]
    questions = [one.text for one in read_queries(folder / "queries.jsonl.gz")]
    with index_of(passages, count, "words") as index:
        return median_time(index, questions[:QUESTIONS])


def measure(folder: Path, count: int) -> None:
    """Print a line for each size and tokenizer."""
    passages = list(read_passages(folder / "passages.jsonl.gz"))
    queries = read_queries(folder / "queries.jsonl.gz")
    for size in (len(passages), count):
        for tokenizer in TOKENIZERS:
            with index_of(passages, size, tokenizer) as index:
                found = hr.evaluate(
                    index,
                    folder / "queries.jsonl.gz",
                    folder / "qrels.tsv.gz",
                    modes=["bm25"],
                    matching=["spec"],
                    best=False,
                )
                figure = found.outcomes[0].measures["nDCG@10"]
                taken = median_time(index, [query.text for query in queries[:QUESTIONS]])
                print(
                    f"{folder.name:8} {size:8,} chunks  {tokenizer:10} nDCG@10 {figure:.4f}  "
                    f"{taken:.2f} ms",
                    flush=True,
                )


def main() -> None:
    """Measure each folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--chunks", type=int, default=100_000, metavar="N")
    parser.add_argument("--english", type=Path, metavar="DIR")
    given = parser.parse_args()
    if given.english is not None:
        taken = english(given.english, given.chunks)
        print(f"english  {given.chunks:8,} chunks  words      {taken:.2f} ms", flush=True)
    for folder in given.folders:
        measure(folder, given.chunks)


if __name__ == "__main__":
    main()
