"""Find sentences that are hard to read: python scripts/plain_english.py [--worst N] [PATH ...].

Reads docstrings, comments, Markdown and messages, which are texts in the code of four words or more.
A mark is a question to the writer. CONTRIBUTING.md has the rules for writing.
`tests/repository/test_plain_english.py` keeps the number of marks from rising.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

MARKS = {
    # A summary is read alone, in an index of names, so it has to name its subject.
    "names nothing": re.compile(
        r"(?:(?:Return|Yield|Get|Give|Make|Read|Take) )?"
        r"(?:an?other one|all of them|as (?:it|they)|how (?:many|much|often|long)|it|its|none of"
        r"|one|so (?:many|much)|some of|such|that|the (?:other|others|rest|same)|their|them|these"
        r"|they|those|what|which|who|whose)\b",
        re.IGNORECASE,
    ),
    # English has a noun: the count, the query, the content.
    "clause for a noun": re.compile(
        r"\b(?:by which|from which|to which|how many|how much|so many|who(?:m|se)?ever|whichever"
        r"|what (?:is|are|was|were|has|have|can|may|made|it|they|the|a)"
        r"|(?:is|are|was|were) (?:asked|looked|searched|waited) for"
        r"|there (?:is|are) (?:no|none|any|one|some)|who (?:asks|calls|reads|writes))\b",
        re.IGNORECASE,
    ),
    # Bookish words, and words that this project once used in a private sense.
    "bookish": re.compile(
        r"\b(?:afresh|anew|at hand|besides?|but for|gives? up|goes? on|henceforth|hereby|herein"
        r"|in one go|is of no use|lest|nothing but|of (?:its|our|their) own|pass(?:es|ed)? by"
        r"|puts? (?:aside|away)|save for|stands? (?:for|in)|thereby|thereof|till|tells? apart)\b",
        re.IGNORECASE,
    ),
}  # fmt: skip

LEAST_WORDS = 4
"""The minimum of words in a message. Shorter texts in the code are names and formats."""


class Text(NamedTuple):
    """A text that people read. `kind` is "documentation" or "message"."""

    file: Path
    line: int
    kind: str
    text: str


class Mark(NamedTuple):
    """A mark on a text, with the words that match."""

    name: str
    words: str
    text: Text


def texts_of(file: Path) -> Iterator[Text]:
    """Yield the texts of a Python, Rust or Markdown file, in no particular order."""
    source = file.read_text(encoding="utf-8")
    read = {".py": _of_python, ".pyi": _of_python, ".rs": _of_rust, ".md": _of_markdown}
    for line, kind, text in read[file.suffix](source):
        yield Text(file, line, kind, " ".join(text.split()))


def marks_on(text: Text) -> Iterator[Mark]:
    """Yield the marks on a text, at most one of each name."""
    for name, pattern in MARKS.items():
        if name == "names nothing":
            found = pattern.match(text.text) if text.kind == "documentation" else None
        else:
            found = pattern.search(text.text)
        if found:
            yield Mark(name, found[0], text)


def rate(texts: list[Text]) -> float:
    """Return the marks on 10,000 words."""
    words = sum(len(text.text.split()) for text in texts)
    return 10_000 * sum(1 for text in texts for _ in marks_on(text)) / max(1, words)


def files_in(*paths: str) -> list[Path]:
    """Return the files below paths of the repository that have texts, as git lists them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *paths],  # noqa: S607 - the one in PATH
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    names = listed.stdout.split("\0")
    return [ROOT / name for name in names if name.endswith((".py", ".pyi", ".rs", ".md"))]


def _of_python(source: str) -> Iterator[tuple[int, str, str]]:
    documented = set()
    for node in ast.walk(ast.parse(source)):
        # `ast.walk` yields a statement before its value.
        if isinstance(node, ast.Expr):
            documented.add(node.value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node in documented:
                yield node.lineno, "documentation", node.value
            elif len(node.value.split()) >= LEAST_WORDS:
                yield node.lineno, "message", node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comment = token.string.lstrip("#").strip()
            if not re.match(r"(?:noqa|type:|fmt:|ruff|mypy|pragma)", comment):
                yield token.start[0], "documentation", comment


def _of_rust(source: str) -> Iterator[tuple[int, str, str]]:
    block: list[str] = []
    start, marker = 0, ""
    for number, line in enumerate([*source.split("\n"), ""], 1):
        comment = re.match(r"\s*(///|//!|//)\s?(.*)", line)
        if block and (comment is None or comment[1] != marker):
            yield start, "documentation", " ".join(block)
            block = []
        if comment:
            if not block:
                start, marker = number, comment[1]
            block.append(comment[2])
        else:
            for literal in re.finditer(r'(?<![\'\\br#])"((?:[^"\\]|\\.)*)"', line):
                if len(literal[1].split()) >= LEAST_WORDS:
                    yield number, "message", literal[1]


def _of_markdown(source: str) -> Iterator[tuple[int, str, str]]:
    def blanked(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    prose = re.sub(r"(?ms)^[ ]*(`{3,}|~{3,}).*?^[ ]*\1[ ]*$", blanked, source)
    prose = re.sub(r"(?m)^\s*(?:\||#|<!--).*$", "", prose)
    line, block, start = 0, "", 1
    for line, part in enumerate([*prose.split("\n"), ""], 1):
        item = re.match(r"\s*(?:[-*>]|\d+\.)\s+(.*)", part)
        if block and (item or not part.strip()):
            yield start, "documentation", re.sub(r"`[^`]*`", "code", block)
            block = ""
        text = item[1] if item else part.strip()
        if text:
            start = start if block else line
            block = f"{block} {text}".strip()


def main() -> None:
    """Print the number of marks on some paths, and sentences with `--worst`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", default=["rust", "python", "docs", "spec", "README.md"])
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="show N of each mark")
    options = parser.parse_args()
    texts = [text for file in files_in(*options.paths) for text in texts_of(file)]
    marks = [mark for text in texts for mark in marks_on(text)]
    for name in MARKS:
        some = [mark for mark in marks if mark.name == name]
        print(f"{name}: {len(some)}")
        for mark in some[:: max(1, len(some) // max(1, options.worst))][: options.worst]:
            place = mark.text.file.relative_to(ROOT)
            print(f"  {place}:{mark.text.line}: [{mark.words}] {mark.text.text[:120]}")
    for kind in ("documentation", "message"):
        some_texts = [text for text in texts if text.kind == kind]
        print(f"{kind}: {rate(some_texts):.0f} marks on 10,000 words")


if __name__ == "__main__":
    main()
