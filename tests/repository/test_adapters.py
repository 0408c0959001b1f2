"""Rules for all adapters: imports, protocols, documentation; and all extras."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import hedgerow as hr
from hedgerow import embedders, rerankers
from hedgerow._extras import PACKAGES, imports_of, pip_name
from places import ROOT

ADAPTERS = {
    name: value
    for package in (embedders, rerankers)
    for name, value in ((name, getattr(package, name)) for name in package.__all__)
    if inspect.isclass(value)
    and value.__module__ != f"{package.__name__}.base"
    and not getattr(value, "_is_protocol", False)
}

# How to construct each adapter that needs an extra: arguments, extra, and packages.
EXTRAS: list[tuple[str, tuple[Any, ...], dict[str, Any], str, list[str]]] = [
    ("OpenAIEmbedder", ("m",), {"api_key": "k"}, "openai", ["httpx", "tenacity"]),
    ("AsyncOpenAIEmbedder", ("m",), {"api_key": "k"}, "openai", ["httpx", "tenacity"]),
    ("OllamaEmbedder", ("m",), {}, "ollama", ["httpx", "tenacity"]),
    ("AsyncOllamaEmbedder", ("m",), {}, "ollama", ["httpx", "tenacity"]),
    ("TEIReranker", ("http://h",), {}, "tei", ["httpx", "tenacity"]),
    ("Model2VecEmbedder", ("m",), {}, "model2vec", ["model2vec"]),
    ("SentenceTransformerEmbedder", ("m",), {}, "sentence-transformers", ["sentence_transformers"]),
    ("CrossEncoderReranker", ("m",), {}, "sentence-transformers", ["sentence_transformers"]),
    ("OnnxEmbedder", (ROOT,), {}, "local", ["onnxruntime", "tokenizers"]),
    ("OnnxCrossEncoderReranker", (ROOT,), {}, "local", ["onnxruntime", "tokenizers"]),
    ("MaxSimReranker", (SimpleNamespace(embed_tokens=list),), {}, "local", ["numpy"]),
    (
        "LangChainReranker",
        (SimpleNamespace(compress_documents=list),),
        {},
        "langchain",
        ["langchain_core"],
    ),
    (
        "LlamaIndexReranker",
        (SimpleNamespace(postprocess_nodes=list),),
        {},
        "llama-index",
        ["llama_index.core"],
    ),
]
WITHOUT_EXTRA = {"LLMReranker", "StaticEmbedder", "InstalledEmbedder"}


def remove(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Simulate that a package is not installed."""

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == package:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [*sys.modules]:
        if name.partition(".")[0] == package or name == "hedgerow._adapters.http":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])


@pytest.mark.parametrize(
    ("adapter", "arguments", "options", "extra", "package"),
    [(*row, package) for *row, packages in EXTRAS for package in packages],
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(  # noqa: PLR0913, PLR0917 - a row of the table
    monkeypatch: pytest.MonkeyPatch,
    adapter: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    extra: str,
    package: str,
) -> None:
    for other in {*PACKAGES[extra]} - {package}:
        # The first missing package must not depend on the packages installed here.
        monkeypatch.setitem(sys.modules, other, sys.modules.get(other) or ModuleType(other))
    remove(monkeypatch, package)
    with pytest.raises(hr.MissingExtraError) as raised:
        ADAPTERS[adapter](*arguments, **options)
    error = raised.value
    note = (
        " (onnxruntime has no wheel for musl, as in Alpine Linux: use an image with glibc, or an "
        "embedder on a server)"
        if package == "onnxruntime"
        else ""
    )
    assert isinstance(error, ImportError)
    assert isinstance(error, hr.HedgerowError)
    assert error.code == "missing_extra"
    assert (
        str(error)
        == error.message
        == (
            f"{adapter} needs the package {pip_name(package)}, which is not installed and "
            f'comes with the extra "{extra}"; run: pip install "hedgerow[{extra}]"{note}'
        )
    )
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code, str(again)) == (hr.MissingExtraError, error.code, str(error))


def test_every_adapter_with_an_extra_is_tested() -> None:
    assert {row[0] for row in EXTRAS} == set(ADAPTERS) - WITHOUT_EXTRA


def test_a_package_that_lacks_one_of_its_own_says_so_itself() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match="torch") as raised,
        imports_of("sentence-transformers", needed_by="x"),
    ):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")
    assert type(raised.value) is ModuleNotFoundError


def test_the_extras_are_those_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [section] = re.findall(
        r"^\[project\.optional-dependencies\]\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL
    )
    found = {
        name: [re.match(r"[\w-]+", need)[0] for need in ast.literal_eval(listed)]  # type: ignore[index]
        for name, listed in re.findall(r"^([\w-]+) = (\[.*\])$", section, re.MULTILINE)
    }
    assert found == {
        extra: [pip_name(package) for package in packages] for extra, packages in PACKAGES.items()
    }
    for requirements in re.findall(r"^[\w-]+ = \[(.*)\]$", section, re.MULTILINE):
        for requirement in requirements.split(", "):
            assert text.count(requirement) >= 2, "not what is tested with"


