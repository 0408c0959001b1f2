"""Reading definitions: their values, and every problem with its position."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from agents_doubles import SHORT
from hedgerow.agents import AgentDefinition, DefinitionError, Problem, load_definition
from hedgerow.agents.definition import period_of
from hedgerow.agents.definition_file import read_definition
from places import ROOT

LINKER = """\
schema = 1
name = "linker"
enabled = true

[query]
pipeline = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20"
min_results = 2

[prompt]
template = "linker.md"
placeholders = ["TOPOLOGY", "NODES"]
max_chars = 50000
node_chars = 3000

[execution]
model = "sonnet"
actions = ["link-add", "weight"]
schedule = "daily"
max_runs_per_period = 3
timeout_s = 90
max_actions = 10
"""

TEMPLATE = "Link these.\n\n{{topology}}\n\n{{NODES}}\n"

KNOWN = (
    "NODES, EPISODES, TARGETS, NEIGHBORS, TOPOLOGY, PAIRS, HEALTH, COUNT, NOW, AGENT_NAME, NODE:key"
)
OPS = "link-add, weight, categorize, write-node, refine, delete, rename, note"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a definition and its template."""

    def write(
        text: str | bytes, name: str = "linker.toml", template: str | bytes = TEMPLATE
    ) -> Path:
        for file, content in ((name, text), ("linker.md", template)):
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / file).write_bytes(data)
        return tmp_path / name

    return write


def problems(file: Path) -> list[Problem]:
    with pytest.raises(DefinitionError) as raised:
        load_definition(file)
    assert raised.value.code == "invalid_definition"
    assert str(raised.value) == "\n".join(map(str, raised.value.problems))
    return list(raised.value.problems)


def shown(file: Path) -> list[str]:
    return [str(problem).removeprefix(f"{file.parent}/") for problem in problems(file)]


def test_a_definition_has_what_its_file_says(write: Write) -> None:
    file = write(LINKER)
    sha = sha256(LINKER.encode() + b"\0" + TEMPLATE.encode()).hexdigest()
    assert load_definition(file) == AgentDefinition(
        name="linker",
        pipeline=hr.parse_pipeline(
            "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20"
        ),
        template=TEMPLATE,
        model="sonnet",
        file=file,
        sha=sha,
        enabled=True,
        min_results=2,
        placeholders=("TOPOLOGY", "NODES"),
        max_chars=50_000,
        node_chars=3_000,
        actions=("link-add", "weight"),
        schedule="daily",
        period_s=86_400,
        max_runs_per_period=3,
        timeout_s=90.0,
        max_actions=10,
    )


def test_the_example_is_right_and_shown_as_it_is() -> None:
    definition = load_definition(ROOT / "examples" / "agents" / "linker.toml")
    document = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    _, shown = definition.file.read_text(encoding="utf-8").split("\n", 1)
    assert f"```toml\n{shown}```" in document
    assert definition.template.split("\n\nThe following")[0] in document


def test_what_is_left_out_has_its_default(write: Write) -> None:
    file = write(SHORT, "gardener.toml")
    assert load_definition(str(file)) == AgentDefinition(
        name="gardener",
        pipeline=hr.parse_pipeline("all"),
        template="Look at {{nodes}}.",
        model="sonnet",
        file=file,
        sha=sha256(SHORT.encode()).hexdigest(),
        placeholders=("NODES",),
    )


def test_a_definition_is_plain_data(write: Write) -> None:
    definition = load_definition(write(LINKER))
    assert pickle.loads(pickle.dumps(definition)) == definition
    with pytest.raises(AttributeError):
        definition.enabled = False  # type: ignore[misc]


def test_line_ends_and_marks_of_other_systems_mean_nothing(write: Write) -> None:
    dos = ("\ufeff" + LINKER.replace("\n", "\r\n")).encode()
    definition = load_definition(write(dos, template=TEMPLATE.replace("\n", "\r\n")))
    assert definition.template == TEMPLATE


