"""The HTML document is self-contained, and its data cannot become markup or code."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import _shapes
from hedgerow._page import GENERATOR, page
from places import ROOT

FOLDER = ROOT / "python" / "hedgerow" / "_page"
BREAKERS = [
    "</script>",
    "<!--",
    "<script>",
    "]]>",
    "{{script}}",
    "{{data}}",
    "\u2028",
    "&lt;",
    "\x00",
]


class Elements(HTMLParser):
    """Every element with its attributes, and the text of each `script` and `style`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, _: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data

    def text_of(self, **wanted: str) -> str:
        [found] = [
            text
            for (_, attributes), text in zip(self.tags, self.texts, strict=True)
            if wanted.items() <= attributes.items()
        ]
        return found


texts = st.text() | st.lists(st.sampled_from(BREAKERS) | st.text(max_size=3)).map("".join)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@given(values)
def test_data_comes_back_as_it_went_in_and_adds_no_element(value: object) -> None:
    written = page({"value": value})
    elements = Elements(written)
    assert json.loads(elements.text_of(id="data")) == {"value": value}
    assert [tag for tag, _ in elements.tags] == [tag for tag, _ in Elements(page(None)).tags]


def test_half_of_a_surrogate_pair_can_be_written_as_utf_8() -> None:
    written = page({"path": "a\udc80b"})
    assert json.loads(Elements(written.encode().decode()).text_of(id="data"))["path"] == "a\udc80b"


@pytest.mark.parametrize("data", [None, {"about": {}}])
def test_the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else(
    data: object,
) -> None:
    elements = Elements(page(data))
    [policy] = [a["content"] for _, a in elements.tags if "http-equiv" in a]
    rules = dict(rule.split(" ", 1) for rule in str(policy).split("; "))
    script = elements.text_of(type="module")
    style = next(
        text for (tag, _), text in zip(elements.tags, elements.texts, strict=True) if tag == "style"
    )
    for name, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["connect-src"] == ("'self'" if data is None else "'none'")


def test_nothing_is_loaded_from_anywhere() -> None:
    elements = Elements(page(None))
    for _, attributes in elements.tags:
        for name in ("src", "href", "action", "srcset"):
            assert (attributes.get(name) or "data:").startswith("data:")
        assert not [name for name in attributes if name.startswith("on")]
        assert "style" not in attributes
    assert "@import" not in page(None)
    assert "url(" not in page(None)


def test_the_beginning_says_what_made_it() -> None:
    assert GENERATOR in page(None)[:1024]


def test_no_script_makes_elements_from_text() -> None:
    for file in FOLDER.glob("*.js"):
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|DOMParser",
            file.read_text(encoding="utf-8"),
        )
        assert found == [], file.name


def test_every_script_is_in_the_page() -> None:
    script = Elements(page(None)).text_of(type="module")
    for file in FOLDER.glob("*.js"):
        assert file.read_text(encoding="utf-8") in script


def test_keys_of_a_trace_that_may_be_missing_are_no_arguments() -> None:
    """A missing key has no methods, and one such error hides all results."""
    pydantic = pytest.importorskip("pydantic")
    schema = pydantic.TypeAdapter(_shapes.Trace).json_schema()
    script = "\n".join(file.read_text(encoding="utf-8") for file in FOLDER.glob("*.js"))
    passed = re.findall(r"(?<!if )\(trace\.(\w+)[,)]", script)
    assert "vectorCount" in passed
    assert set(passed) <= set(schema["required"])