def test_hedgerow_imports_no_library_of_an_adapter() -> None:
    """Neither do the adapter modules, until an adapter is constructed."""
    code = """
        import sys
        import hedgerow.embedders, hedgerow.rerankers
        light = set(sys.modules)
        for package in (hedgerow.embedders, hedgerow.rerankers):
            for name in package.__all__:
                getattr(package, name)
        print(sorted(m for m in light if m.startswith(("hedgerow.embedders.", "hedgerow.rerankers."))))
        print(sorted({"httpx", "tenacity", "numpy", "model2vec", "asyncio"} & {*sys.modules}))
    """
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ},
    )
    assert result.stdout.splitlines() == ["[]", "[]"]


@pytest.mark.parametrize("package", [embedders, rerankers])
def test_names_are_listed_and_others_are_not_there(package: Any) -> None:
    assert dir(package) == sorted(package.__all__)
    for name in package.__all__:
        value = getattr(package, name)
        assert (inspect.getdoc(value) or "").strip()
        if inspect.isclass(value):
            assert all(
                inspect.getdoc(member)
                for key, member in vars(value).items()
                if inspect.isfunction(member) and not key.startswith("_")
            )
    with pytest.raises(AttributeError, match="attribute Nothing"):
        package.Nothing  # noqa: B018
    assert hr.embedders is embedders
    assert hr.rerankers is rerankers


# The protocols. mypy checks these assignments and the adapters below too.


class Own:
    """A custom embedder needs no base class, no name and no array."""

    def embed(self, texts: Any) -> list[list[float]]:
        return [[1.0] for _ in texts]


class OwnAsync:
    async def embed(self, texts: Any) -> list[list[float]]:
        return [[1.0] for _ in texts]


class OwnReranker:
    name = "own"

    def rerank(self, query: str, documents: Any) -> list[hr.RerankScore]:
        del query
        return rerankers.best_first(len(document.text) for document in documents)


def test_ones_own_will_do() -> None:
    embedder: hr.Embedder = Own()
    asynchronous: hr.AsyncEmbedder = OwnAsync()
    reranker: hr.Reranker = OwnReranker()
    assert list(embedder.embed(["oak"])) == [[1.0]]
    assert list(asyncio.run(asynchronous.embed(["oak"]))) == [[1.0]]
    assert reranker.rerank("q", [hr.RerankDocument("a", "", "oak", 0.0)]) == [hr.RerankScore(0, 3)]


TYPED = """
import hedgerow as hr
from hedgerow.embedders import (
    AsyncOllamaEmbedder, AsyncOpenAIEmbedder, Model2VecEmbedder, OllamaEmbedder, OpenAIEmbedder,
    SentenceTransformerEmbedder,
)
from hedgerow.rerankers import CrossEncoderReranker, LLMReranker, TEIReranker
import numpy
from numpy.typing import NDArray
from collections.abc import Sequence

class Arrays:
    def embed(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        return numpy.ones((len(texts), 3), dtype=numpy.float32)

class Lists:
    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0]]

embedders: list[hr.Embedder] = [
    OpenAIEmbedder("m"), OllamaEmbedder("m"), Model2VecEmbedder("m"),
    SentenceTransformerEmbedder("m"), Arrays(), Lists(),
]
asynchronous: list[hr.AsyncEmbedder] = [AsyncOpenAIEmbedder("m"), AsyncOllamaEmbedder("m")]
rerankers: list[hr.Reranker] = [
    CrossEncoderReranker("m"), LLMReranker(lambda prompt: prompt), TEIReranker("http://h"),
]
by_path = hr.embedders.OpenAIEmbedder("m", timeout=3)
wrong: hr.Embedder = AsyncOpenAIEmbedder("m")
misspelt = hr.Retreiver, hr.embedders.OpenAiEmbedder
"""


def test_adapters_are_what_the_protocols_ask_for(tmp_path: Path) -> None:
    """Run `mypy --strict`. Only the last two lines contain errors."""
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(TYPED)
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", ROOT / "pyproject.toml",
         tmp_path / "typed.py"],
        cwd=ROOT,  # shares the mypy cache of `make lint`
        env={**os.environ, "MYPYPATH": str(ROOT / "python")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in result.stdout.splitlines() if ": error:" in line]
    last = len(TYPED.splitlines())
    found = [line.partition("typed.py:")[2] for line in lines]
    assert [line.partition(" error: ")[0] for line in found] == [
        f"{last - 1}:", f"{last}:", f"{last}:",
    ], result.stdout + result.stderr  # fmt: skip
    assert "Incompatible types" in found[0]
    assert all("has no attribute" in line for line in found[1:])
