"""Chunks as the server's documents, and back."""

from __future__ import annotations

import base64
import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

from hedgerow._engine import Chunk, _tokenize, _unit_vector

from ._facts import facts
from ._mapping import HASHES
from ._tokens import text

WEIGHTS = (3, 10, 5, 4, 1)
"""Of path, title, summary, tags and content, as the embedded index weighs them (spec/index.md)."""

BLOCK = 500
"""The chunks that are in memory at once while many are read or written."""

T = TypeVar("T")

_LONGEST_NAME = 512  # bytes of an `_id`


def blocks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most `BLOCK`."""
    waiting = iter(items)
    while block := list(islice(waiting, BLOCK)):
        yield block


class Document(NamedTuple):
    """A chunk ready to be written: its name at the server, and its JSON."""

    chunk: Chunk
    name: str
    source: str


def document_name(id: str) -> str:  # noqa: A002 - it is what it is called
    """The `_id` of a chunk: its own where it is short enough."""
    if len(id.encode()) <= _LONGEST_NAME and not id.startswith("sha256:"):
        return id
    return f"sha256:{hashlib.sha256(id.encode()).hexdigest()}"


def documents(
    chunks: Sequence[Chunk], tokenizer: str, kept: Mapping[str, bytes | None]
) -> list[Document]:
    """Return the documents of chunks.

    `kept` has the known vectors of chunks without a given one, by id: None if the chunk can have no
    vector.
    """
    columns = [text for chunk in chunks for text in _columns(chunk)]
    tokens = _tokenize(columns, tokenizer)
    count = len(WEIGHTS)
    return [
        _document(chunk, tokens[at * count : (at + 1) * count], _unit(chunk, kept))
        for at, chunk in enumerate(chunks)
    ]


def chunk_of(source: Mapping[str, Any], unit: bytes | None = None) -> Chunk:
    """The chunk that a document was made of."""
    own = source["chunk"]
    return Chunk(
        id=source["id"],
        path=source["path"],
        ordinal=source["ordinal"],
        title=own["title"],
        summary=own["summary"],
        content=own["content"],
        tags=own["tags"],
        metadata=json.loads(own["metadata"]),
        embedding=None if unit is None else array("f", unit),
    )


def length_of(chunk: Chunk, tokenizer: str) -> int:
    """The number of tokens of a chunk."""
    return sum(map(len, _tokenize(_columns(chunk), tokenizer)))


def unit_of(fields: Mapping[str, Any]) -> bytes | None:
    """The vector among the fields of a hit: float32, little-endian, of length 1."""
    found = fields.get("unit")
    # The server writes base64 without the padding that Python wants.
    return base64.b64decode(found[0] + "==") if found else None


def _columns(chunk: Chunk) -> list[str]:
    return [chunk.path, chunk.title, chunk.summary, " ".join(chunk.tags), chunk.content]


def _unit(chunk: Chunk, kept: Mapping[str, bytes | None]) -> bytes | Literal[False] | None:
    """The vector of a chunk; None that there is none to be had, False that it is not known yet."""
    if chunk.embedding is not None:
        return _unit_vector(chunk.embedding)
    return kept.get(chunk.id, False)


def _document(
    chunk: Chunk, columns: Sequence[Sequence[str]], unit: bytes | Literal[False] | None
) -> Document:
    metadata = chunk.metadata
    fields: dict[str, Any] = {
        "id": chunk.id,
        "path": chunk.path,
        "ordinal": chunk.ordinal,
        "length": sum(map(len, columns)),
        "sample": _hash(chunk.id),
        "path_sample": _hash(chunk.path),
        # As often as a column weighs, so that the frequency of a term is FTS5's weighted one.
        "tokens": [
            repeated
            for column, weight in zip(columns, WEIGHTS, strict=True)
            if column
            for repeated in [text(column)] * weight
        ],
        "facts": facts(chunk, metadata),
        "chunk": {
            "title": chunk.title,
            "summary": chunk.summary,
            "content": chunk.content,
            "tags": list(chunk.tags),
            "metadata": json.dumps(metadata, ensure_ascii=False, separators=(",", ":")),
        },
    }
    if unit is None:
        fields["vectorless"] = True
    elif unit:
        fields["unit"] = base64.b64encode(unit).decode()
    return Document(chunk, document_name(chunk.id), _json(fields, unit or b""))


def _hash(text: str) -> int:
    """A number from 0 to `HASHES`, the same for a text on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") % HASHES


def _json(fields: Mapping[str, Any], unit: bytes) -> str:
    written = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    if not unit:
        return written
    # Nine digits tell a float32; `json` would write all seventeen of a float64.
    numbers = ",".join([f"{number:.9g}" for number in array("f", unit)])
    return f'{written[:-1]},"vector":[{numbers}]}}'