@pytest.mark.parametrize(
    ("schedule", "seconds"),
    [
        ("on-demand", None),
        ("hourly", 3_600),
        ("daily", 86_400),
        ("weekly", 604_800),
        ("monthly", 2_592_000),
        ("every 6h", 21_600),
        ("every 1d12h", 129_600),
        ("every 90", 90),
        ("every  2w", 1_209_600),
    ],
)
def test_schedules(write: Write, schedule: str, seconds: int | None) -> None:
    definition = load_definition(write(f'{SHORT}schedule = "{schedule}"\n'))
    assert (definition.schedule, definition.period_s) == (schedule, seconds)
    assert period_of(schedule) == seconds


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("schema = 1", "schema = 2", "1:10: the file is for a newer hedgerow (schema 2; this "
         "one reads 1); upgrade hedgerow"),
        ("schema = 1", "schema = 0", "1:10: schema must be 1, not 0"),
        ("schema = 1", "schema = true", "1:10: schema must be an integer, not True"),
        ('name = "linker"', 'name = "The Linker"', '2:8: "The Linker" is not a name for an agent; use '
         '1 to 64 of a-z, 0-9 and -, a letter first; did you mean "the-linker"?'),
        ('name = "linker"', 'name = "9"', '2:8: "9" is not a name for an agent; use 1 to 64 of '
         "a-z, 0-9 and -, a letter first"),
        ('name = "linker"', 'name = " "', "2:8: name is blank; write something or leave it out"),
        ('name = "linker"', "name = 1979-05-27", "2:8: name must be a text, not None"),
        ('name = "linker"', 'nam = "linker"', '2:1: there is no key "nam"; did you mean "name"?'),
        ("enabled = true", 'enabled = "yes"', "3:11: enabled must be true or false, not 'yes'"),
        ("enabled = true", "pipeline = 3", "3:1: pipeline is at the top and belongs in "
         "[query]"),
        ("min_results = 2", "min_result = 2", '7:1: there is no key "min_result" in [query]; did '
         'you mean "min_results"?'),
        ("min_results = 2", "model = 2", "7:1: model is in [query] and belongs in [execution]"),
        ("min_results = 2", "enabled = 2", "7:1: enabled is in [query] and belongs at the top"),
        ("min_results = 2", "min_results = 0", "7:15: min_results must be an integer of at least 1 "
         "and at most 1,000,000,000, not 0"),
        ("min_results = 2", "min_results = true", "7:15: min_results must be an integer of at "
         "least 1 and at most 1,000,000,000, not True"),
        ("min_results = 2", "min_results = {a = 1}", "7:15: min_results must be an integer of "
         "at least 1 and at most 1,000,000,000, not {'a': 1}"),
        ("type:episodic", "type:episodc", '6:24: there is no type "episodc"; did you mean '
         '"episodic"?'),
        ("limit:20", "count", "6:75: an agent works on nodes and count returns a number; leave it "
         "out"),
        ("pipeline = ", "# ", "5:2: pipeline is missing in [query]; write pipeline = "
         '"all | limit:20"'),
        ("[query]", "[[query]]", "5:3: query must be a table; write [query]"),
        ('template = "linker.md"', 'template = "weaver.md"', '10:12: there is no file "weaver.md" '
         "next to this one; write it, or correct the name"),
        ('template = "linker.md"', 'template = "../linker.md"', '10:12: "../linker.md" is outside '
         'the folder of the agents; name a file in it, without ".."'),
        ('template = "linker.md"', 'template = "/linker.md"', '10:12: "/linker.md" is outside '
         'the folder of the agents; name a file in it, without ".."'),
        ('template = "linker.md"', "template = 'C:\\linker.md'", '10:12: "C:\\\\linker.md" is '
         'outside the folder of the agents; name a file in it, without ".."'),
        ('template = "linker.md"', "template = '..\\linker.md'", '10:12: "..\\\\linker.md" is '
         'outside the folder of the agents; name a file in it, without ".."'),
        ('template = "linker.md"', 'template = "a\\u0000"', '10:12: "a\\u0000" is not a '
         "file name"),
        ('template = "linker.md"', "", '9:2: template is missing in [prompt]; write template = '
         '"linker.md", or inline = """…"""'),
        ('"linker.md"', '"linker.md"\ninline = "x"', "11:1: template and inline exclude each "
         "other; leave one out"),
        ('"NODES"]', '"NODS", "NODES"]', f'11:29: there is no placeholder "NODS"; there are '
         f'{KNOWN}; did you mean "NODES"?'),
        ('"NODES"]', '"NODES", 3]', "11:38: placeholders[2] must be a text, not 3"),
        ('"NODES"]', '"NODES", "NODE"]', "11:38: NODE needs a key, as in {{NODE:instructions}}"),
        ('"NODES"]', '"NODES", "PAIRS"]', '11:38: "PAIRS" is listed, but not used in the template; '
         "remove it"),
        (', "NODES"]', "]", '11:16: the template uses {{NODES}}; add "NODES" to the list'),
        ('["TOPOLOGY", "NODES"]', '"NODES"', "11:16: placeholders must be a list, not 'NODES'"),
        ("max_chars = 50000", "max_chars = 10", "12:1: the template alone has 16 characters and "
         "max_chars is 10; raise max_chars or shorten the template"),
        ('model = "sonnet"', "", '15:2: model is missing in [execution]; write model = "…", a name '
         "that the model client knows"),
        ('"weight"]', '"weigth"]', f'17:24: there is no action "weigth"; there are {OPS}; did you '
         'mean "weight"?'),
        ('"daily"', '"dayly"', '18:12: "dayly" is not a schedule; write on-demand, hourly, daily, '
         'weekly, monthly, or "every 6h" with any duration; did you mean "daily"?'),
        ('"daily"', '"every 0h"', "18:12: a period must be from 1 s to 3660 d"),
        ('"daily"', '"every 999999999999w"', "18:12: a period must be from 1 s to 3660 d"),
        ("timeout_s = 90", "timeout_s = inf", "20:13: timeout_s must be a number above 0 and "
         "at most 86,400, not inf"),
        ("timeout_s = 90", "timeout_s = -1.5", "20:13: timeout_s must be a number above 0 and "
         "at most 86,400, not -1.5"),
        ("max_actions = 10", "max_actions = 10\n[wat]", '22:2: there is no key "wat"'),
    ],
)  # fmt: skip
def test_a_problem_has_its_position_and_names_the_fix(
    write: Write, old: str, new: str, problem: str
) -> None:
    assert LINKER.count(old) == 1
    assert shown(write(LINKER.replace(old, new))) == [f"linker.toml:{problem}"]


