"""Properties of replies: every request is parsed or rejected, and written actions parse back."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agents_doubles import DIRECTIVES, parsed
from hedgerow.agents import (
    ACTIONS,
    Action,
    Categorize,
    Delete,
    LinkAdd,
    Note,
    Refine,
    Rename,
    Reply,
    ReplyError,
    Weight,
    WriteNode,
    write_action,
)

keys = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
)
fractions = st.floats(0, 1, allow_nan=False)
contents = (
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=12)
        | st.sampled_from(
            [
                "END_NODE",
                " END_REFINE ",
                "\\END_NODE",
                "TYPE: x",
                "WRITE_NODE a",
                "\\\\REFINE",
                "{",
                "",
            ]
        ),
        max_size=4,
    )
    .map(lambda lines: "\n".join([*lines, "x"]))
    .filter(lambda content: content.split("\n")[0].strip())
)
actions = st.one_of(
    st.builds(LinkAdd, keys, keys, fractions.filter(bool)).filter(lambda link: link.a != link.b),
    st.builds(Weight, keys, fractions),
    st.builds(Categorize, keys, st.sampled_from(["core", "general", "technical", "task"])),
    st.builds(
        WriteNode,
        keys,
        contents,
        st.sampled_from([None, "high", "medium", "low"]),
        st.lists(keys, max_size=3, unique=True).map(tuple),
        st.sampled_from(["episodic", "daily", "semantic"]),
    ),
    st.builds(Refine, keys, contents),
    st.builds(Delete, keys),
    st.builds(Rename, keys, keys).filter(lambda rename: rename.key != rename.new_key),
    st.builds(Note, contents),
)


@given(st.lists(actions, min_size=1, max_size=5).map(tuple))
def test_what_is_written_is_read_again(several: tuple[Action, ...]) -> None:
    text = "\n".join(map(write_action, several))
    assert parsed(text) == Reply(several)


@given(st.lists(actions, max_size=5).map(tuple), st.sampled_from([None, 1]), st.booleans())
def test_text_and_json_say_the_same(
    several: tuple[Action, ...], indent: int | None, ascii_only: bool
) -> None:
    body = {"actions": [action.to_dict() for action in several]}
    assert parsed(json.dumps(body, indent=indent, ensure_ascii=ascii_only)) == Reply(several)
    assert Reply(several).to_dict() == {**body, "rejected": []}


words = st.sampled_from(
    [
        *DIRECTIVES.split(", "),
        "END_NODE", "END_REFINE", "CONFIDENCE:", "COVERS:", "SPLIT", "\n", "\n", "\n", " ", '"', "a", "b",
        "0.5", "\\", ",", "{", "}", '{"actions": [', "]}", '{"op": "delete", "key": "a"}', "- ", "```",
    ]
)  # fmt: skip


@given(st.text(max_size=4096) | st.lists(words, max_size=60).map("".join))
def test_any_text_is_read_or_fails_as_a_whole(text: str) -> None:
    try:
        reply = parsed(text)
    except ReplyError:
        return
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for found in (*reply.actions, *reply.rejected):
        assert 1 <= found.line <= len(lines)
    # Every line that starts like a directive is parsed as one, or is part of an action.
    if "{" not in text and "[" not in text:
        taken = set()
        for action in reply.actions:
            taken |= set(range(action.line, action.line + len(lines)))
        for one in reply.rejected:
            taken |= set(range(one.line, one.line + one.text.count("\n") + 1))
        begun = {
            n for n, line in enumerate(lines, 1) if line.split(" ")[0] in DIRECTIVES.split(", ")
        }
        assert begun <= taken


@given(st.lists(actions, max_size=4), st.sets(st.sampled_from(ACTIONS)), st.integers(0, 3))
def test_no_more_than_is_allowed_and_nothing_lost(
    several: list[Action], allowed: set[str], most: int
) -> None:
    text = "\n".join(["nothing", *map(write_action, several)])
    reply = parsed(text, allowed=allowed, max_actions=most)
    assert len(reply.actions) <= most
    assert {action.op for action in reply.actions} <= allowed
    assert len(reply.actions) + len(reply.rejected) == len(several)
