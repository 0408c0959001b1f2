"""Requests and results: validation, JSON and schemas."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow._operations.fields import Field, declared
from hedgerow._operations.operation import Operation, Request, result_of, sent_arguments
from hedgerow._operations.schema import Definitions
from hedgerow._operations.shapes import Result, checked_arguments, from_json
from hedgerow.memory.operations import OPERATIONS, RecallRequest, RootOperations
from hedgerow.remote import RemoteRoot


@dataclass(frozen=True)
class Leaf(Result):
    """A leaf of a hedge."""

    length: float
    picked_at: datetime | None = None


@dataclass(frozen=True)
class Hedge(Result):
    """A hedge."""

    name: str
    leaves: tuple[Leaf, ...] = ()
    note: Annotated[str | None, Field(null=True)] = None
    tags: Annotated[tuple[str, ...], Field(key="words", also="labels", omit_default=True)] = ()
    counts: Annotated[Mapping[str, int] | None, Field(explained=True)] = None
    cut: Annotated[int, Field(local=True)] = 0

    JSON_PROPERTIES: ClassVar[Mapping[str, str]] = {"isLong": "is_long"}

    @property
    def is_long(self) -> bool:
        """Whether the hedge has a leaf."""
        return bool(self.leaves)


@dataclass(frozen=True)
class HedgeRequest(Request[Hedge]):
    """Plant a hedge."""

    operation = Operation("hedge", "hedge", writes=True)

    name: Annotated[str, Field("What it is called")]
    _: KW_ONLY
    kind: Literal["yew", "box"] = "yew"
    meters: Annotated[int, Field("Its length", least=1, most=100, served_most=10)] = 2
    density: Annotated[float, Field(above=0, most=1)] = 0.5
    tags: Annotated[Sequence[str], Field(served_most=2)] = ()
    since: date | str | None = None
    quick: bool = False
    tool: Annotated[Any, Field(local=True)] = None


class TestChecks:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"name": 5}, "name must be a text, not 5"),
            ({"kind": "oak"}, "kind must be one of yew, box, not 'oak'"),
            ({"kind": "bok"}, "kind must be one of yew, box, not 'bok'; did you mean 'box'?"),
            ({"meters": 0}, "meters must be an integer of at least 1 and at most 100, not 0"),
            ({"meters": True}, "meters must be an integer of at least 1 and at most 100, not True"),
            ({"meters": "2"}, "meters must be an integer of at least 1 and at most 100, not '2'"),
            ({"density": 0}, "density must be a number above 0 and at most 1, not 0"),
            ({"density": float("nan")}, "density must be a number above 0 and at most 1, not nan"),
            ({"tags": "a"}, "tags must be a list, not 'a'"),
            ({"tags": ["a", 1]}, "tags[1] must be a text, not 1"),
            ({"since": 5}, "since must be a date or a text, not 5"),
            ({"quick": "no"}, "quick must be true or false, not 'no'"),
            ({"quick": 1}, "quick must be true or false, not 1"),
        ],
    )
    def test_a_wrong_argument_is_named(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError) as raised:
            HedgeRequest(**{"name": "h", **options})
        assert raised.value.message == message
        assert raised.value.code == "invalid_option"

    def test_lists_are_tuples_afterwards(self) -> None:
        assert HedgeRequest("h", tags=["a", "b"]).tags == ("a", "b")

    def test_half_a_surrogate_pair_is_refused(self) -> None:
        with pytest.raises(InvalidInputError, match="half of a surrogate pair"):
            HedgeRequest("\ud83e")

    @given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
    def test_any_value_is_accepted_or_refused(self, value: object) -> None:
        for one in declared(HedgeRequest):
            with suppress(InvalidInputError):
                HedgeRequest(**{"name": "h", one.name: value})
                continue
            with pytest.raises(InvalidInputError) as raised:
                HedgeRequest(**{"name": "h", one.name: value})
            assert one.name in raised.value.message


class TestArguments:
    def test_they_make_a_request(self) -> None:
        assert checked_arguments(HedgeRequest, {"name": "h"}, served=True) == HedgeRequest("h")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, "name is missing; it is what it is called"),
            ({"name": "h", "kinds": "box"}, "there is no argument 'kinds': use kind"),
            ({"name": "h", "meters": 11}, "meters may have at most 10 here, not 11"),
            ({"name": "h", "tags": ["a"] * 3}, "tags may have at most 2 items here, not 3"),
        ],
    )
    def test_wrong_ones_are_named(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInputError) as raised:
            checked_arguments(HedgeRequest, given, served=True)
        assert raised.value.message == message

    def test_a_client_has_no_local_ones(self) -> None:
        with pytest.raises(InvalidInputError, match="there is no argument 'tool'"):
            checked_arguments(HedgeRequest, {"name": "h", "tool": "saw"}, served=True)
        assert checked_arguments(HedgeRequest, {"name": "h", "tool": "saw"}, served=False).tool

    def test_only_what_differs_is_sent(self) -> None:
        day = date(2026, 4, 18)
        assert sent_arguments(HedgeRequest("h", since=day, meters=2)) == {
            "name": "h",
            "since": "2026-04-18",
        }
        with pytest.raises(InvalidInputError, match="tool is for this process alone"):
            sent_arguments(HedgeRequest("h", tool="saw"))


class TestJson:
    HEDGE = Hedge(
        "h", (Leaf(1.5, datetime(2026, 4, 18, tzinfo=timezone.utc)), Leaf(2.0)), None, ("x",)
    )

    def test_keys_follow_from_the_fields(self) -> None:
        assert self.HEDGE.to_dict() == {
            "name": "h",
            "leaves": [{"length": 1.5, "pickedAt": "2026-04-18T00:00:00+00:00"}, {"length": 2.0}],
            "note": None,
            "words": ["x"],
            "labels": ["x"],
            "isLong": True,
        }
        plain = Hedge("h", counts={"a": 1})
        assert plain.to_dict() == {"name": "h", "leaves": [], "note": None, "isLong": False}
        assert plain.to_dict(explain=True)["counts"] == {"a": 1}

    def test_it_is_read_back(self) -> None:
        assert Hedge.from_dict(self.HEDGE.to_dict()) == self.HEDGE
        assert Hedge.from_dict({"name": "h", "unknown": 1}) == Hedge("h")
        with pytest.raises(KeyError):
            Hedge.from_dict({})

    def test_its_schema_describes_it(self) -> None:
        found = Definitions()
        reference = found.of(Hedge)
        document = {**reference, "components": {"schemas": found.schemas}}
        for value in (self.HEDGE, Hedge("h")):
            jsonschema.Draft202012Validator(document).validate(value.to_dict())
        wrong = {"name": 5, "leaves": [], "isLong": True}
        assert not jsonschema.Draft202012Validator(document).is_valid(wrong)

    def test_the_schema_of_arguments_has_bounds_and_defaults(self) -> None:
        schema = Definitions().arguments(HedgeRequest)
        assert schema["required"] == ["name"]
        assert schema["additionalProperties"] is False
        assert schema["properties"]["meters"] == {
            "type": "integer",
            "description": "Its length",
            "minimum": 1,
            "maximum": 10,
            "default": 2,
        }
        assert "tool" not in schema["properties"]


class TestTable:
    def test_both_classes_have_each_method_in_both_forms(self) -> None:
        for name, request in OPERATIONS.items():
            for owner in (MemoryRoot, RemoteRoot):
                for method in (getattr(owner, name), getattr(owner, f"a{name}")):
                    names = list(inspect.signature(method).parameters)[1:]
                    assert sorted(names) == sorted(one.name for one in declared(request))
            assert callable(getattr(MemoryRoot, f"_{name}")), name
            assert getattr(RootOperations, name).__doc__ == inspect.getdoc(request)

    def test_each_result_can_be_described(self) -> None:
        for request in OPERATIONS.values():
            definitions = Definitions({Any: {}})
            definitions.of(result_of(request))
            definitions.arguments(request)

    def test_a_result_of_a_recall_is_read_back(self, tmp_path: Any) -> None:
        root = MemoryRoot.init(tmp_path)
        root.remember("No pellets.", title="Slugs", tags=["garden"])
        found = root.recall("pellets", explain=True)
        assert from_json(found.to_dict(explain=True), type(found)) == found
        assert RecallRequest("pellets").operation.path == "recall"


def test_the_specification_names_every_argument_of_a_route():
    lines = Path("spec/service.md").read_text(encoding="utf-8").split("## Problems")[0].splitlines()
    about_roots = lines[lines.index("| for a root | body | answer |") :]
    for name, request in OPERATIONS.items():
        row = request.operation
        path = f"/v1/{row.path}`".replace("{key}", "KEY")
        [said] = [
            line for line in about_roots if f"`{row.method} {path}" in line or f", `{path}" in line
        ]
        includes_recall = "the options of `recall`" in said
        named = {one.name for one in declared(RecallRequest)} if includes_recall else set()
        for one in declared(request):
            in_url = f"{{{one.name}}}" in str(row.path) or one.field.header is not None
            if not in_url and not one.field.local:
                assert f"`{one.name}`" in said or one.name in named, (name, one.name)


BLOCKING = {
    "agents",
    "close",
    "index_state",
    "initialize",
    "refuses_model",
    "scoped",
    "store",
    "sync",
}
"""Methods without an asynchronous one: each waits for nothing, or returns what works by blocking. Operations
sync by themselves.
"""


def test_whatever_waits_can_be_awaited():
    methods = [
        name
        for name, method in inspect.getmembers(MemoryRoot, inspect.isfunction)
        if not name.startswith("_") and not inspect.iscoroutinefunction(method)
    ]
    alone = {name for name in methods if not hasattr(MemoryRoot, f"a{name}")}
    assert alone == BLOCKING


def test_reads_that_are_no_operations_can_be_awaited(tmp_path):
    (tmp_path / "hedge.md").write_text("# Hedge\n\nA [[nest]] in it.\n", encoding="utf-8")
    (tmp_path / "nest.md").write_text("---\nretracted: true\n---\nA nest.\n", encoding="utf-8")

    async def reads(root):
        return [
            await root.aquery("all | count"),
            await root.agraph(),
            await root.aresolve("hedge"),
            await root.avalidity("nest"),
            await root.avalidities(["nest.md"]),
            await root.awhy_not("nest", "nest"),
        ]

    with MemoryRoot.open(tmp_path) as root:
        assert asyncio.run(reads(root)) == [
            root.query("all | count"),
            root.graph(),
            root.resolve("hedge"),
            root.validity("nest"),
            root.validities(["nest.md"]),
            root.why_not("nest", "nest"),
        ]
