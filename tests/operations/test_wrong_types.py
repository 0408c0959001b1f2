"""An argument of a wrong type raises InvalidInputError in every method (spec/errors.md)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.agents import write_action

WRONG = ["no", 0, 1.5, None, b"x", [1], [None], {}, object(), float("nan"), -1, 10**30, "\ud800"]
RIGHT = {
    "text": "hedge", "query": "hedge", "key": "Hedge", "old": "Hedge", "path": "x.md", "id": "x",
    "ids": ["x"], "chunks": [], "queries": ["hedge"], "tokenizer": "words", "pattern": "hedge",
}  # fmt: skip
CALLBACKS = {"progress", "count_tokens", "refuses", "definition", "model"}
"""The caller's own objects, which fail only when they are called."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hr.Index]:
    with hr.Index.open(tmp_path_factory.mktemp("index") / "a.db") as opened:
        opened.upsert([hr.Chunk("x", "x.md", "the hedge")])
        yield opened


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hr.MemoryRoot]:
    with hr.MemoryRoot.init(tmp_path_factory.mktemp("root")) as opened:
        opened.remember("The hedge is cut in March.", title="Hedge")
        yield opened


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _methods(of: object, *left_out: str) -> list[str]:
    public = (name for name in dir(of) if not name.startswith("_") and name not in left_out)
    return [name for name in public if callable(inspect.getattr_static(of, name, None))]


def _check(call: Callable[..., Any]) -> None:
    parameters = inspect.signature(call).parameters.values()
    named = [one for one in parameters if one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}]
    needed = {one.name: RIGHT.get(one.name, "x") for one in named if one.default is one.empty}
    for parameter in named:
        if parameter.name in CALLBACKS:
            continue
        is_flag = isinstance(parameter.default, bool)
        for wrong in WRONG:
            given = {**needed, parameter.name: wrong}
            first = [given.pop(one.name) for one in named if one.kind == one.POSITIONAL_ONLY]
            try:
                result = call(*first, **given)
            except hr.HedgerowError:
                continue
            if inspect.iscoroutine(result):
                result.close()
            elif is_flag and wrong is not None:
                pytest.fail(f"{parameter.name}={wrong!r} was taken for a flag")


@pytest.mark.parametrize("name", _methods(hr.Index, "open", "close", "backup", "in_memory"))
def test_of_an_index(index: hr.Index, name: str) -> None:
    _check(getattr(index, name))


@pytest.mark.parametrize("name", _methods(hr.Retriever, "close", "aclose"))
def test_of_a_retriever(index: hr.Index, name: str) -> None:
    _check(getattr(hr.Retriever(index), name))


@pytest.mark.parametrize("name", _methods(hr.MemoryRoot, "open", "close", "init"))
def test_of_a_root(root: hr.MemoryRoot, name: str) -> None:
    _check(getattr(root, name))


@pytest.mark.parametrize(
    "function",
    [hr.Chunk, hr.Ranking, hr.parse_query, hr.explain_query, hr.compile_fts, hr.compile_match,
     hr.normalise, hr.expand_temporal, hr.connect, hr.evaluate, write_action],
)  # fmt: skip
def test_of_a_function(function: Callable[..., Any]) -> None:
    _check(function)


def test_it_is_a_type_error_too() -> None:
    with pytest.raises(TypeError) as raised:
        hr.parse_query(1)  # type: ignore[arg-type]
    assert isinstance(raised.value, hr.InvalidInputError)
    assert (raised.value.code, str(raised.value)) == (
        "invalid_option",
        "text must be a str, not int",
    )


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: hr.Index.in_memory().get(1), "id"),
        (lambda: hr.Index.in_memory().delete_path(1), "path"),
        (lambda: hr.Store.in_memory().get(1), "key"),
        (lambda: hr.Store.in_memory().link("x", 1), "b"),
        (lambda: hr.is_stopword(1), "token"),
        (lambda: hr.detect_intent(1), "query"),
        (lambda: hr.compile_many(["x", 1]), "texts[1]"),
        (lambda: hr.normalise(1), "text"),
    ],
)
def test_the_error_names_the_argument(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(hr.InvalidInputError) as raised:
        call()
    assert str(raised.value) == f"{name} must be a str, not int"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda of: of.search("x", filter=1), "search() got an unexpected keyword argument 'filter': use filters"),
        (lambda of: of.search(), "search() missing 1 required positional argument: 'query'"),
        (lambda of: of.search_many(["x"], limt=1), "search_many() got an unexpected keyword argument 'limt': use limit"),
        (lambda of: asyncio.run(of.asearch("x", filter=1)), "search() got an unexpected keyword argument 'filter'"),
        (lambda of: of.stats(x=1), "stats() got an unexpected keyword argument 'x': it has none"),
    ],
)  # fmt: skip
def test_an_unknown_argument_is_named_with_the_method(call, message) -> None:
    with pytest.raises(TypeError) as raised:
        call(hr.Retriever(hr.Index.in_memory()))
    assert str(raised.value).startswith(message)
