"""Parsing replies: every request in a reply becomes an action or is rejected with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents_doubles import DIRECTIVES, parsed
from hedgerow.agents import (
    ACTIONS,
    Action,
    Categorize,
    Delete,
    LinkAdd,
    Note,
    Refine,
    RejectedPart,
    Rename,
    Reply,
    ReplyError,
    Weight,
    WriteNode,
)

OPS = ", ".join(ACTIONS)


def rejected(text: str, **options: Any) -> RejectedPart:
    reply = parsed(text, **options)
    assert reply.actions == ()
    [found] = reply.rejected
    return found


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("LINK a b", LinkAdd("a", "b", 1.0)),
        ("LINK a b 0.5", LinkAdd("a", "b", 0.5)),
        ("LINK\ta\t b  .5  ", LinkAdd("a", "b", 0.5)),
        ('LINK "a b" c/d.md#2 1', LinkAdd("a b", "c/d.md#2", 1.0)),
        (r'LINK "say \"hi\"" "back\\slash"', LinkAdd('say "hi"', "back\\slash")),
        (r'LINK "caf\u00e9" é', LinkAdd("café", "é")),
        ("LINK it's 5\"", LinkAdd("it's", '5"')),
        ("WEIGHT a 0", Weight("a", 0.0)),
        ("WEIGHT a 1e-3", Weight("a", 0.001)),
        ("CATEGORIZE a Core", Categorize("a", "core")),
        ("DELETE a", Delete("a")),
        ('RENAME "old one" new', Rename("old one", "new")),
        ('NOTE "all is well"', Note("all is well")),
        ("NOTE all is well", Note("all is well")),
        ('NOTE "a" and "b"', Note('"a" and "b"')),
        ("REFINE a\nnew\n\ntext\nEND_REFINE", Refine("a", "new\n\ntext")),
        ("REFINE a\n\n new \n\nEND_REFINE ", Refine("a", " new ")),
        ("WRITE_NODE a\ntext\nEND_NODE", WriteNode("a", "text")),
        (
            'WRITE_NODE "a b"\nCONFIDENCE: High\nCOVERS: k1, "k 2",k1,k3\nTYPE:episodic\n\n'
            "# Title\nTYPE: weekly\nLINK a b\nEND_NODE",
            WriteNode(
                "a b", "# Title\nTYPE: weekly\nLINK a b", "high", ("k1", "k 2", "k3"), "episodic"
            ),
        ),
        ("WRITE_NODE a\nCOVERS:\ntext\nEND_NODE", WriteNode("a", "text")),
        ("REFINE a\n\\END_REFINE\n\\\\WRITE_NODE\nEND_REFINE", Refine("a", "END_REFINE\n\\WRITE_NODE")),
        ("REFINE a\n  indented\n  END_REFINE", Refine("a", "  indented")),
        ('{"actions": [{"op": "delete", "key": "a"}]}', Delete("a")),
        ('[{"op": "weight", "key": "a", "value": 1}]', Weight("a", 1.0)),
        ('{"actions": [{"op": "note", "text": "a\nb"}]}', Note("a\nb")),
        ('{"actions": [{"op": "link-add", "a": "x", "b": "y", "strength": null}]}', LinkAdd("x", "y")),
        ('So: {"actions": [{"op": "delete", "key": "a"}]} is all.', Delete("a")),
        ('JSON { "actions" : [{"op": "delete", "key": "a"}]}', Delete("a")),
        ('NOTE {"actions": []}', Note('{"actions": []}')),
        (
            '{"actions": [{"op": "write-node", "key": "a", "content": "\\r\\nb\\r\\nc", '
            '"covers": ["k", "k"]}]}',
            WriteNode("a", "b\nc", covers=("k",)),
        ),
    ],
)  # fmt: skip
def test_what_a_reply_asks_for(text: str, action: Action) -> None:
    assert parsed(text) == Reply((action,))
    assert parsed(text.replace("\n", "\r\n")) == Reply((action,))
    around = parsed(f"I shall do this.\n```\n{text}\n```\nThat was all, I think.")
    assert around == Reply((action,))
    assert around.actions[0].line == 3


@pytest.mark.parametrize(
    ("text", "reason", "op"),
    [
        ("LINK a", "LINK takes two keys and an optional strength; quote keys with "
         "spaces", "link-add"),
        ("LINK a b 0.5 c", "LINK takes two keys and an optional strength; quote keys "
         "with spaces", "link-add"),
        ("LINK", "LINK takes two keys and an optional strength; quote keys with spaces",
         "link-add"),
        ("LINK a b c", '"c" is not a number', "link-add"),
        ("LINK a b 0", "strength must be above 0", "link-add"),
        ("LINK a b 1.01", "strength must be from 0 to 1", "link-add"),
        ("LINK a b 1e300", "strength must be from 0 to 1", "link-add"),
        ('LINK a "a"', "a node cannot be linked to itself", "link-add"),
        ('LINK "a b', "LINK has an unclosed quote, or text right after a quote", "link-add"),
        ('LINK "a"b c', "LINK has an unclosed quote, or text right after a quote", "link-add"),
        (r'LINK "C:\data" c', r"within quotes, write \" for a quote and \\ for a backslash", "link-add"),
        (f"DELETE {'x' * 513}", "key must have 1 to 512 characters and no NUL", "delete"),
        ('DELETE ""', "key must have 1 to 512 characters and no NUL", "delete"),
        (r'DELETE "a\u0000"', "key must have 1 to 512 characters and no NUL", "delete"),
        (r'DELETE "a\ud800"', "key has an unpaired surrogate", "delete"),
        ("DELETE a b", "DELETE takes one key; quote keys with spaces", "delete"),
        ("WEIGHT a", "WEIGHT takes a key and a number; quote keys with spaces", "weight"),
        ("WEIGHT a high", '"high" is not a number', "weight"),
        (r'WEIGHT a "\ud800"', r'"\ud800" is not a number', "weight"),
        ("WEIGHT a -0.1", "value must be from 0 to 1", "weight"),
        ("CATEGORIZE a cor", 'category must be one of core, general, technical, observation, task; '
         'did you mean "core"?', "categorize"),
        ("CATEGORIZE a", "CATEGORIZE takes a key and a category; quote keys with spaces",
         "categorize"),
        ("RENAME a a", "the new key is the old one", "rename"),
        ("RENAME a", "RENAME takes the old key and the new key; quote keys with spaces",
         "rename"),
        ("NOTE", "text is blank", "note"),
        ('NOTE "  "', "text is blank", "note"),
        ("REFINE a\n \nEND_REFINE", "content is blank", "refine"),
        ("REFINE a b\nc\nEND_REFINE", "REFINE takes one key; quote keys with spaces",
         "refine"),
        ("REFINE a\nb\0c\nEND_REFINE", "content has a NUL", "refine"),
        ("REFINE a\nLINK b c\n", "END_REFINE is missing; everything after it was read as its text",
         "refine"),
        ("REFINE a\nb\nEND_NODE", "line 4 has END_NODE where END_REFINE should be", "refine"),
        ("WRITE_NODE\na\nEND_NODE", "WRITE_NODE takes one key; quote keys with spaces",
         "write-node"),
        ("WRITE_NODE a\nCONFIDENCE: sure\nb\nEND_NODE", "confidence must be one of high, medium, "
         "low", "write-node"),
        ("WRITE_NODE a\nTYPE: episode\nb\nEND_NODE", 'type must be one of episodic, daily, weekly, '
         'monthly, semantic; did you mean "episodic"?', "write-node"),
        ("WRITE_NODE a\nTYPE: daily\nTYPE: daily\nb\nEND_NODE", "TYPE appears twice",
         "write-node"),
        ("WRITE_NODE a\nCOVERS: b c\nd\nEND_NODE", "COVERS takes keys separated by commas; quote "
         "keys with spaces", "write-node"),
        ("WRITE_NODE a\nCOVERS: b,,c\nd\nEND_NODE", "COVERS takes keys separated by commas; quote "
         "keys with spaces", "write-node"),
        ("END_NODE", "END_NODE closes nothing", None),
        ("SPLIT a", f'there is no directive "SPLIT"; there are {DIRECTIVES}', None),
        ("WRITENODE a", 'there is no directive "WRITENODE"; did you mean "WRITE_NODE"?', None),
        ("DONE", f'there is no directive "DONE"; there are {DIRECTIVES}', None),
        ("LINK: a b", "LINK must begin its line, with a space after it", "link-add"),
        ("- LINK a b", "LINK must begin its line, with a space after it", "link-add"),
        ("2. **DELETE** a", "DELETE must begin its line, with a space after it", "delete"),
        ('{"actions": [3]}', "an action must be an object", None),
        ('{"actions": [{"key": "a"}]}', f'"op" must be one of {OPS}', None),
        ('{"actions": [{"op": ["delete"]}]}', f'"op" must be one of {OPS}', None),
        ('{"actions": [{"op": "link"}]}', 'there is no action "link"; did you mean "link-add"?',
         None),
        (r'{"actions": [{"op": "\ud800"}]}', rf'there is no action "\ud800"; there are {OPS}', None),
        (r'{"actions": [{"op": "delete", "\ud800": 1}]}', r'delete has no "\ud800"; it has key',
         "delete"),
        ('{"actions": [{"op": "delete"}]}', 'delete lacks "key"', "delete"),
        ('{"actions": [{"op": "delete", "key": null}]}', 'delete lacks "key"', "delete"),
        ('{"actions": [{"op": "delete", "key": 3}]}', "key must be a string", "delete"),
        ('{"actions": [{"op": "delete", "key": "a", "why": "x"}]}', 'delete has no "why"; it has '
         "key", "delete"),
        ('{"actions": [{"op": "delete", "key": "a", "line": 3}]}', 'delete has no "line"; it has '
         "key", "delete"),
        ('{"actions": [{"op": "delete", "key": "\\ud800"}]}', "key has an unpaired surrogate",
         "delete"),
        ('{"actions": [{"op": "weight", "key": "a", "value": "1"}]}', "value must be a number from "
         "0 to 1", "weight"),
        ('{"actions": [{"op": "weight", "key": "a", "value": true}]}', "value must be a number from "
         "0 to 1", "weight"),
        ('{"actions": [{"op": "weight", "key": "a", "value": NaN}]}', "value must be from 0 to 1",
         "weight"),
        ('{"actions": [{"op": "write-node", "key": "a", "content": "b", "covers": "k"}]}',
         "covers must be a list of keys", "write-node"),
    ],
)  # fmt: skip
def test_what_is_rejected_says_why(text: str, reason: str, op: str | None) -> None:
    found = rejected(f"So:\n{text}")
    assert (found.line, found.reason, found.op) == (2, reason, op)
    assert found.text in text
    assert found.to_dict() == {"line": 2, "text": found.text, "reason": reason, "op": op}


@pytest.mark.parametrize(
    "text",
    [
        "Nothing to do.",
        "link a b",
        "I would LINK a b.",
        "Linked: LINK",
        "A LINK",
        "OK",
        "IN short",
        "JSON: {}",
        "{a} and [b]",
        "[1] LINK",
        "CONFIDENCE: high",
    ],
)
def test_other_text_means_nothing(text: str) -> None:
    assert parsed(text) == Reply()


def test_everything_is_read_in_its_order() -> None:
    reply = parsed(
        "LINK a b\nSPLIT c\nREFINE d\ntext\nEND_REFINE\n"
        'and\n{"why": {"x": []}, "actions": [\n  {"op": "delete", "key": "e"},\n  7\n], "z": 1}\n'
        "NOTE f\nREFINE g\nunfinished"
    )
    assert [(action.op, action.line) for action in reply.actions] == [
        ("link-add", 1),
        ("refine", 3),
        ("delete", 8),
        ("note", 11),
    ]
    assert [(one.line, one.text) for one in reply.rejected] == [
        (2, "SPLIT c"),
        (9, "7"),
        (12, "REFINE g\nunfinished"),
    ]
    assert reply.notes == ("f",)


def test_json_may_begin_anywhere_and_end_lines_later() -> None:
    reply = parsed('So: {\n"actions": [\n{"op": "delete", "key": "a"}]} and\nDELETE b')
    assert [(action, action.line) for action in reply.actions] == [
        (Delete("a"), 3),
        (Delete("b"), 4),
    ]


def test_no_json_is_passed_over() -> None:
    one, other = (json.dumps({"actions": [Delete(key).to_dict()]}) for key in "ab")
    assert parsed(f"{one} and {other}\n{one}{other}").actions == (Delete("a"), Delete("b")) * 2


def test_a_block_that_is_not_closed_does_not_swallow_the_next() -> None:
    reply = parsed("WRITE_NODE a\none\nREFINE b\ntwo\nEND_REFINE\nDELETE c")
    assert reply.actions == (Refine("b", "two"), Delete("c"))
    assert reply.rejected == (
        RejectedPart(
            1, "WRITE_NODE a\none", "END_NODE is missing before REFINE in line 3", "write-node"
        ),
    )


def test_only_what_is_allowed() -> None:
    found = rejected("DELETE a", allowed=["link-add"])
    assert found == RejectedPart(
        1, "DELETE a", 'this agent may not delete; "actions" of its definition does not list it', "delete"
    )  # fmt: skip
    assert rejected("NOTE a", allowed=[]).op == "note"
    assert parsed("LINK a b\nDELETE a", allowed=["link-add"]).actions == (LinkAdd("a", "b"),)


def test_only_so_many() -> None:
    reply = parsed("LINK a b\nLINK a a\nDELETE c\nNOTE d\nDELETE e", max_actions=2)
    assert reply.actions == (LinkAdd("a", "b"), Delete("c"))
    reason = "one run may have at most 2 actions (max_actions)"
    assert [(one.line, one.reason, one.op) for one in reply.rejected[1:]] == [
        (4, reason, "note"),
        (5, reason, "delete"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the model replied with nothing"),
        (" \n\t", "the model replied with nothing"),
        (None, "the reply must be a string, not NoneType"),
        ("LINK a b\nx\ud800", "the reply has an unpaired surrogate at character 10"),
        ('{"actions": [', "the reply has malformed JSON (Expecting value: line 1 column 14 (char 13))"),
        ('LINK a b\n```json\n{"actions": [{"op"\n```', "the reply has malformed JSON "
         "(Expecting ':' delimiter: line 4 column 1 (char 36))"),
        ('{"action": []}', 'the reply is JSON without a list "actions"'),
        ('{"actions": {}}', 'the reply is JSON without a list "actions"'),
        ('So: {"actions": [', "the reply has malformed JSON (Expecting value: line 1 "
         "column 18 (char 17))"),
        ("{}", 'the reply is JSON without a list "actions"'),
    ],
)  # fmt: skip
def test_a_reply_that_cannot_be_read_fails_as_a_whole(text: Any, message: str) -> None:
    with pytest.raises(ReplyError) as raised:
        parsed(text)
    assert (raised.value.code, str(raised.value)) == ("unreadable_reply", message)


def test_json_that_is_too_deep_fails_as_a_whole() -> None:
    with pytest.raises(ReplyError, match="the reply has malformed JSON"):
        parsed('{"actions": ' + "[" * 100_000)


def test_a_long_reply_is_read_in_linear_time() -> None:
    assert len(parsed("LINK a b\n" * 20_000, max_actions=10**9).actions) == 20_000
    assert len(parsed("REFINE a\n" * 20_000).rejected) == 20_000
    assert len(parsed("LINK " + '"' * 50_000).rejected) == 1
    assert parsed(" " * 50_000 + "x\n" + "-" * 50_000) == Reply()
