"""Measure how much evidence fits into a budget of tokens: python benches/context.py [SCIFACT].

A question counts if the packed text contains its evidence. `root.context` packs whole structures.
It is compared with the concatenated snippets and with the concatenated passages of the same recall,
both cut at the budget. Over the notes of examples/, the evidence is a sentence or a list item
(benches/questions.jsonl). Over SciFact, a collection in BEIR's format, it is the whole abstract
that was judged relevant.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import hedgerow as hr
from hedgerow.memory.context import estimated_tokens

HERE = Path(__file__).parent
BUDGETS = (250, 500, 1000, 2000, 4000)
Judged = Sequence[tuple[str, Sequence[str]]]
"""Questions, each with the texts that answer it."""


def main() -> None:
    """Measure the examples, and the collection if one is given."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HERE.parent / "examples" / "notes", folder, dirs_exist_ok=True)
        lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        asked = [json.loads(line) for line in lines]
        measure("examples", folder, [(one["question"], one["evidence"]) for one in asked])
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            measure("SciFact", folder, write_collection(Path(sys.argv[1]), Path(folder)))


def write_collection(source: Path, folder: Path) -> Judged:
    """Write each document as a note. Return the judged queries."""
    texts = {}
    for one in rows(source / "corpus.jsonl.gz"):
        texts[one["id"]] = one["content"]
        note = f"---\ntitle: {json.dumps(one['title'])}\n---\n\n{one['content']}\n"
        (folder / f"{one['id']}.md").write_text(note, encoding="utf-8")
    relevant: dict[str, list[str]] = {}
    with gzip.open(source / "qrels.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in list(lines)[1:]:
            query, document, _ = line.split("\t")
            relevant.setdefault(query, []).append(texts[document])
    queries = rows(source / "queries.jsonl.gz")
    return [(one["text"], relevant[one["id"]]) for one in queries if one["id"] in relevant]


def rows(file: Path) -> Iterable[Mapping[str, str]]:
    """Yield the objects of a compressed JSON Lines file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def measure(name: str, folder: str, judged: Judged) -> None:
    """Print the share of the evidence within each budget, for each way of packing."""
    ways = {"context": context, "snippets, cut": snippets, "passages, cut": passages}
    print(f"\n{name}: {len(judged)} questions, {sum(len(texts) for _, texts in judged)} texts")
    print(f"{'budget in tokens':<18}" + "".join(f"{budget:>8,}" for budget in BUDGETS))
    with hr.MemoryRoot.open(folder) as root:
        root.sync()
        for way, pack in ways.items():
            shares = []
            for budget in BUDGETS:
                found = [holds(pack(root, query, budget), texts) for query, texts in judged]
                shares.append(sum(map(sum, found)) / sum(map(len, found)))
            print(f"{way:<18}" + "".join(f"{share:>8.1%}" for share in shares))


def holds(text: str, evidence: Sequence[str]) -> list[bool]:
    """Return for each piece of evidence whether the text contains it, ignoring line breaks."""
    there = " ".join(text.split())
    return [" ".join(one.split()) in there for one in evidence]


def context(root: hr.MemoryRoot, query: str, budget: int) -> str:
    """Return the text that `root.context` packs."""
    packed = root.context(query, budget=budget, sync=False)
    if estimated_tokens(str(packed)) > budget:
        raise SystemExit(f"{query!r}: {packed.tokens} of {budget} tokens")
    return str(packed)


def snippets(root: hr.MemoryRoot, query: str, budget: int) -> str:
    """Return the snippets of a recall, each below its file name, cut at the budget."""
    found = root.recall(query, limit=40, sync=False)
    return "\n\n".join(f"{one.file}\n{one.snippet}" for one in found)[: 4 * budget]


def passages(root: hr.MemoryRoot, query: str, budget: int) -> str:
    """Return the best passages of the recalled files, each below its file name, cut."""
    found = root.recall(query, limit=40, sync=False)
    with hr.Index.open(root.path / ".hedgerow" / "index.db", read_only=True) as index:
        texts = [content_of(index, one) for one in found]
    joined = (f"{one.file}\n{text}" for one, text in zip(found, texts, strict=True))
    return "\n\n".join(joined)[: 4 * budget]


def content_of(index: hr.Index, one: hr.memory.RecalledMemory) -> str:
    """Return the text of the passage that a recall found."""
    at = 0
    while (chunk := index.get(f"{one.file}#{at}")) is not None:
        if chunk.metadata["line_start"] == one.line_start:
            return chunk.content
        at += 1
    raise SystemExit(f"{one.file} has no passage on line {one.line_start}")


if __name__ == "__main__":
    main()
