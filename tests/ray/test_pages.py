"""The page about Ray, with the cluster of this machine."""

from __future__ import annotations

from pathlib import Path

import ray

import hedgerow as hr
from scenes import scene_of
from shown import run_page


def test_the_page_answers_its_questions_twice(tmp_path: Path) -> None:
    page = "docs/ray.md"
    questions = [f"what do hedgehogs eat in month {month}?" for month in range(12)]
    with scene_of(page, tmp_path) as scene:
        with hr.Index.open("memory.db") as index:
            index.sync_files(["examples/notes"])
        rows = [{"question": question} for question in questions]
        ray.data.from_items(rows).write_parquet(str(tmp_path / "questions"))
        with run_page(page, tmp_path, scene.names) as run:
            assert run.printed == run.shown
        answered = ray.data.read_parquet(str(tmp_path / "answers")).take_all()
    assert sorted(row["question"] for row in answered) == sorted(questions)
    assert all(row["error"] is None and row["results"] for row in answered)
    assert [*(tmp_path / "checkpoint").iterdir()] != []
