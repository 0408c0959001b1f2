"""hedgerow itself, through its public API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice, product
from pathlib import Path
from typing import Any

import hedgerow as hr
from suite.corpus import Corpus, Vectors

from . import SHOWN, TOP

FILE = "hedgerow.db"
VARIANTS: dict[str, dict[str, Any]] = {
    "hedgerow, fast": {"vectors": "fast"},
    "hedgerow, codes in memory": {"resident": "codes"},
}
"""Other ways to search vectors, with the options of `Index.open` that select them."""
_BLOCK = 100_000


class Ready:
    """An embedder with precomputed vectors, so that no model is timed."""

    def __init__(self, texts: Iterable[str] = (), vectors: Iterable[Any] = ()) -> None:
        self.vectors: dict[str, Any] = dict(zip(texts, vectors, strict=True))

    def embed(self, texts: Sequence[str]) -> list[Any]:
        """Return the vector of each text."""
        return [self.vectors[text] for text in texts]


class Opened:
    """An index and a retriever for the questions of a corpus."""

    def __init__(self, path: Path, corpus: Corpus, **options: Any) -> None:
        self.path = path
        self.index = hr.Index.open(path, **options)
        self.questions = corpus.questions
        self.ready = Ready(corpus.questions, corpus.question_vectors)
        self.retriever = hr.Retriever(self.index, embedder=self.ready)
        # Texts of stopwords only, which leave only the vector leg to run.
        self._wordless = [" ".join(pair) for pair in product(sorted(hr.EN_STOPWORDS), repeat=2)]

    def nearest(self, vector: Any) -> list[hr.Hit]:
        """Search vectors, exactly or approximately, as the index was opened."""
        return self.index.search_vector(vector, TOP)

    def nearest_many(self, vectors: Vectors) -> list[hr.Response]:
        """Search a batch of vectors on one thread."""
        texts = self._wordless[: len(vectors)]
        self.ready.vectors.update(zip(texts, vectors, strict=True))
        return self.retriever.search_many(
            texts, mode="semantic", limit=TOP, candidates=TOP, threads=1, skip_retry_ladder=True
        )

    def rows(self, answer: Iterable[hr.Hit]) -> list[int]:
        """Return the rows, which are the ids."""
        return [int(hit.id) for hit in answer]

    def close(self) -> None:
        """Close the index."""
        self.index.close()


class Hedgerow(Opened):
    """Complete calls, ranked from memory."""

    NAME = "hedgerow"
    PACKAGES = ()
    NOTE = "whole calls: from the text of a query to hits that have their texts"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        del shared
        super().__init__(folder / FILE, corpus, ranking="memory")
        write(self.index, corpus.chunks(with_vectors=True))
        self._rows = len(corpus)

    def words(self, text: str) -> list[hr.Hit]:
        """Search by BM25 only."""
        return self.index.search_bm25(text, TOP)

    prefixes = operators = words

    def hybrid(self, question: int) -> hr.Response:
        """Run every stage of the specification, with trace and explanations."""
        return self.retriever.search(self.questions[question], limit=SHOWN, candidates=TOP)

    def add(self, content: str) -> list[hr.Hit]:
        """Write a chunk in one transaction, and search for it."""
        self._rows += 1
        self.index.upsert([hr.Chunk(str(self._rows), "new.md", content)])
        return self.index.search_bm25(content.split(" ", 1)[0], 1)

    def add_with_vector(self, new: tuple[str, Any]) -> list[hr.Hit]:
        """Write a chunk with its vector in one transaction, and search for it by the vector."""
        self._rows += 1
        content, vector = new
        self.index.upsert([hr.Chunk(str(self._rows), "new.md", content, embedding=vector)])
        return self.index.search_vector(vector, 1)

    def reopened(self, vector: Any) -> list[hr.Hit]:
        """Open a second, independent handle and search. The first handle stays open."""
        with hr.Index.open(self.path) as index:
            return index.search_vector(vector, TOP)


def write(index: hr.Index, chunks: Iterable[hr.Chunk]) -> None:
    """Write chunks in calls of up to 100,000, because a call holds all its chunks in memory."""
    left = iter(chunks)
    while block := list(islice(left, _BLOCK)):
        index.upsert(block)


@contextmanager
def variants(path: Path, corpus: Corpus) -> Iterator[dict[str, Opened]]:
    """Open the same file in each of the other ways."""
    with ExitStack() as stack:
        there = {}
        for name, options in VARIANTS.items():
            there[name] = Opened(path, corpus, **options)
            stack.callback(there[name].close)
        yield there
