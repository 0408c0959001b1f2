"""Vectors in any format, and errors after which an embedder must not be called again."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from retrieval_doubles import fnv64

CHUNKS = [hr.Chunk("a", "a.md", "An oak."), hr.Chunk("b", "b.md", "An elm.")]


def matrix(texts: Any) -> Any:
    return np.array([fnv64(text) for text in texts])


def lazily(texts: Any) -> Any:
    return (fnv64(text) for text in texts)


class Tensor:
    """Like a torch tensor on another device."""

    dtype = "torch.float16"

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def tolist(self) -> list[list[float]]:
        return self.rows


FORMS = {
    "generator": lazily,
    "map": lambda texts: map(fnv64, texts),
    "float16": lambda texts: matrix(texts).astype(np.float16),
    "float64": matrix,
    "int8": lambda texts: np.round(matrix(texts) * 127).astype(np.int8),
    "list of int8": lambda texts: list(np.round(matrix(texts) * 127).astype(np.int8)),
    "first columns": lambda texts: np.hstack([matrix(texts), matrix(texts)])[:, :64],
    "tensor": lambda texts: Tensor([fnv64(text) for text in texts]),
}


@pytest.mark.parametrize("embed", FORMS.values(), ids=list(FORMS))
def test_rows_of_every_form_are_vectors(embed: Any) -> None:
    expected = hr.Retriever(hr.Index.in_memory(), embedder=lambda texts: [fnv64(t) for t in texts])
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=embed)
    for one in (expected, retriever):
        assert one.upsert(CHUNKS) == 2
    for query in ["An oak.", "elm"]:
        found = retriever.search(query, mode="semantic")
        wanted = expected.search(query, mode="semantic")
        assert [hit.id for hit in found] == [hit.id for hit in wanted]
        for hit, other in zip(found, wanted, strict=True):
            assert hit.vector_similarity == pytest.approx(other.vector_similarity, abs=0.02)
    asynchronous = hr.Retriever(hr.Index.in_memory(), embedder=embed)
    assert asyncio.run(asynchronous.aupsert(CHUNKS)) == 2


@pytest.mark.parametrize("kind", [np.uint8, np.bool_])
def test_packed_bits_are_no_vectors(kind: Any) -> None:
    bits = np.zeros((2, 8), kind)
    for rows in (bits, list(bits)):
        retriever = hr.Retriever(hr.Index.in_memory(), embedder=lambda _, rows=rows: rows)
        with pytest.raises(
            hr.HedgerowError, match="which are bits or codes and no vectors"
        ) as raised:
            retriever.upsert(CHUNKS)
        assert raised.value.code == "bad_answer"
        assert len(retriever.index) == 0


class Failing:
    def __init__(self, fail: Any) -> None:
        self.fail, self.calls = fail, 0

    def embed(self, _texts: Any) -> Any:
        self.calls += 1
        return self.fail()


def mentions() -> None:
    raise RuntimeError("There is no current event loop, or the event loop is closed")


def closed() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    loop.call_soon(print)


@pytest.mark.parametrize("fail", [mentions, closed])
def test_an_error_that_mentions_event_loops_is_no_reason_to_ask_again(fail: Any) -> None:
    embedder = Failing(fail)
    index = hr.Index.in_memory()
    index.upsert(CHUNKS)
    response = asyncio.run(hr.Retriever(index, embedder=embedder).asearch("oak"))
    assert (embedder.calls, type(response.error.__cause__)) == (1, RuntimeError)
    assert [hit.id for hit in response] == ["a"], "keywords answer"
