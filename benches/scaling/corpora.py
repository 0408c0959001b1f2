"""Corpora of any size with questions: real texts extended by mixing them, or synthetic texts."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import hedgerow as hr
from hedgerow._judged import read_judgements, read_queries
from hedgerow.typing import Judgements
from suite.corpus import made_up, real_vectors
from suite.shapes import Vectors, nearby, unit

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_MOVED = 0.25


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks with vectors, and questions with vectors. `names` are the ids of the questions, which
    are the keys of `judgements`. `judgements` is empty for a collection without judgments.
    """

    name: str
    chunks: list[hr.Chunk]
    names: list[str]
    questions: list[str]
    vectors: Vectors
    judgements: Judgements = field(default_factory=dict)

    @property
    def dimensions(self) -> int:
        """The number of dimensions of a vector."""
        return int(self.vectors.shape[1])


def without_texts(count: int, questions: int) -> Corpus:
    """Return a corpus of `count` synthetic chunks, like those of `make bench`."""
    made = made_up(count)
    asked = made.questions[:questions]
    names = [str(number) for number in range(len(asked))]
    chunks = list(made.chunks(with_vectors=True))
    return Corpus("made up", chunks, names, asked, made.question_vectors[: len(asked)])


def grown(folder: Path, count: int, questions: int) -> Corpus:
    """Return the first documents of a folder, extended by mixtures of two documents up to `count`.

    A mixture has the first half of one document and the second half of another. Its vector lies
    between theirs, moved by a quarter of its length. So the word frequencies are those of real
    texts, and there are no duplicates.
    """
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    vectors, asked = real_vectors(folder)
    chunks = [_chunk(*pair) for pair in zip(documents[:count], vectors[:count], strict=True)]
    chunks += _mixtures(documents, vectors, max(0, count - len(documents)))
    queries = read_queries(folder / "queries.jsonl.gz")[:questions]
    return Corpus(
        folder.name,
        chunks,
        [query.id for query in queries],
        [query.text for query in queries],
        asked[: len(queries)],
        read_judgements(folder / "qrels.tsv.gz"),
    )


def _chunk(document: dict[str, str], vector: Vectors) -> hr.Chunk:
    return hr.Chunk(
        document["id"],
        document.get("path") or document["id"],
        document["content"],
        title=document.get("title", ""),
        summary=document.get("summary", ""),
        tags=document.get("tags", ()),
        embedding=vector,
    )


def _mixtures(documents: Sequence[dict[str, str]], vectors: Vectors, count: int) -> list[hr.Chunk]:
    dice = np.random.default_rng(29)
    pairs = dice.integers(0, len(documents), (count, 2))
    between = unit(vectors[pairs[:, 0]] + vectors[pairs[:, 1]])
    moved = nearby(dice, between, _MOVED)
    sentences = [_SENTENCE_END.split(document["content"]) for document in documents]
    made = []
    for number, (first, second) in enumerate(pairs.tolist()):
        head, tail = sentences[first], sentences[second]
        texts = [*head[: (len(head) + 1) // 2], *tail[len(tail) // 2 :]]
        title = documents[first].get("title", "")
        name = f"mixture-{number}"
        made.append(
            hr.Chunk(name, f"{name}.txt", " ".join(texts), title=title, embedding=moved[number])
        )
    return made
