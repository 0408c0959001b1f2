"""The `durability` option: where it applies, and wrong values. `make proof` tests its promises."""

from __future__ import annotations

import json
import pickle
from contextlib import ExitStack
from pathlib import Path

import click
import pytest

import hedgerow as hr
from hedgerow.memory.config import read_config
from hedgerow.memory.derived import Derived, open_store_to_write, open_to_write
from memory_doubles import put

WRONG = 'durability must be "normal" or "full", not '


def test_an_index_and_a_store_have_the_durability_they_are_opened_with(tmp_path: Path) -> None:
    with hr.Index.open(tmp_path / "a.db", durability="full") as index:
        assert repr(index).endswith("durability='full')")
        index.upsert([{"id": "1", "content": "oak"}])
        with pickle.loads(pickle.dumps(index)) as again:
            assert repr(again) == repr(index)
    with hr.Index.open(tmp_path / "a.db") as index:
        assert "durability" not in repr(index)
    with (
        hr.Store.open(tmp_path / "s.db", durability="full") as store,
        pickle.loads(pickle.dumps(store)) as again,
    ):
        assert repr(again.index).endswith("durability='full')")
    with hr.Retriever(tmp_path / "a.db", durability="full") as retriever:
        assert repr(retriever.index).endswith("durability='full')")


def test_other_values_are_refused_with_the_choices(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    for open_ in (hr.Index.open, hr.Store.open, hr.MemoryRoot.open, hr.Retriever):
        with pytest.raises(hr.InvalidInputError) as caught:
            open_(
                tmp_path if open_ == hr.MemoryRoot.open else file,
                durability="always",
                **({"create": True} if open_ is hr.Retriever else {}),  # type: ignore[operator]
            )
        assert caught.value.message.startswith(WRONG)
        assert caught.value.code == "invalid_option"
        assert not file.exists()
    with hr.Index.in_memory() as index:
        with pytest.raises(hr.InvalidInputError, match=r"give it to Index\.open") as caught:
            hr.Retriever(index, durability="full")
        assert caught.value.code == "incompatible_options"


def test_a_root_has_the_durability_of_its_configuration_or_its_caller(tmp_path: Path) -> None:
    put(tmp_path, "notes/a.md", "# A\n\noak\n")

    def used(root: hr.MemoryRoot) -> list[bool]:
        """Return whether index and store, opened for writing, have full durability."""
        root.query("all")
        derived = root._derived()
        with open_to_write(derived) as index, open_store_to_write(derived) as store:
            shown = [repr(index), repr(store.index)]
        shown.append(repr(root._check.files.store(derived).index))
        return ["durability='full'" in one for one in shown]

    with hr.MemoryRoot.open(tmp_path) as root:
        assert used(root) == [False] * 3
        put(tmp_path, "hedgerow.json", json.dumps({"schemaVersion": 1, "durability": "full"}))
        assert used(root) == [True] * 3
    with hr.MemoryRoot.open(tmp_path, durability="normal") as root:
        assert used(root) == [False] * 3
    assert Derived.of(read_config(tmp_path)).durability == "full"
    put(tmp_path, "hedgerow.json", json.dumps({"schemaVersion": 1, "durability": "always"}))
    with (
        hr.MemoryRoot.open(tmp_path) as root,
        pytest.raises(hr.HedgerowError, match=WRONG) as caught,
    ):
        root.query("all")
    assert caught.value.code == "root_config_invalid"


def test_a_server_opens_its_index_with_a_durability(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from hedgerow._serve.index_routes import IndexService  # noqa: PLC0415 - needs an extra
    from hedgerow.cli.serve import _service  # noqa: PLC0415

    file = tmp_path / "a.db"
    hr.Index.open(file).close()
    with click.Context(click.Command("serve")), ExitStack() as stack:
        service, _ = _service(stack, str(file), "full", read_only=False)
        assert isinstance(service, IndexService)
        assert repr(service.retriever.index).endswith("durability='full')")
