"""Whether texts are cut at the turns of conversations: files of LoCoMo's sessions in a memory root."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import read_judgements
from quality_suite import MEASURE, lines
from rule_data import Figure, Without, compared

EVERY = 3
"""A third of the questions is enough, since each root is synced twice."""

BUDGETS = (250, 1_000)
"""The tokens of the contexts."""


def measure_conversations(data: Path, without: Without) -> list[Figure]:
    """Return the gain of cutting at turns: in contexts with the evidence, and in sessions found."""
    on = list(zip(*recalled(data), strict=True))
    with without("conversations"):
        off = list(zip(*recalled(data), strict=True))
    contexts = [f"evidence in {budget:,} tokens" for budget in BUDGETS]
    measures = (*contexts, f"{MEASURE} of sessions")
    return [
        compared("conversations", measure, one, other)
        for measure, one, other in zip(measures, on, off, strict=True)
    ]


def recalled(data: Path) -> Iterator[list[float]]:
    """Yield for each question the share of its evidence in each context, and the measure of its sessions."""
    turns = {one["id"]: one for one in lines(data / "locomo-turn" / "corpus.jsonl.gz")}
    judgements = read_judgements(data / "locomo-turn" / "qrels.tsv.gz")
    questions = lines(data / "locomo-turn" / "queries.jsonl.gz")
    judged = [one for one in questions if one["id"] in judgements][::EVERY]
    for scope in sorted({one["scope"] for one in judged}):
        with TemporaryDirectory() as folder:
            write(Path(folder), [one for one in turns.values() if one["scope"] == scope])
            with hr.MemoryRoot.open(folder) as root:
                for question in judged:
                    if question["scope"] == scope:
                        evidence = [turns[one] for one in judgements[question["id"]]]
                        yield figures(root, question["text"], evidence)


def write(folder: Path, turns: list[dict[str, str]]) -> None:
    """Write each session of a conversation into a file."""
    hr.MemoryRoot.init(folder).close()
    sessions: dict[str, list[str]] = {}
    for turn in turns:
        sessions.setdefault(session_of(turn), []).append(turn["content"])
    for session, texts in sessions.items():
        file = folder / session
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def session_of(turn: dict[str, str]) -> str:
    """Return the file of the session of a turn."""
    return turn["path"].rpartition("/")[0] + ".md"


def figures(root: hr.MemoryRoot, question: str, evidence: list[dict[str, str]]) -> list[float]:
    """Return the share of the evidence in each context, and nDCG of the recalled sessions."""
    recall = root.recall(question, limit=evaluation.DEPTH)
    ranking = [hit.file for hit in recall]
    judged = {session_of(turn): 1 for turn in evidence}
    [measured] = evaluation.measure({"": ranking}, {"": judged}).values()
    shares = []
    for budget in BUDGETS:
        text = " ".join(str(root.context(question, budget=budget)).split())
        found = sum(" ".join(turn["content"].split()) in text for turn in evidence)
        shares.append(found / len(evidence))
    return [*shares, measured[MEASURE]]
