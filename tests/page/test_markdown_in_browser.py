"""Rendering the Markdown of memories: the HTML, and hostile text that stays text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from places import ROOT

FOLDER = ROOT / "python" / "hedgerow" / "_page"
SCRIPTS = ("dom.js", "graph.js", "markdown_inline.js", "markdown.js", "state.js")
TAGS = {
    *("h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "pre", "blockquote", "hr", "div", "table"),
    *(
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "a",
        "br",
        "code",
        "del",
        "em",
        "strong",
        "span",
        "input",
    ),
}

Render = Callable[..., str]


@pytest.fixture(scope="module")
def renderer(browser: Any) -> Any:
    """A blank page with the renderer."""
    page = browser.new_page()
    for name in SCRIPTS:
        page.add_script_tag(content=(FOLDER / name).read_text(encoding="utf-8"))
    page.add_script_tag(
        content="""const render = (text, options = {}) =>
          markdown(text, { linkTo: linkIn("garden/hedge.md", { live: true }), ...options });"""
    )
    yield page
    page.close()


@pytest.fixture(scope="module")
def rendered(renderer: Any) -> Render:
    """Return a function that renders a text to HTML, without the attribute that every block has."""

    def render(text: str, **options: Any) -> str:
        html: str = renderer.evaluate(
            "([text, options]) => render(text, options).innerHTML", [text, options]
        )
        return html.replace(' dir="auto"', "")

    return render


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One\ntwo\n\nthree", "<p>One\ntwo</p><p>three</p>"),
        ("# A #\n### B", "<h3>A</h3><h5>B</h5>"),
        ("A\n===\n\nB\n---", "<h3>A</h3><h4>B</h4>"),
        ("#tag is no heading", "<p>#tag is no heading</p>"),
        ("- a\n- b\n  - c\n\nd", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><p>d</p>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"),
        ("> a\nb\n> > c", "<blockquote><p>a\nb</p><blockquote><p>c</p></blockquote></blockquote>"),
        ("```py\na < b\n  c\n```\nd", "<pre><code>a &lt; b\n  c</code></pre><p>d</p>"),
        ("    a\n\n    b", "<pre><code>a\n\nb</code></pre>"),
        ("a\n\n***\n\nb", "<p>a</p><hr><p>b</p>"),
        ("<!-- for programs -->\nText", "<p>Text</p>"),
        ("a  \nb\\\nc", "<p>a<br>b<br>c</p>"),
        (
            "*a* **b** ***c*** ~~d~~",
            "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <del>d</del></p>",
        ),
        ("snake_case_name 2 * 3 * 4", "<p>snake_case_name 2 * 3 * 4</p>"),
        ("`a*b*` `` `c` ``", "<p><code>a*b*</code> <code>`c`</code></p>"),
        (r"\*a\* &lt;b&gt; &#65;", "<p>*a* &lt;b&gt; A</p>"),
        ("---\ntitle: T\n---\n\nText", "<p>Text</p>"),
        ("---\nno end", "<hr><p>no end</p>"),
        ("![a *hedge*](hedge.png)", '<p><span class="image">a hedge</span></p>'),
    ],
)
def test_blocks_and_inline_markup(rendered: Render, text: str, html: str) -> None:
    assert rendered(text) == html


def test_a_table_has_heads_alignment_and_no_more_cells_than_heads(rendered: Render) -> None:
    assert rendered("| a | b |\n|---|--:|\n| 1 | `x` | 3 |\n\nText") == (
        '<div class="table" role="region" tabindex="0" aria-label="Table"><table><thead><tr>'
        '<th class="align-start" scope="col">a</th><th class="align-end" scope="col">b</th></tr></thead>'
        '<tbody><tr><td class="align-start">1</td><td class="align-end"><code>x</code></td></tr></tbody>'
        "</table></div><p>Text</p>"
    )


def test_a_task_says_whether_it_is_done(renderer: Any) -> None:
    boxes = renderer.evaluate(
        "[...render('- [x] a\\n- [ ] b').querySelectorAll('input')].map((e) => [e.checked, e.disabled, e.ariaLabel])"
    )
    assert boxes == [[True, True, "done"], [False, True, "to do"]]


def test_the_title_is_not_repeated_and_the_passage_is_marked(rendered: Render) -> None:
    text = "---\na: 1\n---\n# Hedge\n\nOne\n\nTwo\n\n- three"
    assert rendered(text, title="Hedge", marked=[8, 10]) == (
        '<p>One</p><p class="inside">Two</p><ul><li class="inside">three</li></ul>'
    )


@pytest.mark.parametrize(
    ("target", "href"),
    [
        ("[x](https://example.org/a_(b)?c=d)", "https://example.org/a_(b)?c=d"),
        ("<http://example.org/>", "http://example.org/"),
        ("see https://example.org/x.", "https://example.org/x"),
        ("[x](mailto:ana@example.org)", "mailto:ana@example.org"),
        ("[x](slugs.md#pellets)", "#memory=garden%2Fslugs.md"),
        ("[x](../a%20b.md)", "#memory=a+b.md"),
        ("[x](/people/ana.md)", "#memory=people%2Fana.md"),
        ("[[Slugs#pellets|x]]", "#memory=Slugs"),
        ("[[../people/ana]]", "#memory=people%2Fana"),
        ("[x](javascript:alert(1))", None),
        ("[x](JaVaScRiPt:alert(1).md)", None),
        ("[x](java&#115;cript:alert.md)", None),
        ("[x](data:text/html,x.md)", None),
        ("[x](//example.org/x.md)", None),
        ("[x](../../x.md)", None),
        ("[x](%2e%2e/%2e%2e/x.md)", None),
        ("[x](%ff.md)", None),
        ("[x](quote.pdf)", None),
        ("[x](vbscript:x)", None),
        ("[[javascript:alert(1)]]", "#memory=javascript%3Aalert%281%29"),
    ],
)
def test_only_the_web_mail_and_memories_are_links(
    renderer: Any, target: str, href: str | None
) -> None:
    links = renderer.evaluate(
        "(text) => [...render(text).querySelectorAll('a')].map((e) => [e.getAttribute('href'), e.rel])",
        target,
    )
    outside = href is not None and not href.startswith("#")
    assert links == ([] if href is None else [[href, "noopener noreferrer" if outside else ""]])


PIECES = [
    "<img src=x onerror=window.hacked=1>", "<script>window.hacked=1</script>", "[", "](", ")", "![", "[[", "]]",
    "*", "**", "_", "`", "~~", "> ", "- ", "1. ", "    ", "\n", "\n\n", "|", "|-|\n", "# ", "```\n", "---\n", "\\",
    "&#0;", "javascript:alert(1)", "https://e.org/", "\t", "<!--", "-->", "a", " ", "\u2028", "\x00",
]  # fmt: skip


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=60).map("".join))
def test_any_text_makes_only_known_elements_and_safe_links(renderer: Any, text: str) -> None:
    made = renderer.evaluate(
        """(text) => [...render(text).querySelectorAll("*")].map((e) => [e.localName, e.getAttributeNames(), e.getAttribute("href")])""",
        text,
    )
    assert {tag for tag, _, _ in made} <= TAGS
    assert not {
        name for _, names, _ in made for name in names if name.startswith("on") or name == "style"
    }
    hrefs = {href for _, _, href in made if href is not None}
    assert all(href.startswith(("#memory=", "https://", "http://", "mailto:")) for href in hrefs)
    assert renderer.evaluate("window.hacked") is None


@pytest.mark.parametrize(
    "piece",
    ["[", "[](", "![](", "![x](y)", "[[a|", "*a ", "*a* ", "**a", "_a_ ", "`", "~~a", "> ", "- ", "<", "<http://", "](<",
     '](a "', "&#1;", "http://)", "<!--\n", "|a|\n|-|\n", "a|b\n", "1. a\n", "- a\n  ", ">\n", "#", "\\", "  \n", "```\n"],
)  # fmt: skip
def test_the_time_is_linear(renderer: Any, piece: str) -> None:
    times = renderer.evaluate(
        """(piece) => [20_000, 160_000].map((size) => {
             const text = piece.repeat(size / piece.length);
             const start = performance.now();
             render(text);
             return performance.now() - start;
           })""",
        piece,
    )
    # The text is eight times as long: quadratic time would be 64 times as long.
    assert times[1] < 24 * times[0] + 500, times


def test_markup_inside_markup_has_a_depth(renderer: Any) -> None:
    deepest = """(text) => {
      const depth = (e) => 1 + Math.max(0, ...[...e.children].map(depth));
      return depth(render(text));
    }"""
    for text in ("> " * 1000 + "a", "- " * 1000 + "a", "*a **b " * 500 + "c** d* " * 500):
        assert renderer.evaluate(deepest, text) < 60
