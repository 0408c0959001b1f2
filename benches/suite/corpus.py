"""The corpora: synthetic and reproducible, of any size, or a folder of real texts."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hedgerow as hr

from .shapes import Vectors, blocks, loose, noise, unit

QUESTIONS = 200
_VOCABULARY = 30_000
_WORDS = {"title": 5, "summary": 12, "content": 80}
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
CHUNKS_PER_PATH = 10


class Text(NamedTuple):
    """A chunk as a row of FTS5. `row` counts from 1."""

    row: int
    path: str
    title: str
    summary: str
    tags: str
    content: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts, a unit vector for each, and queries.

    `questions` are natural questions, each with a vector. `asked` holds the other kinds of query,
    by name. "new" are further questions, which no contender sees before they are timed.
    """

    name: str
    texts: list[Text]
    vectors: Vectors
    questions: list[str]
    question_vectors: Vectors
    asked: dict[str, list[str]]

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self.texts)

    @property
    def kept(self) -> int:
        """The stamp that a tenth of the chunks is below."""
        return len(self) // 10

    def stamps(self) -> list[int]:
        """Return a number for each chunk, in random order, for filters."""
        stamps: list[int] = np.random.default_rng(5).permutation(len(self)).tolist()
        return stamps

    def chunks(self, *, with_vectors: bool, stamped: bool = False) -> Iterator[hr.Chunk]:
        """Yield the texts as chunks of hedgerow, with metadata and another tag if `stamped`."""
        stamps: Iterable[int | None] = self.stamps() if stamped else itertools.repeat(None)
        return (
            hr.Chunk(
                str(text.row),
                text.path,
                text.content,
                text.title,
                text.summary,
                [*text.tags.split(), *([] if stamp is None else [group(stamp)])],
                None if stamp is None else _metadata(stamp),
                embedding=vector if with_vectors else None,
            )
            # The stamps may be an endless iterator.
            for text, vector, stamp in zip(self.texts, self.vectors, stamps, strict=False)
        )

    def with_chunks_per_path(self, count: int, rows: int | None = None) -> Corpus:
        """Return the corpus with `count` chunks in each path, or only for the first `rows`."""
        texts = [
            text._replace(path=_path(place, count)) if rows is None or place < rows else text
            for place, text in enumerate(self.texts)
        ]
        return replace(self, texts=texts)


def group(stamp: int) -> str:
    """Return the tag of a stamp. One chunk in 97 has it."""
    return f"group {stamp % 97}"


def _metadata(stamp: int) -> dict[str, Any]:
    """Return metadata with the stamp under two keys, so an index can declare only one of them."""
    author = f"author {stamp % 97}"
    return {"stamp": stamp, "level": stamp, "author": author, "draft": stamp % 2 == 0}


def _path(place: int, chunks_per_path: int) -> str:
    """Return a path.

    Its folder depends on the length, so a corpus can have paths of several lengths.
    """
    folder = "notes" if chunks_per_path == CHUNKS_PER_PATH else f"notes of {chunks_per_path}"
    return f"{folder}/{place // chunks_per_path}.md"


def made_up(count: int, *, chunks_per_path: int = CHUNKS_PER_PATH) -> Corpus:
    """Return `count` chunks of 80 words with Zipfian frequencies, and vectors in clusters."""
    dice = np.random.default_rng(7)
    vocabulary = np.array([_word(rank) for rank in range(_VOCABULARY)], dtype=object)
    columns = {name: _sentences(dice, vocabulary, count, words) for name, words in _WORDS.items()}
    texts = [
        Text(place + 1, _path(place, chunks_per_path), title, summary, "", content)
        for place, (title, summary, content) in enumerate(zip(*columns.values(), strict=True))
    ]
    vectors = loose(dice, count)
    questions = [_question(dice, vocabulary) for _ in range(QUESTIONS)]
    near = vectors[dice.integers(0, count, QUESTIONS)]
    question_vectors = unit(near + noise(dice, QUESTIONS) * np.float32(0.7))
    asked = _asked(texts, questions)
    asked["new"] = [_question(dice, vocabulary) for _ in range(QUESTIONS)]
    return Corpus(f"{count:,}", texts, vectors, questions, question_vectors, asked)


