"""Functions to call, their valid arguments, and hostile values to replace them."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import types
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

from typing_extensions import Self

import hedgerow as hr

FAR = 10**400


class LyingList(Sequence[Any]):
    """A sequence whose `len` is wrong."""

    def __init__(self, length: int, *items: Any) -> None:
        self.length = length
        self.items = items

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, at: Any) -> Any:
        return self.items[at]


class BrokenZone(tzinfo):
    """A time zone that raises instead of returning its offset."""

    def utcoffset(self, _: datetime | None) -> timedelta:
        raise ValueError("this zone has no offset")


class LyingMapping(Mapping[Any, Any]):
    """A mapping whose `len` is wrong."""

    def __init__(self, length: int, **items: Any) -> None:
        self.length = length
        self.items_ = items

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, key: Any) -> Any:
        return self.items_[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items_)


class Text(str):
    """A subclass of str."""

    __slots__ = ()


def circular_list() -> list[Any]:
    found: list[Any] = ["oak"]
    found.append(found)
    return found


def circular_dict() -> dict[str, Any]:
    found: dict[str, Any] = {"oak": 1}
    found["self"] = found
    return found


def deep_filter(depth: int = 20_000) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"$not": found}
    return found


def deep(depth: int = 20_000) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


HOSTILE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "-2**63-1": lambda: -(2**63) - 1,
    "2**64": lambda: 2**64,
    "10**400": lambda: FAR,
    "0.5": lambda: 0.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "1e308": lambda: 1e308,
    "complex": lambda: 1j,
    "empty str": lambda: "",
    "str": lambda: "oak and elm",
    "lone surrogate": lambda: "\ud800",
    "NUL": lambda: "a\0b",
    "long str": lambda: "x" * 70_000,
    "long name": lambda: "x" * 300,
    "str of a subclass": lambda: Text("oak"),
    "bytes": lambda: b"oak\xff",
    "empty list": list,
    "list of str": lambda: ["oak", "elm"],
    "list of None": lambda: [None],
    "list of int": lambda: [1, 2],
    "list of huge int": lambda: [FAR],
    "list of nan": lambda: [math.nan],
    "list of lone surrogate": lambda: ["\ud800"],
    "list of lists": lambda: [["oak"], [1]],
    "list of pairs": lambda: [("oak", 1), (1, "oak")],
    "circular list": circular_list,
    "deep list": deep,
    "lying list": lambda: LyingList(10**12, "oak"),
    "lying short list": lambda: LyingList(0, "oak", "elm"),
    "empty dict": dict,
    "dict of str": lambda: {"oak": "elm"},
    "dict of lists": lambda: {"oak": ["elm", 1]},
    "dict of int": lambda: {1: 2},
    "dict of lone surrogate": lambda: {"\ud800": "\ud800"},
    "circular dict": circular_dict,
    "deep dict": lambda: {"deep": deep()},
    "dict of shared lists": lambda: {"a": (shared := [0]), "b": shared},
    "lying mapping": lambda: LyingMapping(10**12, oak=["elm"]),
    "lying short mapping": lambda: LyingMapping(0, oak=["elm"]),
    "mapping of unknown keys": lambda: {"id": "a", "path": "p", "nothing": 1},
    "filter": lambda: {"a": {"$gte": math.nan}},
    "wrong filter": lambda: {"$or": [{"a": {"$inn": 1}}]},
    "deep filter": deep_filter,
    "set": lambda: {"oak", 1},
    "generator": lambda: (name for name in ["oak", None]),
    "iterator without end": lambda: None,
    "array": lambda: array("d", [1.0, math.nan]),
    "memoryview": lambda: memoryview(bytes(64))[::3],
    "object": object,
    "type": lambda: int,
    "function": lambda: lambda *_: None,
    "module": lambda: types,
    "path": lambda: Path("nowhere/at all"),
    "chunk": lambda: hr.Chunk("c", "p", "oak"),
    "chunks": lambda: [hr.Chunk("c", "p", "oak", embedding=[1, 0, 0])],
    "node": lambda: hr.Node("n"),
    "exception": lambda: KeyError("oak"),
    "datetime": lambda: datetime(2026, 4, 18, 9, 30),  # noqa: DTZ001 - without a zone on purpose
    "last datetime": lambda: datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
    "first date": lambda: date.min,
    "datetime of a broken zone": lambda: datetime(2026, 4, 18, tzinfo=BrokenZone()),
}
del HOSTILE["iterator without end"]

FINE: dict[str, Any] = {
    "a": "n1",
    "action": hr.agents.Weight("n1", 0.5),
    "agent": "agent",
    "allowed": ["weight"],
    "base_url": "http://localhost:1",
    "complete": str,
    "folder": "agents",
    "max_actions": 3,
    "model": "model",
    "replies": ["NOTE oak"],
    "scores": [0.5],
    "store": None,
    "aliases": {"oak": ["elm"]},
    "at": 1_800_000_000,
    "b": "n2",
    "bm25_ids": ["a"],
    "chunks": [hr.Chunk("a", "p", "oak elm", embedding=[1, 0, 0])],
    "content": "oak elm",
    "documents": [],
    "edges": [("n1", "n2"), ("n2", "n1", 0.5, "causal")],
    "hit": {"id": "a", "path": "p"},
    "fields": {"id": "a", "content": "oak"},
    "hits": [{"id": "a", "path": "p"}],
    "id": "a",
    "ids": ["a"],
    "index": None,
    "judgements": {"q": {"a": 1}},
    "key": "n1",
    "keys": ["n1"],
    "kind": "term",
    "lists": [[{"id": "a", "path": "p"}]],
    "limit": 3,
    "mapping": {"oak": ["elm"]},
    "mode": "lint",
    "name": "ollama:model",
    "nodes": [hr.Node("n1", embedding=[1, 0])],
    "outcome": "processed",
    "path": "p",
    "paths": ["root"],
    "pipeline": "all",
    "queries": ["oak"],
    "query": "oak elm",
    "query_or_text": "oak elm",
    "question": "what was it last Friday",
    "question_date": "2026/04/18 (Sat) 10:00",
    "date": "2026/04/18 (Sat) 10:00",
    "text": "oak elm",
    "text_or_flags": "all | limit:3",
    "texts": ["oak", "elm"],
    "title": "Oak",
    "token": "0123456789abcdef",
    "tokens": ["oak"],
    "value": "2026-04-18",
    "vector": [1.0, 0.0, 0.0],
    "vector_ids": ["a"],
    "visits": [("agent", "n1", 5), {"agent": "agent", "key": "n2", "at": 6}],
}


@dataclass(frozen=True)
class Call:
    """A function by name, with its parameters and their valid arguments."""

    name: str
    parameters: tuple[str, ...]
    fine: dict[str, Any]
    positional: tuple[str, ...]


HANDLES = {
    "Index": (
        "upsert", "sync_files", "delete", "delete_path", "get", "search_bm25", "search_vector", "backup",
    ),
    "Store": (
        "upsert", "delete", "get", "neighbors", "link", "link_many", "unlink", "visit", "visit_many",
        "query", "__contains__",
    ),
    "Retriever": ("upsert", "delete", "delete_path", "search", "search_many", "why_not"),
    "MemoryRoot": (
        "sync", "index", "remember", "recall", "wrapup", "process", "query", "link", "unlink",
        "resolve", "visit", "graph", "agents",
    ),
}  # fmt: skip
MODULES = {
    "agents": (
        "AgentLibrary", "Agents", "Bounds", "OpenAIModel", "ScriptedModel", "fenced",
        "load_definition", "parse_reply", "write_action",
    ),
    "embedders": ("AsyncOllamaEmbedder", "OllamaEmbedder", "OpenAIEmbedder", "embedder_named"),
    "rerankers": ("LLMReranker", "TEIReranker", "best_first", "reranker_named"),
}  # fmt: skip
STATIC = {
    "Chunk": ("from_dict",),
    "Index": ("open", "in_memory", "from_texts"),
    "Store": ("open", "in_memory"),
    "MemoryRoot": ("open", "init", "initialize"),
}


def calls() -> Iterator[Call]:
    """Yield every public function and constructor, and the methods of the handles."""
    for name in sorted(hr.__all__):
        if name in Scene.NOT_CALLED or (name in HANDLES and name != "Retriever"):
            continue
        yield call_of(name, getattr(hr, name))
    for table in (HANDLES, STATIC, MODULES):
        for name, methods in table.items():
            for method in methods:
                yield call_of(f"{name}.{method}", getattr(getattr(hr, name), method))


def call_of(name: str, function: Any) -> Call:
    signature = inspect.signature(function)
    given = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.name not in {"self", "cls"}
        and parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
    ]
    fine = {p.name: FINE[p.name] for p in given if p.default is p.empty}
    positional = tuple(p.name for p in given if p.kind is p.POSITIONAL_ONLY)
    return Call(name, tuple(p.name for p in given), fine, positional)


class Scene:
    """Handles to call, in a folder where all files may be changed."""

    NOT_CALLED = frozenset(
        name
        for name in hr.__all__
        if not callable(getattr(hr, name))
        or dataclasses.is_dataclass(getattr(hr, name))
        or hasattr(getattr(hr, name), "_fields")
        or getattr(getattr(hr, name), "_is_protocol", False)
        or (isinstance(getattr(hr, name), type) and issubclass(getattr(hr, name), Exception))
        # Created only by functions, or only if there is a server.
        or name in {"Hit", "Pipeline", "Query", "connect"}
    )
    """Public names without arguments from callers: values, results, errors and protocols."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0

    def __enter__(self) -> Self:
        self.stack = contextlib.ExitStack()
        index = self.stack.enter_context(hr.Index.in_memory())
        index.upsert(FINE["chunks"])
        store = self.stack.enter_context(hr.Store.in_memory())
        (self.folder / "root").mkdir()
        (self.folder / "root/n1.md").write_text("# One\n\nOak, [[n2]].\n")
        (self.folder / "root/n2.md").write_text("# Two\n\nElm.\n")
        root = self.stack.enter_context(hr.MemoryRoot.open(self.folder / "root"))
        self.handles = {
            "Index": index,
            "Store": store,
            "Retriever": hr.Retriever(index),
            "MemoryRoot": root,
        }
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def run(self, call: Call, replaced: dict[str, Any]) -> Any:
        """Call a function with some arguments replaced."""
        arguments = {**call.fine, **replaced}
        owner, _, method = call.name.partition(".")
        if call.name == "evaluate" and "queries" not in replaced:
            arguments["queries"] = {"q": "oak"}
        if call.name in {"Retriever", "evaluate"} and "index" not in replaced:
            arguments["index"] = self.handles["Index"]
        if call.name in {"Index.open", "Store.open", "Index.backup"} and "path" not in replaced:
            self.made += 1
            arguments["path"] = self.folder / f"made{self.made}.db"
        if owner == "MemoryRoot" and "path" in arguments and "path" not in replaced:
            arguments["path"] = self.folder / "root"
        if owner == "Store":
            self.handles["Store"].upsert([hr.Node("n1"), hr.Node("n2")])
        if call.name == "agents.Agents" and "store" not in replaced:
            arguments["store"] = self.handles["Store"]
        public = getattr(hr, owner)
        if method and method not in STATIC.get(owner, ()):
            public = self.handles.get(owner, public)
        function = getattr(public, method) if method else public
        first = [arguments.pop(name) for name in call.positional if name in arguments]
        result = function(*first, **arguments)
        if isinstance(result, (hr.Index, hr.Store, hr.MemoryRoot, hr.Retriever)):
            result.close()
        elif isinstance(result, Iterator):
            list(result)
        return result

    @staticmethod
    def judge(error: BaseException) -> str | None:
        """Return the problem with a raised error. None if the error is allowed."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error
        if isinstance(error, hr.EngineError):
            return f"EngineError: {error}"
        if isinstance(error, (TypeError, ValueError, hr.HedgerowError)):
            return None if str(error) else f"{type(error).__name__} without a word"
        return f"{type(error).__name__}: {str(error)[:200]}"
