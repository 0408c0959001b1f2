"""A FIFO, a socket, a device or a folder in the place of a file that is read by its name."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hedgerow import HedgerowError, MemoryRoot
from hedgerow._regular_files import read_regular
from hedgerow.memory.doctor import diagnose
from hedgerow.memory.installing.tools import install
from hedgerow.memory.trust import consents_file, read_consents
from memory_doubles import put

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no FIFOs in folders")


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    """Interrupt a test that waits for a writer."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # The full path may be too long for the address of a socket.
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.mkdir()


KINDS = [
    (_fifo, "it is a FIFO, not a regular file"),
    (_socket, "it is a socket, not a regular file"),
    (_device, "it is a device, not a regular file"),
    (_folder, "Is a directory"),
]
each_kind = pytest.mark.parametrize(("make", "reason"), KINDS)
Make = Callable[[Path], None]


@each_kind
@pytest.mark.parametrize("name", ["hedgerow.json", "jumpybrain.json"])
def test_a_configuration_is_an_error(tmp_path: Path, make: Make, reason: str, name: str) -> None:
    make(tmp_path / name)
    for call in (lambda: MemoryRoot.open(tmp_path).recall("x"), lambda: MemoryRoot.init(tmp_path)):
        with pytest.raises(HedgerowError, match=rf"Failed to read .*{name}: {reason}") as raised:
            call()
        assert raised.value.code == "root_config_invalid"
    assert reason in diagnose(tmp_path).memory_root.message


@each_kind
@pytest.mark.parametrize("name", [".gitignore", "hedgerow.json"])
def test_init_is_an_error(tmp_path: Path, make: Make, reason: str, name: str) -> None:
    make(tmp_path / name)
    with pytest.raises(HedgerowError, match=rf"cannot read .*{name}: {reason}") as raised:
        MemoryRoot.init(tmp_path, force=True)
    assert raised.value.code == "root_io"


@pytest.mark.parametrize("make", [make for make, _ in KINDS])
@pytest.mark.parametrize(
    "name",
    [
        ".obsidian/app.json",
        ".obsidian/templates.json",
        ".obsidian/daily-notes.json",
        ".obsidian/plugins/periodic-notes/data.json",
        "agents/one.toml",
    ],
)
def test_a_vault_is_read_without_it(tmp_path: Path, make: Make, name: str) -> None:
    put(tmp_path, "a.md", "Pears.\n")
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path / name)
    root = MemoryRoot.init(tmp_path)
    assert [hit.file for hit in root.recall("pears")] == ["a.md"]
    assert root.remember("Quinces.", title="Quinces").file.endswith(".md")
    assert diagnose(tmp_path).memory_root.ok


@pytest.mark.parametrize("make", [_fifo, _socket, _device])
def test_a_manifest_counts_as_missing(tmp_path: Path, make: Make) -> None:
    put(tmp_path, "a.md", "Pears.\n")
    (tmp_path / ".hedgerow").mkdir()
    make(tmp_path / ".hedgerow" / "index.json")
    root = MemoryRoot.init(tmp_path)
    assert [hit.file for hit in root.recall("pears")] == ["a.md"]


@each_kind
def test_a_configuration_of_an_agent_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make, reason: str
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    make(tmp_path / "config.toml")
    with pytest.raises(HedgerowError, match=rf"cannot read .*config\.toml: {reason}") as raised:
        install("codex")
    assert raised.value.code == "root_io"


@each_kind
def test_a_file_of_consents_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make, reason: str
) -> None:
    monkeypatch.setenv("HEDGEROW_CONFIG_DIR", str(tmp_path))
    make(consents_file())
    with pytest.raises(HedgerowError, match=reason) as raised:
        read_consents()
    assert raised.value.code == "trust_unusable"


def test_a_regular_file_is_read_through_a_link(tmp_path: Path) -> None:
    put(tmp_path, "a", "text")
    (tmp_path / "b").symlink_to("a")
    assert (read_regular(tmp_path / "b"), read_regular(tmp_path / "b", 2)) == (b"text", b"te")
