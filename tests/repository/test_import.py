"""`import hedgerow` is fast: a module is imported when one of its names is first used."""

import inspect
import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import hedgerow as hr
from hedgerow import agents


def run(program: str) -> str:
    """Return the output of a program in a separate interpreter."""
    arguments = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path[:0] = {sys.path!r}; {program}",
    ]
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.strip()


def test_it_imports_neither_its_modules_nor_what_they_need() -> None:
    loaded = run("import hedgerow; print(*sys.modules)").split()
    ours = {name for name in loaded if name.startswith("hedgerow")}
    assert ours == {"hedgerow", "hedgerow._engine"}
    assert "typing" not in loaded


@pytest.mark.parametrize("package", ["hedgerow", "hedgerow.embedders", "hedgerow.rerankers"])
def test_every_name_of_a_stub_is_there_and_documented(package: str) -> None:
    module = import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, (str, frozenset)):
            continue
        members = vars(value).items() if inspect.isclass(value) else ()
        public = [getattr(value, key) for key, _ in members if not key.startswith("_")]
        described = [one for one in public if callable(one) or isinstance(one, property)]
        assert [one for one in [value, *described] if not (inspect.getdoc(one) or "").strip()] == []


@pytest.mark.parametrize("name", agents.__all__)
def test_a_name_of_agents_has_a_docstring(name: str) -> None:
    value = getattr(agents, name)
    assert not callable(value) or (inspect.getdoc(value) or "").strip()


def test_modules_are_there_without_an_import_of_their_own() -> None:
    program = "import hedgerow as hr; print(hr.embedders.__name__, hr.errors.__name__)"
    assert run(program) == "hedgerow.embedders hedgerow.errors"


def test_names_of_the_parts_are_found_here_too_without_being_listed() -> None:
    for module in (hr.query, hr.temporal, hr.fusion, hr.fuzzy):
        for name in module.__all__:
            assert getattr(hr, name) is getattr(module, name)
    assert "trigrams" not in dir(hr)
    assert len(dir(hr)) < 36
    assert dir(hr) == sorted(hr.__all__)


def test_dir_lists_what_was_not_imported_yet() -> None:
    names = run("import hedgerow; print(*dir(hedgerow))").split()
    assert set(hr.__all__) <= set(names)


# `cli` is a program, and `integrations` only contains its modules.
PUBLIC = {found.name for found in pkgutil.iter_modules(hr.__path__) if found.name[0] != "_"}
PUBLIC |= {"integrations.langchain", "integrations.llama_index", "integrations.messages"}
PUBLIC -= {"cli", "integrations"}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_dir_lists_the_public_names_of_a_module_alone(name: str) -> None:
    try:
        module = import_module(f"hedgerow.{name}")
    except hr.MissingExtraError as missing:
        pytest.skip(missing.message)
    assert module.__all__
    assert dir(module) == sorted(module.__all__)
    assert [one for one in module.__all__ if not hasattr(module, one)] == []


def test_a_star_gives_every_name() -> None:
    names = run("from hedgerow import *; print(*globals())").split()
    assert set(hr.__all__) <= set(names)


def test_what_was_pickled_comes_back_before_anything_else_is_imported() -> None:
    pickled = pickle.dumps([hr.parse_query("oak elm"), hr.explain_query("oak"), hr.Retriever])
    program = f"import pickle; print([type(o).__name__ for o in pickle.loads({pickled!r})])"
    assert run(program) == "['Query', 'QueryExplanation', 'type']"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="No hedgerow attribute Retreiver"):
        _ = hr.Retreiver  # type: ignore[attr-defined]
