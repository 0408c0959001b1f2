"""The documentation of Ray, run on the local cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import ray

import hedgerow as hr
from scenes import scene_of
from shown import run_page


def test_the_page_answers_its_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A reader starts Ray in the current folder, but the workers of this cluster started in another.
    read, write = ray.data.read_parquet, ray.data.Dataset.write_parquet

    def read_here(folder: str) -> ray.data.Dataset:
        return read(str(tmp_path / folder))

    def write_here(dataset: ray.data.Dataset, folder: str, **options: Any) -> None:
        write(dataset, str(tmp_path / folder), **options)

    page = "docs/ray.md"
    questions = [f"what do hedgehogs eat in month {month}?" for month in range(12)]
    with scene_of(page, tmp_path) as scene:
        with hr.Index.open("memory.db") as index:
            index.upsert([{"id": "1", "content": "Hedgehogs eat beetles, month after month."}])
        rows = [{"question": question} for question in questions]
        write_here(ray.data.from_items(rows), "questions")
        monkeypatch.setattr(ray.data, "read_parquet", read_here)
        monkeypatch.setattr(ray.data.Dataset, "write_parquet", write_here)
        with run_page(page, tmp_path, scene.names) as run:
            assert run.printed == run.shown
        answered = read_here("answers").take_all()
    assert sorted(row["question"] for row in answered) == sorted(questions)
    assert all(row["error"] is None and row["results"] for row in answered)
    assert [*(tmp_path / "checkpoint").iterdir()] != []