def test_all_problems_are_found_at_once_in_their_order(write: Write) -> None:
    file = write('enabled = 1\nbee = 2\n[prompt]\nplaceholders = ["A", "COUNT", "B"]\n')
    assert shown(file) == [
        'linker.toml:1:1: pipeline is missing in [query]; write pipeline = "all | limit:20"',
        'linker.toml:1:1: model is missing in [execution]; write model = "…", a name that the '
        "model client knows",
        "linker.toml:1:11: enabled must be true or false, not 1",
        'linker.toml:2:1: there is no key "bee"',
        'linker.toml:3:2: template is missing in [prompt]; write template = "linker.md", or '
        'inline = """…"""',
        f'linker.toml:4:17: there is no placeholder "A"; there are {KNOWN}',
        f'linker.toml:4:31: there is no placeholder "B"; there are {KNOWN}',
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{{NODS}}", f'3: there is no placeholder "NODS"; there are {KNOWN}; did you mean "NODES"?'),
        ("{{ count:3 }}", "3: COUNT takes no key; write {{COUNT}}"),
        ("{{NODE: }}", "3: NODE needs a key, as in {{NODE:instructions}}"),
        ("{{NODES", "3: {{ begins a placeholder that is not closed; write }} on the same line"),
    ],
)  # fmt: skip
class TestMistakesInATemplate:
    def test_they_stand_in_its_file(self, write: Write, line: str, problem: str) -> None:
        template = f"{TEMPLATE}é {line}\n"
        assert shown(write(LINKER, template=template)) == [f"linker.md:6:{problem}"]

    def test_or_inline(self, write: Write, line: str, problem: str) -> None:
        text = SHORT.replace('"Look', f'"""\nab \\\n  \\u00e9 {line}\nLook').replace('."', '."""')
        [found] = shown(write(text))
        # The column counts source characters, including escapes.
        expected = problem.replace("3:", "linker.toml:6:10:", 1)
        assert found == expected


