"""Texts stay readable: the rate of marks of `scripts/plain_english.py` may fall, but not rise."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from places import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="a source distribution has no list of files"
)

MOST = {
    ("documentation", ("rust", "python")): 30,
    ("documentation", ("docs", "spec", "README.md", "CONTRIBUTING.md", "SECURITY.md")): 15,
    ("documentation", ("tests",)): 21,
    ("documentation", ("benches",)): 16,
    ("documentation", ("scripts",)): 26,
    ("documentation", ("examples",)): 74,
    ("message", ("rust", "python")): 44,
}
"""The maximum of marks per 10,000 words: the rate that was reached, rounded up.

Lower a number when the rate falls. The notes in examples/ are a person's prose, and the documentation
prints their scores, so they are not rewritten for this.
"""


@pytest.fixture(scope="module")
def gauge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gauge", ROOT / "scripts" / "plain_english.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("kind", "paths"), MOST, ids=lambda one: "-".join([one] if isinstance(one, str) else one)
)
def test_sentences_are_no_harder_to_read_than_before(
    gauge: ModuleType, kind: str, paths: tuple[str, ...]
) -> None:
    texts = [
        text
        for file in gauge.files_in(*paths)
        for text in gauge.texts_of(file)
        if text.kind == kind
    ]
    worst = [
        f"{mark.text.file.relative_to(ROOT)}:{mark.text.line}: [{mark.words}] {mark.text.text[:100]}"
        for text in texts
        for mark in gauge.marks_on(text)
    ]
    rate = gauge.rate(texts)
    assert rate <= MOST[kind, paths], f"{rate:.1f} marks on 10,000 words:\n" + "\n".join(worst[:40])


def test_the_gauge_marks_what_its_rules_name(gauge: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        '"""What a caller wants."""\n'
        "# Made anew for whoever asks.\n"
        'RAISED = "say how many there are of them"\n'
        'FORMAT = "how many"\n'
        '"""The number of rows."""\n'
    )
    marks = [mark for text in gauge.texts_of(file) for mark in gauge.marks_on(text)]
    assert sorted((mark.text.line, mark.name) for mark in marks) == [
        (1, "clause for a noun"),
        (1, "names nothing"),
        (2, "bookish"),
        (2, "clause for a noun"),
        (3, "clause for a noun"),
    ]
