"""Every public name says what it is: a docstring, types, and a place in the README or spec/."""

import inspect
import re
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow import agents

ROOT = Path(__file__).parents[1]
STUB = (ROOT / "python" / "hedgerow" / "_engine.pyi").read_text(encoding="utf-8")
DOCUMENTS = "\n".join(
    path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "spec").glob("*.md")]
)

NAMES = sorted(hr.__all__)
CALLABLE = [name for name in NAMES if callable(getattr(hr, name))]
MEMBERS = [
    f"{name}.{member}"
    for name in CALLABLE
    if inspect.isclass(getattr(hr, name))
    for member, value in vars(getattr(hr, name)).items()
    if not member.startswith("_")
    and (callable(value) or isinstance(value, (property, staticmethod, classmethod)))
]


def test_every_name_is_there_once() -> None:
    assert len(set(hr.__all__)) == len(hr.__all__)
    assert all(hasattr(hr, name) for name in hr.__all__)


@pytest.mark.parametrize("name", [*CALLABLE, *MEMBERS])
def test_it_has_a_docstring(name: str) -> None:
    value: object = hr
    for part in name.split("."):
        value = getattr(value, part)
    assert (inspect.getdoc(value) or "").strip()


@pytest.mark.parametrize("name", NAMES)
def test_it_has_types(name: str) -> None:
    """In the stub of the engine; or it is written in Python, where mypy demands them."""
    in_stub = re.search(rf"^(?:class |def )?{name}\b[(:]", STUB, re.MULTILINE)
    module = getattr(getattr(hr, name), "__module__", "")
    assert in_stub or (module.startswith("hedgerow.") and module != "hedgerow._engine")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_documented(name: str) -> None:
    assert re.search(rf"\b{name}\b", DOCUMENTS), f"{name} is in neither README.md nor spec/*.md"


@pytest.mark.parametrize("name", agents.__all__)
def test_a_name_of_agents_has_a_docstring_and_a_place_in_the_documents(name: str) -> None:
    value = getattr(agents, name)
    if inspect.isclass(value):
        public = [member for key, member in vars(value).items() if not key.startswith("_")]
        members = [one for one in public if callable(one) or isinstance(one, property)]
        assert [one for one in [value, *members] if not (inspect.getdoc(one) or "").strip()] == []
    elif callable(value):
        assert (inspect.getdoc(value) or "").strip()
    assert re.search(rf"\b{name}\b", DOCUMENTS), f"{name} is in neither README.md nor spec/*.md"