@pytest.mark.parametrize("name", ["My Agent", "9", "été"])
def test_a_file_whose_name_is_no_name_for_an_agent(write: Write, name: str) -> None:
    [problem] = problems(write(SHORT, f"{name}.toml"))
    assert problem.message == (
        f'the file\'s name, "{name}", is not a name for an agent; write name = "…" or rename it'
    )
    assert problem.suggestion == (
        "my-agent" if name == "My Agent" else None if name == "9" else "t"
    )
    load_definition(write(f'name = "gardener"\n{SHORT}', f"{name}.toml"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = [1,\n", "1:8: this is not TOML: unclosed array, expected `]`"),
        ("a = 1\na = 2\n", "2:1: this is not TOML: duplicate key"),
        ("x = \n", "1:5: this is not TOML: string values must be quoted, expected literal string"),
        (b'ok = 1\nname = "\xff"\n', "2:9: this is not UTF-8; save the file as UTF-8"),
        ("a = " + "[" * 20_000, "1:85: this is not TOML: cannot recurse further; max recursion depth met"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_toml(write: Write, text: str | bytes, problem: str) -> None:
    assert shown(write(text)) == [f"linker.toml:{problem}"]


@pytest.mark.parametrize("depth", [100, 200, 300, 400, 500, 1_000])
def test_arrays_as_deep_as_they_can_be_read(write: Write, depth: int) -> None:
    assert len(problems(write(f"a = {'[' * depth}{']' * depth}\n{SHORT}"))) == 1


def test_a_number_too_long_to_read(write: Write) -> None:
    [problem] = problems(write("a = " + "9" * 5_000))
    assert problem.message.startswith("this is not TOML: integer number overflowed")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert shown(tmp_path / "linker.toml") == [
        "linker.toml:1:1: cannot be read (No such file or directory); check the file and its "
        "permissions"
    ]


def test_a_template_that_cannot_be_read(write: Write, tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    file = write(LINKER.replace("linker.md", "folder.md"))
    assert shown(file) == [
        "linker.toml:10:12: the template cannot be read (Is a directory); check the file and its "
        "permissions"
    ]
    assert shown(write(LINKER, template=b"ab\n\xff")) == [
        'linker.toml:10:12: the template "linker.md" cannot be read',
        "linker.md:2:1: this is not UTF-8; save the file as UTF-8",
    ]
    assert shown(write(LINKER, template=" \n")) == [
        'linker.toml:10:12: the template "linker.md" is blank; write the prompt there'
    ]


def test_a_problem_is_plain_data(write: Write) -> None:
    file = write(LINKER.replace('"daily"', '"dayly"'))
    [problem] = problems(file)
    assert problem.to_dict() == {
        "file": str(file),
        "line": 18,
        "column": 12,
        "message": problem.message,
        "suggestion": "daily",
    }
    error = DefinitionError((problem,))
    again = pickle.loads(pickle.dumps(error))
    assert (again.problems, str(again), again.code) == ((problem,), str(error), error.code)


@given(st.data())
def test_any_text_is_a_definition_or_has_problems_within_it(data: st.DataObject) -> None:
    text = LINKER
    for _ in range(data.draw(st.integers(1, 4))):
        start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 500))))
        part = data.draw(st.sampled_from(["", *'[]{}="\\\n#,-.é0a', '"""', "\0", text[start:end]]))
        text = text[:start] + part + text[end:]
    reading = read_definition(
        Path("linker.toml"), lambda file: (text if file.suffix == ".toml" else TEMPLATE).encode()
    )
    assert (reading.definition is None) == bool(reading.problems)
    lines = text.split("\n")
    for problem in reading.problems:
        if problem.file.suffix == ".toml":
            assert problem.line <= len(lines)
            assert problem.column <= len(lines[problem.line - 1]) + 1
