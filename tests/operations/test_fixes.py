"""The fixes of errors: data, and the words of each interface (spec/errors.md, "Fixes")."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import hedgerow as hr
from command_line import failed, ok
from hedgerow._serve.problems import problem_of
from hedgerow.cli import load
from hedgerow.cli.fixes import _COMMANDS
from hedgerow.errors import _CALLS, Fix, with_fixes
from hedgerow.memory import MemoryRoot
from hedgerow.memory.operations import OPERATIONS
from hedgerow.remote._problems import error_of_document
from memory_doubles import put
from places import ROOT

KEEP = Fix("keep both", arguments={"on_duplicate": "keep"})
LIST = Fix("list the memories", "list")
READ = Fix("read the index as it is", arguments={"sync": False})
REEMBED = Fix("embed all chunks again", "reembed")

TRACE = hr.Retriever(hr.Index.in_memory()).search("x").trace

ERRORS = [
    hr.HedgerowError("m", code="c", path="/a", key="k", fixes=(KEEP, LIST)),
    hr.InvalidInputError("m", code="c", path=Path("/a"), key="k", fixes=[KEEP]),
    hr.IndexFileError("m", code="c", path="/a", fixes=[READ]),
    hr.MissingExtraError("m", code="c", key="k"),
    hr.RetrievalError("m", code="c", trace=TRACE, fixes=[KEEP]),
    hr.BackendError("m", code="c", refused={"a": "b"}),
    hr.PipelineError("m", kind="UnknownStage", stage=0, start=1, end=2, suggestion="s"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("again", [lambda one: pickle.loads(pickle.dumps(one)), copy.copy])
def test_a_copy_has_all_attributes(error, again):
    found = again(error)
    assert type(found) is type(error)
    assert (found.args, vars(found)) == (error.args, vars(error))
    assert str(found) == str(error)


def test_paths_are_texts():
    assert hr.InvalidInputError("m", code="c", path=Path("a/b")).path == str(Path("a/b"))


def test_an_error_without_details_has_none():
    error = hr.HedgerowError("m", code="c")
    assert (error.path, error.key, error.fixes, error.details()) == (None, None, (), {})
    assert str(error) == "m"


def test_details_are_json():
    assert ERRORS[0].details() == {
        "path": "/a",
        "key": "k",
        "fixes": [
            {"does": "keep both", "operation": None, "arguments": {"on_duplicate": "keep"}},
            {"does": "list the memories", "operation": "list", "arguments": {}},
        ],
    }


@pytest.mark.parametrize(
    ("fix", "words"),
    [
        (KEEP, 'on_duplicate="keep"'),
        (LIST, "root.list()"),
        (READ, "sync=False"),
        (REEMBED, "retriever.reembed()"),
        (Fix("x", "supersede", {"old": 'a "b" é', "by": None}), 'root.supersede(old="a \\"b\\" é", by=...)'),
        (Fix("x", "open", {"metadata_index": ["a"]}), 'hedgerow.Index.open(metadata_index=["a"])'),
    ],
)  # fmt: skip
def test_python_calls(fix, words):
    assert str(fix) == words
    assert str(hr.HedgerowError("m", code="c", fixes=[fix])) == f"m; to {fix.does}: {words}"


def test_fixes_follow_a_sentence():
    assert with_fixes("It ends.", [KEEP, LIST], str) == (
        'It ends. To keep both: on_duplicate="keep"; to list the memories: root.list()'
    )
    assert with_fixes("m", [KEEP, LIST], lambda fix: fix.operation) == (
        "m; to list the memories: list"
    )


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """A folder with one memory, whose name has a space."""
    put(tmp_path, "a b/notes/slugs.md", "# Slugs\n\nBeer traps for slugs.\n")
    return tmp_path / "a b"


class TestCommandLine:
    def test_options_of_the_command(self, garden: Path) -> None:
        remember = ["remember", "Beer traps for slugs.", "--title", "S", "--root", str(garden)]
        assert failed(1, *remember) == (
            "Error: nothing was written: notes/slugs.md has the same text; to keep both: "
            "--on-duplicate keep; to replace that memory: --on-duplicate supersede\n"
        )
        assert "Remembered" in ok(*remember, "--on-duplicate", "keep")

    def test_another_command_gets_the_root(self, garden: Path) -> None:
        said = failed(1, "show", "bees", "--root", str(garden))
        assert said.endswith(f"; to list the memories: hedgerow list --root '{garden}'\n")
        assert ok("list", "--root", str(garden))

    def test_an_option_that_the_command_lacks_is_left_out(self, garden: Path) -> None:
        assert "sync" not in failed(1, "show", "bees", "--root", str(garden))

    def test_flags(self, garden: Path) -> None:
        said = failed(1, "list", "--no-sync", "--root", str(garden))
        assert said.endswith(": without --no-sync\n")
        said = failed(2, "grep", "(", "--regex", "--root", str(garden))
        assert "; to find it as it is: without --regex.\n" in said

    def test_json_has_the_data(self, garden: Path) -> None:
        said = failed(1, "show", "bees", "--root", str(garden), "--json")
        assert '"key": "bees", "fixes": [{"does": "list the memories", "operation": "list"' in said

    def test_the_name_of_a_file_is_quoted(self, garden: Path) -> None:
        said = failed(1, "recall", "x", "--root", str(garden / "no"))
        assert said.endswith(f"; to make a memory root: hedgerow init --root '{garden}/no'\n")


class TestServer:
    def test_an_error_is_the_same_at_the_client(self) -> None:
        error = hr.InvalidInputError(
            "m", code="unknown_node", path="/a", key="k", fixes=[LIST, KEEP]
        )
        found = error_of_document(problem_of(error).document())
        assert (type(found), found.message, vars(found)) == (type(error), "m", vars(error))

    def test_a_client_gets_no_fix_that_it_cannot_send(self) -> None:
        error = hr.HedgerowError("m", code="index_busy", fixes=[READ, REEMBED])
        assert "fixes" not in problem_of(error).document()

    @pytest.mark.parametrize(
        "fix",
        [
            {"does": "x"},
            {"does": "x", "operation": "a b", "arguments": {}},
            {"does": "x", "operation": None, "arguments": {"a)": 1}},
            "x",
        ],
    )
    def test_other_json_is_no_fix(self, fix: object) -> None:
        document = {"code": "unknown_node", "detail": "m", "error": "InvalidInputError"}
        found = error_of_document({**document, "fixes": [fix]})
        assert (type(found), found.fixes) == (hr.BackendError, ())

    def test_values_are_printable(self) -> None:
        fix = {"does": "x\x1b", "operation": None, "arguments": {"a": ["\x9b", 1, None]}}
        found = error_of_document({"code": "c", "detail": "m", "path": "\x9b", "fixes": [fix]})
        assert found.path == "\ufffd"
        assert found.fixes == (Fix("x\ufffd", None, {"a": ["\ufffd", 1, None]}),)


def fixes_in_python() -> Iterator[tuple[str, str]]:
    """Yield the operations that fixes of the package name, each with its file."""
    for file in (ROOT / "python" / "hedgerow").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="Fix"), args=[_, ast.Constant(value=str(name)), *_]):
                    yield name, file.name


def test_every_interface_knows_the_operations_of_fixes() -> None:
    found = dict(fixes_in_python())
    assert {"list", "supersede", "reembed"} <= found.keys()
    for name in {*found, *_CALLS, *_COMMANDS}:
        call = _CALLS.get(name, f"root.{name}")
        if call.startswith("root."):
            assert hasattr(MemoryRoot, name), name
        assert name in OPERATIONS or name in {*_CALLS, *_COMMANDS}, name
        if name != "connect":
            assert load(_COMMANDS.get(name, name).partition(" ")[0])


def test_the_url_of_a_server_in_the_place_of_a_folder_names_a_call_that_exists() -> None:
    with pytest.raises(hr.HedgerowError) as raised:
        MemoryRoot("http://127.0.0.1:7411")
    assert raised.value.fixes == (
        Fix("use the server", "connect", {"target": "http://127.0.0.1:7411"}),
    )
    inspect.signature(hr.connect).bind(**raised.value.fixes[0].arguments)
