"""JSON Lines to chunks."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from hedgerow.ingest import UnreadableSourceError

if TYPE_CHECKING:
    from pathlib import Path
from ingest_runs import read


class TestJsonLines:
    def test_every_key_has_its_place(self, tmp_path: Path) -> None:
        record = {
            "id": "n1",
            "path": "a/b.md",
            "title": "T",
            "summary": "S",
            "tags": ["x", "y z"],
            "content": "Text.",
            "metadata": {"year": 2025},
            "ordinal": 7,
            "extra": [1, {"deep": None}],
        }
        file = tmp_path / "x.jsonl"
        file.write_text(json.dumps(record))
        (chunk,), skips = read(file)
        assert skips == []
        assert (chunk.id, chunk.path, chunk.title, chunk.summary) == ("n1", "a/b.md", "T", "S")
        assert (chunk.content, chunk.tags, chunk.ordinal) == ("Text.", ("x", "y z"), 7)
        assert chunk.metadata == {
            "year": 2025,
            "extra": [1, {"deep": None}],
            "source_file": str(file),
            "line_start": 1,
            "line_end": 1,
        }

    def test_content_is_enough(self, tmp_path: Path) -> None:
        file = tmp_path / "my-notes.jsonl"
        file.write_text('{"content": "One."}\n\n{"content": "Two."}\n')
        chunks, _ = read(file)
        assert [(c.id, c.path, c.title, c.ordinal) for c in chunks] == [
            ("my-notes.jsonl#0", "my-notes.jsonl", "my notes", 0),
            ("my-notes.jsonl#2", "my-notes.jsonl", "my notes", 2),
        ]

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("{", "not JSON"),
            ("[1]", "not a JSON object"),
            ("{}", '"content" is missing or blank'),
            ('{"content": " "}', '"content" is missing or blank'),
            ('{"content": 1}', '"content" must be text'),
            ('{"content": "x", "id": 3}', '"id" must be text'),
            ('{"content": "x", "ordinal": -1}', '"ordinal" must be a whole number from 0'),
            ('{"content": "x", "ordinal": true}', '"ordinal" must be a whole number from 0'),
            ('{"content": "x", "tags": 1}', '"tags" must be a list'),
            ('{"content": "x", "tags": [1]}', '"tags" must be a list'),
            ('{"content": "x", "metadata": []}', '"metadata" must be an object'),
            ('{"content": "x", "a": 1, "metadata": {"a": 2}}', '"a" is both outside and inside'),
            ('{"content": "x", "a": NaN}', "NaN is not a JSON number"),
            ('{"content": "x", "embedding": 1}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": "1,2"}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": {"0": 1}}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [[1, 2]]}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [1, "2"]}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [1, null]}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [1, true]}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [1, 1e999]}', "not a finite number"),
            ('{"content": "x", "content": "y"}', 'the key "content" is repeated'),
            ('{"content": "x", "a": 1e999}', "not a finite number"),
            ('{"content": "x", "a": ' + "9" * 30 + "}", "more than 64 bits"),
            ('{"content": "x", "a": ' + "9" * 5000 + "}", "more than 64 bits"),
            ('{"content": "x", "a": ' + "[" * 900 + "]" * 900 + "}", "nested too deep"),
            ('{"content": "\\ud800"}', "half of a surrogate pair"),
            ('{"content": "\udcff"}', "not UTF-8"),
            ('{"content": ' + "[" * 100_000, "nested too deep|not JSON"),
        ],
    )
    def test_a_bad_line_is_named_and_the_rest_goes_on(
        self, tmp_path: Path, line: str, reason: str
    ) -> None:
        file = tmp_path / "x.jsonl"
        text = f'{{"content": "before"}}\n{line}\n{{"content": "after"}}\n'
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        chunks, skips = read(file)
        assert [chunk.content for chunk in chunks] == ["before", "after"]
        assert [(skip.code, skip.line) for skip in skips] == [("bad_line", 2)]
        assert any(part in skips[0].reason for part in reason.split("|"))
        assert str(skips[0]).startswith("x.jsonl:2: ")

    def test_an_embedding_is_that_of_the_chunk(self, tmp_path: Path) -> None:
        file = tmp_path / "x.jsonl"
        given = ["[1, -0.5, 2]", "null", "[]"]
        file.write_text("\n".join(f'{{"content": "x", "embedding": {one}}}' for one in given))
        chunks, skips = read(file)
        assert skips == []
        assert [None if c.embedding is None else list(c.embedding) for c in chunks] == [
            [1.0, -0.5, 2.0],
            None,
            [],
        ]
        assert all("embedding" not in chunk.metadata for chunk in chunks)

    def test_an_embedding_in_the_metadata_stays_there(self, tmp_path: Path) -> None:
        file = tmp_path / "x.jsonl"
        file.write_text('{"content": "x", "metadata": {"embedding": [1]}}')
        (chunk,), _ = read(file)
        assert (chunk.embedding, chunk.metadata["embedding"]) == (None, [1])

    def test_a_line_of_many_keys_with_one_repeated_is_read_in_one_pass(
        self, tmp_path: Path
    ) -> None:
        # Scanning all keys for each key took a quarter of an hour.
        keys = "".join(f'"k{n}": 0, ' for n in range(200_000))
        file = tmp_path / "x.jsonl"
        file.write_text(f'{{{keys}"content": "x", "content": "y"}}')
        started = time.process_time()
        _, skips = read(file)
        assert 'the key "content" is repeated' in skips[0].reason
        assert time.process_time() - started < 60

    def test_an_empty_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "x.jsonl").write_text("\n \n")
        with pytest.raises(UnreadableSourceError, match="empty"):
            read(tmp_path / "x.jsonl")
