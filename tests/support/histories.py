"""Random changes of an index or a store, and the expected content after each of them.

As a program, it makes the changes and prints the number of each acknowledged one: histories.py
index FILE SEED.
"""

from __future__ import annotations

import itertools
import random
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import hedgerow as hr

WORDS = ("winter", "garden", "oak", "elm", "ash", "hedgehog")
AT = 1_800_000_000


class Vectors:
    """An embedder whose vectors encode its name and the length of the text."""

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        places = [(int(self.name[1:]) * 7 + len(text)) % 64 for text in texts]
        return [[float(place == at) for at in range(64)] for place in places]


class History(ABC):
    """Changes that depend only on the seed, their number and the current content."""

    def __init__(self, path: Path, seed: str) -> None:
        self.path = path
        self.seed = seed
        self.state: dict[str, Any] = self.read()

    def step(self, number: int) -> tuple[str, Any]:
        """Return the next change with its arguments, and apply it to `state`."""
        chance = random.Random(f"{self.seed} {number}")  # noqa: S311 - no secrets
        return self.change(chance, number)

    def states(self, acknowledged: int) -> list[dict[str, Any]]:
        """Return the possible contents: all acknowledged changes, with or without the next one."""
        for number in range(acknowledged + 1):
            self.step(number)
        before = {**self.state}
        self.step(acknowledged + 1)
        return [before, self.state]

    @abstractmethod
    def read(self) -> dict[str, Any]:
        """Return the content of the file."""

    @abstractmethod
    def change(self, chance: random.Random, number: int) -> tuple[str, Any]:
        """Draw a change and apply it to `state`, which is replaced, never modified."""

    @abstractmethod
    def changes(self) -> Iterator[int]:
        """Make one change after the other in the file, and yield the number of each."""


class IndexHistory(History):
    """Chunks with vectors that are written, deleted and re-embedded, with index optimization."""

    def read(self) -> dict[str, Any]:
        with hr.Index.open(self.path) as index:
            return {
                chunk.id: (chunk.path, chunk.content, list(chunk.embedding or ()))
                for chunk in index.chunks()
            }

    def change(self, chance: random.Random, number: int) -> tuple[str, Any]:
        kind = chance.choices(
            ["upsert", "delete", "delete_path", "optimize", "reembed"], [8, 3, 2, 1, 1]
        )[0]
        if kind == "upsert":
            chunks = [
                hr.Chunk(
                    f"c{chance.randrange(60)}",
                    f"p{chance.randrange(7)}",
                    " ".join(chance.choices(WORDS, k=chance.randint(1, 200))),
                )
                for _ in range(chance.randint(1, 30))
            ]
            new = {chunk.id: (chunk.path, chunk.content, self.vector(chunk)) for chunk in chunks}
            self.state = self.state | new
            return kind, chunks
        if kind == "delete":
            ids = [f"c{chance.randrange(60)}" for _ in range(chance.randint(1, 20))]
            self.state = {name: kept for name, kept in self.state.items() if name not in ids}
            return kind, ids
        if kind == "delete_path":
            path = f"p{chance.randrange(7)}"
            self.state = {name: kept for name, kept in self.state.items() if kept[0] != path}
            return kind, path
        if kind == "reembed":
            self.embedder = Vectors(f"e{number % 5}")
            self.state = {
                name: (path, content, self.vector(hr.Chunk(name, path, content)))
                for name, (path, content, _) in self.state.items()
            }
        return kind, None

    def __init__(self, path: Path, seed: str) -> None:
        super().__init__(path, seed)
        with hr.Index.open(path) as index:
            self.embedder = Vectors(index.stats().embedder or "e0")

    def vector(self, chunk: hr.Chunk) -> list[float]:
        [row] = self.embedder.embed([chunk.content])
        return row

    def changes(self) -> Iterator[int]:
        with hr.Index.open(self.path) as index:
            for number in itertools.count():
                kind, argument = self.step(number)
                retriever = hr.Retriever(index, embedder=self.embedder)
                if kind == "upsert":
                    retriever.upsert(argument)
                elif kind == "reembed":
                    retriever.reembed()
                elif kind == "optimize":
                    index.optimize()
                else:
                    getattr(index, kind)(argument)
                yield number


class StoreHistory(History):
    """Nodes, edges and visits."""

    def read(self) -> dict[str, Any]:
        with hr.Store.open(self.path) as store:
            nodes = {chunk.id: chunk.content for chunk in store.index.chunks()}
        found: dict[str, Any] = {f"node {key}": content for key, content in nodes.items()}
        with closing(sqlite3.connect(self.path)) as connection:
            # Includes edges of deleted nodes, which stay for a new node with the same key.
            edges = connection.execute(
                "SELECT a.key, b.key, relation, strength FROM edges"
                " JOIN nodes AS a ON a.id = source JOIN nodes AS b ON b.id = target"
            ).fetchall()
            for a, b, relation, strength in edges:
                found[f"edge {min(a, b)} {max(a, b)} {relation}"] = strength
            [(count,)] = connection.execute("SELECT count(*) FROM visits").fetchall()
        return {**found, "visits": count}

    def change(self, chance: random.Random, number: int) -> tuple[str, Any]:
        keys = sorted(name[5:] for name in self.state if name.startswith("node "))
        kind = chance.choices(["upsert", "delete", "link", "unlink", "visit"], [4, 1, 4, 2, 2])[0]
        if kind == "upsert" or len(keys) < 2:
            given = {f"n{chance.randrange(40)}": f"oak {number}" for _ in range(20)}
            self.state = self.state | {f"node {key}": text for key, text in given.items()}
            return "upsert", [hr.Node(key, content=text) for key, text in given.items()]
        a, b = sorted(chance.sample(keys, 2))
        edge = f"edge {a} {b} link"
        if kind == "delete":
            self.state = {name: value for name, value in self.state.items() if name != f"node {a}"}
            return kind, [[a]]
        if kind == "link":
            strength = chance.choice([0.25, 0.5, 1.0])
            self.state = self.state | {edge: strength}
            return kind, [a, b, strength]
        if kind == "unlink":
            self.state = {name: value for name, value in self.state.items() if name != edge}
            return kind, [a, b]
        self.state = self.state | {"visits": self.state["visits"] + 1}
        return kind, ["agent", a, AT + number]

    def changes(self) -> Iterator[int]:
        with hr.Store.open(self.path) as store:
            for number in itertools.count():
                kind, arguments = self.step(number)
                if kind == "upsert":
                    store.upsert(arguments)
                else:
                    getattr(store, kind)(*arguments)
                yield number


HISTORIES: dict[str, type[History]] = {"index": IndexHistory, "store": StoreHistory}

if __name__ == "__main__":
    for done in HISTORIES[sys.argv[1]](Path(sys.argv[2]), sys.argv[3]).changes():
        print(done, flush=True)
