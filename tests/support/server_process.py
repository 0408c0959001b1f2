"""`hedgerow serve` as a separate process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from waiting import LONGEST

SERVING = re.compile(r"Serving the (\w+) .* at (https?://\S+)")


class Server:
    """A server process. `url` is its address, and `told` has its lines on stderr so far."""

    def __init__(self, tokens: Path, *options: str) -> None:
        program = "from hedgerow.cli import main; main()"
        command = [sys.executable, "-c", program, "serve", "--tokens", str(tokens)]
        self.process = subprocess.Popen(
            [*command, "--port", "0", *options], stderr=subprocess.PIPE, text=True
        )
        self.told: list[str] = []
        self.url = ""
        self.tokens = tokens
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.told.append(line)
            if found := SERVING.search(line):
                self.url = found[2]
                break
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.told.extend(self.process.stderr)

    def client(self, name: str = "write") -> httpx.Client:
        key = (self.tokens / name).read_text().strip()
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=LONGEST)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(LONGEST)
        self._reader.join(LONGEST)
        return code


@contextmanager
def serving(tmp_path: Path, *options: str) -> Iterator[Server]:
    server = Server(tmp_path / "tokens", *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()
        server._reader.join(LONGEST)
        server.process.stderr.close()
