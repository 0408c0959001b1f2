"""Positions of keys, values and characters in TOML, checked against what tomllib reads there."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.agents.definition_file import tomllib
from hedgerow.agents.toml_positions import Positions


def value_at(text: str, offset: int) -> Any:
    """The value that begins at an offset: the longest TOML from there."""
    for end in range(len(text), offset, -1):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(f"k = {text[offset:end]}")["k"]
    raise AssertionError(f"nothing to read at {offset}")


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    ['"', "'", '"""', "\\", "#", "[x]", "a = 1", "{", "}", ",", "\n", "é\t"]
)


def basic(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def literal(text: str) -> str:
    return f"'{text}'" if not set("'\n") & set(text) and "\x7f" not in text else basic(text)


def multiline(text: str) -> str:
    inner = basic(text)[1:-1].replace("\\n", "\n")
    return f'"""\n{inner}"""'


written_texts = st.builds(
    lambda text, how: how(text), texts, st.sampled_from([basic, literal, multiline])
)
written = st.recursive(
    st.integers(-9, 9).map(str)
    | st.sampled_from(["true", "1.5", "1979-05-27T07:32:00Z"])
    | written_texts,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: "[ " + " , ".join(parts) + " ]")
        | st.lists(inner, max_size=3).map(
            lambda parts: "{" + ", ".join(f"k{n}.x = {part}" for n, part in enumerate(parts)) + "}"
        )
    ),
    max_leaves=6,
)


@given(
    st.lists(
        st.tuples(st.booleans(), written, st.sampled_from(["", "  # a = [\n", "\n\n"])), max_size=6
    )
)
def test_every_key_and_value_is_found(parts: list[tuple[bool, str, str]]) -> None:
    text = ""
    for number, (header, value, behind) in enumerate(parts):
        text += f"[t{number}.'u v']\n" if header else ""
        text += f'  k{number}."y z" = {value}{behind}\n'
    read = tomllib.loads(text)
    positions = Positions(text)

    def check(path: tuple[str | int, ...], value: Any) -> None:
        position = positions.of(path)
        if path:
            assert position is not None
            if isinstance(path[-1], str):
                assert text.startswith((path[-1], f'"{path[-1]}"', f"'{path[-1]}'"), position.key)
        if isinstance(value, dict):
            inner: list[tuple[str | int, Any]] = list(value.items())
        elif isinstance(value, list):
            inner = list(enumerate(value))
        else:
            assert value_at(text, position.value) == value
            inner = []
        for name, one in inner:
            check((*path, name), one)

    check((), read)


@given(texts, texts, st.sampled_from([basic, literal, multiline]))
def test_a_character_of_a_string_is_found(
    before: str, after: str, how: Callable[[str], str]
) -> None:
    whole = f"{before}§{after}"
    text = f"k = {how(whole)}\n"
    position = Positions(text).of(("k",))
    assert position is not None
    index = tomllib.loads(text)["k"].index("§")
    assert text[Positions(text).in_text(position.value, index)] == "§"


@example("a=[}")
@given(st.text("[]{}=,.\"'\\#ab1 \n", max_size=40))
def test_invalid_toml_is_accepted(text: str) -> None:
    """It always terminates."""
    Positions(text)
