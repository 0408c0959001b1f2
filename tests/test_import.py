"""`import hedgerow` is quick: modules are imported when one of their names is first asked for."""

import pickle
import subprocess
import sys
from importlib import import_module

import pytest

import hedgerow as hr


def run(program: str) -> str:
    """What a program prints in an interpreter of its own."""
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
    assert ours == {"hedgerow", "hedgerow._engine", "hedgerow._fork", "hedgerow._lazy"}


@pytest.mark.parametrize("name", hr.__all__)
def test_a_name_is_the_one_of_its_module(name: str) -> None:
    home = hr._HOMES.get(name)
    if name == "__version__":
        assert home is None
        return
    assert home is not None
    assert getattr(hr, name) is getattr(import_module(f"hedgerow.{home}"), name)


def test_every_name_that_is_imported_late_is_public() -> None:
    homes = hr._HOMES
    assert set(homes) - set(homes.values()) == set(hr.__all__) - {"__version__"}


def test_modules_are_there_without_an_import_of_their_own() -> None:
    program = "import hedgerow as hr; print(hr.embedders.__name__, hr.errors.__name__)"
    assert run(program) == "hedgerow.embedders hedgerow.errors"


def test_dir_lists_what_was_not_imported_yet() -> None:
    names = run("import hedgerow; print(*dir(hedgerow))").split()
    assert set(hr.__all__) <= set(names)
    assert names == sorted(set(names))


def test_a_star_gives_every_name() -> None:
    names = run("from hedgerow import *; print(*globals())").split()
    assert set(hr.__all__) <= set(names)


def test_what_was_pickled_comes_back_before_anything_else_is_imported() -> None:
    pickled = pickle.dumps([hr.parse_query("oak elm"), hr.explain_query("oak"), hr.Retriever])
    program = f"import pickle; print([type(o).__name__ for o in pickle.loads({pickled!r})])"
    assert run(program) == "['Query', 'QueryExplanation', 'type']"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'hedgerow' has no attribute 'Retreiver'"):
        _ = hr.Retreiver  # type: ignore[attr-defined]