def real(folder: Path) -> Corpus:
    """Return the collection that `benches/quality.py` reads, without its judgments."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    with gzip.open(folder / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        everything = [json.loads(line)["text"] for line in lines]
    questions, new = everything[:QUESTIONS], everything[QUESTIONS:]
    texts = [
        Text(
            row,
            document.get("path") or document["id"],
            document.get("title", ""),
            document.get("summary", ""),
            " ".join(document.get("tags", ())),
            document["content"],
        )
        for row, document in enumerate(documents, 1)
    ]
    vectors, question_vectors = real_vectors(folder)
    return Corpus(
        f"{folder.name} ({len(texts):,})",
        texts,
        vectors,
        questions,
        question_vectors[: len(questions)],
        {**_asked(texts, questions), "new": new[:QUESTIONS]},
    )


def real_vectors(folder: Path) -> tuple[Vectors, Vectors]:
    """Return the vectors of the texts and of the questions, in the order of their lines."""
    loaded = (np.load(folder / f"{name}.npy") for name in ("emb_docs", "emb_queries"))
    texts, questions = (unit(vectors.astype(np.float32)) for vectors in loaded)
    return texts, questions


def _word(rank: int) -> str:
    """Return a pronounceable word of three syllables, different for each rank."""
    base = len(_SYLLABLES)
    # The step is coprime to the number of words, so that consecutive ranks give dissimilar words.
    number = rank * 7919 % base**3
    return "".join(_SYLLABLES[number // base**place % base] for place in range(3))


def _sentences(
    dice: np.random.Generator, vocabulary: NDArray[np.object_], count: int, words: int
) -> list[str]:
    """Return sentences by Zipf's law: the nth word is 1/n as frequent as the first."""
    sentences: list[str] = []
    for block in blocks(count):
        drawn = dice.random((block.stop - block.start, words))
        ranks = (_VOCABULARY**drawn).astype(np.int64) - 1
        sentences += [" ".join(row) for row in vocabulary[ranks]]
    return sentences


def _question(dice: np.random.Generator, vocabulary: NDArray[np.object_]) -> str:
    """Return three informative words: rarely a very frequent one, often a rare one."""
    ranks = (18 * np.exp(11 * dice.random(3))).astype(np.int64)
    rare = dice.integers(_VOCABULARY // 3, _VOCABULARY, 3)
    return " ".join(vocabulary[np.where(ranks < _VOCABULARY, ranks, rare)])


def _asked(texts: list[Text], questions: list[str]) -> dict[str, list[str]]:
    """Return prefix queries of the questions, and phrase, AND and NOT queries of adjacent words."""
    dice = random.Random(11)
    pairs = []
    while len(pairs) < len(questions):
        words = re.findall(r"[a-z]{4,}", dice.choice(texts).content)
        sound = [
            pair
            for pair in itertools.pairwise(words)
            if not any(map(hr.is_stopword, pair)) and pair[0] != pair[1]
        ]
        if sound:
            pairs.append(dice.choice(sound))
    return {
        "prefix": [_with_prefix(question) for question in questions],
        "phrase": [f'"{one} {other}"' for one, other in pairs],
        "AND": [f"{one} AND {other}" for one, other in pairs],
        "NOT": [f"{one} NOT {other}" for one, other in pairs],
    }


def _with_prefix(question: str) -> str:
    """Return a question with its longest word cut by two letters and turned into a prefix."""
    longest = max(re.findall(r"\w+", question), key=len)
    return question.replace(longest, f"{longest[:-2]}*", 1)
