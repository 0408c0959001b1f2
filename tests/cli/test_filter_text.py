"""Conditions on the command line, such as `year >= 2024`."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from command_line import as_json, failed, ok
from hedgerow.cli.filter_text import FilterTextError, condition

READ: list[tuple[str, dict[str, Any]]] = [
    ("year >= 2024", {"year": {"$gte": 2024}}),
    ("year>=2024", {"year": {"$gte": 2024}}),
    ("  year  <  -1.5e3 ", {"year": {"$lt": -1500.0}}),
    ("year = 9007199254740993", {"year": {"$eq": 9007199254740993}}),
    ("year == 2024", {"year": {"$eq": 2024}}),
    ('year = "2024"', {"year": {"$eq": "2024"}}),
    ("year = 02024", {"year": {"$eq": "02024"}}),
    ("status != done", {"status": {"$ne": "done"}}),
    ("draft = true", {"draft": {"$eq": True}}),
    ("draft != null", {"draft": {"$ne": None}}),
    ("status in (open, 'in progress', 3)", {"status": {"$in": ["open", "in progress", 3]}}),
    ("status NOT IN(a)", {"status": {"$nin": ["a"]}}),
    ("status in ()", {"status": {"$in": []}}),
    ("author exists", {"author": {"$exists": True}}),
    ("author not exists", {"author": {"$exists": False}}),
    ("path ~ docs/**", {"path": {"$glob": "docs/**"}}),
    ("path !~ *.txt", {"path": {"$not": {"$glob": "*.txt"}}}),
    ("year ~ 2024", {"year": {"$glob": "2024"}}),
    ("tag in (a, b)", {"tags": {"$in": ["a", "b"]}}),
    ("tags != a", {"tags": {"$ne": "a"}}),
    ("meta.year > 1", {"metadata.year": {"$gt": 1}}),
    ("author.name = Ada", {"author.name": {"$eq": "Ada"}}),
    ('"two words" = x', {"metadata.two words": {"$eq": "x"}}),
    ('"path" = x', {"metadata.path": {"$eq": "x"}}),
    (r'a = "say \"hi\" \\ o"', {"a": {"$eq": 'say "hi" \\ o'}}),
    ("a = O'Brien", {"a": {"$eq": "O'Brien"}}),
    ("a = b=c", {"a": {"$eq": "b=c"}}),
    ('a = ""', {"a": {"$eq": ""}}),
    ("ordinal < 3", {"ordinal": {"$lt": 3}}),
    ("größe >= 1", {"größe": {"$gte": 1}}),
]
OPERATORS = "=, !=, <, <=, >, >=, ~, !~, in (...), not in (...), exists, not exists"
WRONG = [
    ("", 0, "a key is missing, as in year >= 2024"),
    (">= 2024", 0, "a key is missing, as in year >= 2024"),
    ("year", 4, f"an operator is missing; the operators are {OPERATORS}"),
    ("year => 2024", 5, "=> is no operator; did you mean >=?"),
    ("year <> 2024", 5, "<> is no operator; did you mean !=?"),
    ("year !! 2024", 5, f"!! is no operator; the operators are {OPERATORS}"),
    ("year is 2024", 5, f"this is no operator; the operators are {OPERATORS}"),
    ("year not 2024", 5, f"this is no operator; the operators are {OPERATORS}"),
    ("year >=", 7, 'a value is missing after >=; "" is the empty text'),
    ("a = in progress", 7, "put a text with spaces in quotes"),
    (
        "a = 1 and b = 2",
        6,
        "give each condition its own --filter; all of them must hold",
    ),
    ('a = "open', 4, "this quote is not closed"),
    ("a in open", 5, "put the values in parentheses, as in (a, b)"),
    ("a in (b", 7, "a ) is missing"),
    ("a in (b c)", 8, "a comma is missing, or quotes around a text"),
    ("a in (b,)", 8, 'a value is missing after ,; "" is the empty text'),
    ("a in (,b)", 6, 'a value is missing after (; "" is the empty text'),
    ("a exists now", 9, "put a text with spaces in quotes"),
    ("prefix ~ docs/*", 0, "prefix takes = alone; for more, write path ~ 'docs/*'"),
    ('"" = 1', 0, "the key is empty"),
    ("meta. = 1", 5, "the key is empty"),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_condition_is_what_it_says(text: str, expected: dict[str, Any]) -> None:
    assert condition(text) == expected
    hr.Filters(where=expected)


@pytest.mark.parametrize(("text", "position", "message"), WRONG)
def test_an_error_says_what_is_wrong_and_where(text: str, position: int, message: str) -> None:
    with pytest.raises(FilterTextError) as caught:
        condition(text)
    assert (caught.value.position, str(caught.value)) == (position, message)
    lines = caught.value.pointing().split("\n")
    assert lines == [message, f"  {text}", f"  {' ' * position}^"]


@given(st.text(st.sampled_from("a1 =<>!~()'\",\\.é\n") | st.characters(), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = condition(text)
    except FilterTextError as error:
        wrong = error
    else:
        [(key, operators)] = read.items()
        assert (key != "", len(operators)) == (True, 1)
        return
    assert 0 <= wrong.position <= len(text)
    assert wrong.pointing().count("\n") == 2


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)


def quoted(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(
    key=st.text(min_size=1),
    sign=st.sampled_from([("=", "$eq"), ("!=", "$ne"), ("<=", "$lte"), (">", "$gt")]),
    value=SCALARS,
    values=st.lists(SCALARS, max_size=4),
)
def test_what_is_quoted_is_read_as_it_was(key, sign, value, values):
    name = f"metadata.{key}"
    assert condition(f"{quoted(key)} {sign[0]} {quoted(value)}") == {name: {sign[1]: value}}
    listed = ", ".join(map(quoted, values))
    assert condition(f"{quoted(key)} not in ({listed})") == {name: {"$nin": values}}


@pytest.mark.parametrize("text", ["a = " + '"' * 200_001, "a in (" + "b," * 100_000, "a " + "=" * 200_000, " " * 200_000, "'" + "\\" * 200_001])  # fmt: skip
def test_reading_takes_time_linear_in_the_text(text: str) -> None:
    began = time.process_time()
    with pytest.raises(FilterTextError):
        condition(text)
    assert time.process_time() - began < 5


@pytest.mark.usefixtures("in_examples")
class TestSearch:
    QUERY = ("search", "hedge OR blackthorn OR hawthorn OR roses", "--db", "notes.db")

    def paths(self, *options: str) -> set[str]:
        return {hit["path"] for hit in as_json(*self.QUERY, *options)["results"]}

    def test_conditions_and_the_older_forms_hold_together(self) -> None:
        hawthorn = {"notes/garden/hawthorn-hedge.md"}
        assert self.paths("--filter", "length_m >= 62") == hawthorn
        assert self.paths("--filter", "meta.length_m in (61, 62)") == hawthorn
        assert self.paths("--filter", "length_m > 62") == set()
        both = ("--filter", "prefix=notes/garden/", "--filter", "length_m exists")
        assert self.paths(*both) == hawthorn
        assert self.paths("--filter", "path ~ *hawthorn*") == hawthorn
        assert self.paths("--filter", "path = notes/garden/hawthorn-hedge.md") == hawthorn
        tagged = self.paths("--filter", "tag = hedge", "--filter", "tags in (autumn, none)")
        assert tagged == {"notes/recipes/sloe-gin.md", "notes/recipes/rosehip-syrup.md"}

    def test_dates(self) -> None:
        key = ("--date-key", "planted")
        hawthorn = {"notes/garden/hawthorn-hedge.md"}
        assert self.paths("--after", "2009-11-28", *key) == hawthorn
        assert self.paths("--before", "2009-11-28", *key) == set()
        assert self.paths("--after", "2009", "--before", "2009-11-28T00:00:01Z", *key) == hawthorn

    def test_json_shows_the_filters(self) -> None:
        answer = as_json(*self.QUERY, "--filter", "a > 1", "--filter", "b=2", "--after", "2024")
        assert answer["filters"] == {
            "paths": [],
            "pathPrefix": None,
            "tags": [],
            "metadata": {},
            "where": {"$and": [{"a": {"$gt": 1}}, {"b": {"$eq": 2}}]},
            "after": "2024",
            "before": None,
            "dateKey": "date",
        }

    def test_no_results_says_among_which(self) -> None:
        text = ok(*self.QUERY, "--filter", "a > 1", "--after", "2024", "--before", "2025")
        assert 'Only among: {"a": {"$gt": 1}}, date from 2024, date before 2025\n' in text

    def test_what_cannot_be_read_is_shown(self) -> None:
        message = failed(2, *self.QUERY, "--filter", "year => 2024")
        assert "'year => 2024' is no filter; write path=FILE" in message
        assert "=> is no operator; did you mean >=?\n  year => 2024\n       ^\n" in message
        message = failed(2, *self.QUERY, "--after", "soon")
        assert 'after must be a date such as "2024-03-05"' in message
