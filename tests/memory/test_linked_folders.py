"""Symlinked folders of memories: nothing is written through them."""

from __future__ import annotations

import sys

import pytest

from hedgerow import HedgerowError, MemoryRoot
from memory_doubles import put

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")


@posix
class TestLinks:
    @pytest.mark.parametrize("inside", [True, False])
    def test_nothing_is_written_through_a_linked_folder(
        self, root: MemoryRoot, tmp_path_factory: pytest.TempPathFactory, inside: bool
    ) -> None:
        target = root.path / "real" if inside else tmp_path_factory.mktemp("elsewhere")
        target.mkdir(exist_ok=True)
        for name in ("notes", "sessions", "pages"):
            (root.path / name).symlink_to(target)
        put(root.path, "findings/a.md", "# Otters\n\nblue otter\n")
        sections = ("Findings", "Decisions", "Conflicts / Corrections", "Open Questions")
        wrapup = "\n".join(f"## {name}\nx" for name in sections)
        for call in (
            lambda: root.remember("x", title="T"),
            lambda: root.wrapup(wrapup, title="T"),
            lambda: root.process("synthesize", topic="otters", apply=True),
        ):
            with pytest.raises(HedgerowError, match="replace it with") as raised:
                call()
            assert raised.value.code == "linked_path"
        assert list(target.iterdir()) == []
