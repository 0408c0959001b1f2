"""Malicious definitions, templates and replies."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from agents_doubles import definition, parsed
from hedgerow.agents import (
    DefinitionError,
    PromptData,
    PromptNode,
    ReplyError,
    load_definition,
    parse_reply,
    render,
)
from hedgerow.agents.prompt import scan
from hedgerow.agents.reply import LIMIT
from hedgerow.rerankers.llm import read_grades
from hostile import assert_linear, seconds

Make = Callable[[int], str]

REPLIES: dict[str, Make] = {
    "a line of spaces": lambda n: "LINK" + " " * n + "x",
    "a directive and spaces": lambda n: "LINK a" + " " * n + "b",
    "marks": lambda n: ">" * n + "LINK",
    "backslashes": lambda n: "WRITE_NODE a\n" + "\\" * n + "END_NODE",
    "blocks without an end": lambda n: "WRITE_NODE a\n" * (n // 13),
    "indented blocks": lambda n: "WRITE_NODE a\n" + " WRITE_NODE a\n" * (n // 14),
    "blank lines in a block": lambda n: "REFINE a\n" + "\n" * n + "x\nEND_REFINE",
    "an open quote": lambda n: 'LINK "' + "a" * n,
    "escapes": lambda n: 'NOTE "' + '\\"' * (n // 2),
    "keys that are covered": lambda n: (
        "WRITE_NODE a\nCOVERS: " + "k, " * (n // 3) + "\nx\nEND_NODE"
    ),
    "a key that is covered and spaces": lambda n: (
        "WRITE_NODE a\nCOVERS: k" + " " * n + "x\nEND_NODE"
    ),
    "capitals": lambda n: "A" * n,
    "wrong directives": lambda n: "LINKS a\n" * (n // 8),
    "digits": lambda n: "WEIGHT a " + "1" * n,
    "actions in JSON": lambda n: '{"actions": [' + '{"op": "note"}, ' * (n // 16) + "1]}",
    "lines of actions": lambda n: "[" + '\n{"op": "note"},' * (n // 16) + "\n{}]",
    "objects": lambda n: '{"actions": []}\n' * (n // 16),
    "objects on one line": lambda n: '{"actions": []} ' * (n // 16),
    "braces": lambda n: "{" * n,
    "braces and lines": lambda n: "{\n" * (n // 2),
    "brackets": lambda n: "[\n" * (n // 2),
    "spaces before JSON": lambda n: " " * n + "{",
    "deep JSON": lambda n: '{"actions": ' + "[" * n,
    "an integer": lambda n: '{"actions": [{"op": "weight", "key": "a", "value": ' + "1" * n + "}]}",
}


@pytest.mark.parametrize("make", REPLIES.values(), ids=REPLIES)
def test_a_reply_takes_linear_time(make: Make) -> None:
    assert_linear(parsed, make, 200_000)


def test_a_reply_has_a_limit() -> None:
    with pytest.raises(ReplyError, match="has 1,048,577 characters; at most 1,048,576 are read"):
        parse_reply("x" * (LIMIT + 1), allowed=("note",), max_actions=1)
    assert parse_reply("x" * LIMIT, allowed=("note",), max_actions=1).actions == ()


TEMPLATES: dict[str, Make] = {
    "braces": lambda n: "{" * n,
    "open placeholders": lambda n: "{{a" * (n // 3),
    "an open placeholder": lambda n: "{{" + "a" * n,
    "spaces": lambda n: "{{" + " " * n + "NODES}}",
    "unknown placeholders": lambda n: "{{NODE}}" * (n // 8),
    "placeholders": lambda n: "{{NODES}}" * (n // 9),
    "backticks": lambda n: "`" * n,
}


@pytest.mark.parametrize("make", TEMPLATES.values(), ids=TEMPLATES)
def test_a_template_takes_linear_time(make: Make) -> None:
    assert_linear(scan, make, 200_000)


def test_of_many_mistakes_the_first_are_named(agents_folder: Path) -> None:
    for template, inline in (("{{x}}" * 10_000, True), ("{{x}}" * 10_000, False)):
        more = f"inline = '''{template}'''" if inline else 'template = "a.md"'
        (agents_folder / "a.md").write_text(template)
        file = agents_folder / "a.toml"
        file.write_text(f'[query]\npipeline = "all"\n[prompt]\n{more}\n[execution]\nmodel = "m"\n')
        start = time.process_time()
        with pytest.raises(DefinitionError) as wrong:
            load_definition(file)
        assert time.process_time() - start < 5
        assert len([one for one in wrong.value.problems if "placeholder" in one.message]) == 100


def test_a_template_that_asks_for_one_node_many_times_has_no_room_for_it() -> None:
    template = "{{NODE:a}}" * 50_000
    asking = definition(template=template, node_chars=1_000_000)
    asked = []

    def node(key: str) -> PromptNode:
        asked.append(key)
        return PromptNode(key, "note", 0, 0.5, 0, "x" * 1_000_000)

    with pytest.raises(hr.HedgerowError, match="no room"):
        render(asking, PromptData("a", 0, [], node))
    assert asked == ["a"]


HEAD = '[query]\npipeline = "all"\n[execution]\nmodel = "m"\n[prompt]\n'
DEFINITIONS: dict[str, Make] = {
    "unknown keys": lambda n: "".join(f"k{i} = 1\n" for i in range(n // 10)),
    "placeholders": lambda n: "placeholders = [" + '"NODE:a",' * (n // 9) + "]",
    "different placeholders": lambda n: (
        "placeholders = [" + "".join(f'"NODE:{i}",' for i in range(n // 12)) + "]"
    ),
    "an inline template": lambda n: 'inline = """' + "x\\n" * (n // 3) + '"""',
    "comments": lambda n: "#\n" * (n // 2),
    "nested arrays": lambda n: "a = " + "[" * n,
    "an array": lambda n: "a = [" + "1," * (n // 2) + "]",
    "digits": lambda n: "max_chars = " + "1" * n,
    "a hexadecimal number": lambda n: "max_chars = 0x" + "f" * n,
    "tables": lambda n: "".join(f"[t{i}]\n" for i in range(n // 8)),
}


@pytest.mark.parametrize("make", DEFINITIONS.values(), ids=DEFINITIONS)
def test_a_definition_takes_linear_time(agents_folder: Path, make: Make) -> None:
    file = agents_folder / "a.toml"

    def read(text: str) -> None:
        file.write_text(HEAD + text)
        load_definition(file)

    assert_linear(read, make, 100_000)


def test_of_many_problems_the_first_are_named(agents_folder: Path) -> None:
    file = agents_folder / "a.toml"
    file.write_text(HEAD + 'inline = "x"\n' + "".join(f"k{i} = 1\n" for i in range(1000)))
    with pytest.raises(DefinitionError) as wrong:
        load_definition(file)
    assert len(wrong.value.problems) == 101
    assert str(wrong.value.problems[-1]).endswith("there are more problems than 100")


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "a." * (n // 2) + "a = 1",
        lambda n: "[" + "a." * (n // 2) + "a]\nb = 1",
        lambda n: "a = {" + "b." * (n // 2) + "c = 1}",
        lambda n: "a = " + "[1, " * 100 + "]" * 100 + "\n" + "b = 1\n" * (n // 6),
    ],
)
def test_deep_keys_take_linear_time(agents_folder: Path, make: Make) -> None:
    file = agents_folder / "a.toml"

    def read(text: str) -> None:
        file.write_text(text)
        with contextlib.suppress(DefinitionError):
            load_definition(file)

    assert_linear(read, make, 200_000)


GRADES: dict[str, Make] = {
    "spaces after a grade": lambda n: '{"document": 1, "grade": "7' + " " * n + 'x"}',
    "spaces before a grade": lambda n: '{"document": 1, "grade": "' + " " * n + '7x"}',
    "spaces in a number": lambda n: '{"document": "' + " " * n + '1", "grade": 7}',
    "commas": lambda n: "," * n,
    "commas and spaces": lambda n: "[1," + " " * n + "x",
    "braces": lambda n: "{" * n,
    "deep lists": lambda n: "[" * (n // 2) + "]" * (n // 2),
    "digits": lambda n: "[" + "1" * n + "]",
    "prose": lambda n: "the grade is [ 7 " * (n // 17),
}


@pytest.mark.parametrize("make", GRADES.values(), ids=GRADES)
def test_grades_take_linear_time(make: Make) -> None:
    assert_linear(lambda text: read_grades(text, 3), make)
    assert seconds(lambda: read_grades(make(1_000_000), 3)) < 2


@pytest.mark.parametrize("grade", ["7", " 7 ", "7/10", " 7 / 10 ", "7.0", "7,0"])
def test_a_grade_may_have_spaces(grade: str) -> None:
    assert read_grades(f'{{"document": 1, "grade": "{grade}"}}', 1) == {1: 7.0}


PIECES = st.sampled_from(
    ["{", "}", "[", "]", '"', "'", '"""', "'''", "=", ".", ",", "\n", "\\", "\\u", "0x", "1e9", "inf", "nan",
     "2026-04-18", "[query]\n", "[prompt]\n", "[execution]\n", "pipeline = ", "inline = ", "template = ", "model = ",
     "actions = ", "{{NODES}}", "{{", "}}", '"op": "link-add"', '"actions": ', "LINK ", "WRITE_NODE a\n", "END_NODE\n",
     "REFINE ", "COVERS: ", "CONFIDENCE: high\n", "\x00", "\ud800", "\x1b", "é", "document", "grade", "7/10", ": "]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=4) | st.integers().map(str), max_size=25).map("".join)


@given(TEXTS)
def test_any_reply_is_read_or_refused(text: str) -> None:
    for written in (text, f'{{"actions": [{text}]}}', f'{{"actions": [{{"op": {text}}}]}}'):
        with contextlib.suppress(ReplyError):
            assert parsed(written).to_dict()


@given(TEXTS)
def test_any_definition_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    for written in (text, f'{HEAD}inline = """{text}"""', f"{HEAD}{text}"):
        file.write_bytes(written.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(DefinitionError):
            load_definition(file)


@given(TEXTS, st.integers(0, 4))
def test_any_template_is_scanned_and_any_answer_has_grades(text: str, count: int) -> None:
    found, mistakes = scan(text)
    assert all(0 <= use.start < use.end <= len(text) for use in found)
    assert all(mistake.message for mistake in mistakes)
    for answer in (text, f"[{text}]", f'{{"document": 1, "grade": "{text}"}}'):
        assert all(0 <= grade <= 10 for grade in read_grades(answer, count).values())
