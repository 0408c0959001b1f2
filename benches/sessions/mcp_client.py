"""A minimal MCP client that calls the tools of a server on standard input and output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import Any

_CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_PATIENCE = 10


class Server:
    """A running server after the handshake."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = Popen(  # noqa: S603
            command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True, env=environment
        )
        self._numbers = count(1)
        self.instructions: str = self.ask("initialize", _CLIENT).get("instructions", "")
        self._tell({"method": "notifications/initialized"})

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool and return its response as JSON.

        Raises RuntimeError if the tool reports an error.
        """
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if answer.get("isError"):
            raise RuntimeError(f"{tool} failed: {json.dumps(answer)[:500]}")
        return json.dumps(answer)

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result. Raises RuntimeError if the request fails."""
        number = next(self._numbers)
        self._tell({"id": number, "method": method, "params": params})
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"{method} failed: {json.dumps(message['error'])[:500]}")
                result: dict[str, Any] = message["result"]
                return result
        raise RuntimeError(f"the server ended before it answered {method}")

    def _tell(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """Close the server's standard input, and kill the server if it does not exit in time."""
        with self._process as process:
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            process.stdin.close()
            try:
                process.wait(_PATIENCE)
            except TimeoutExpired:
                process.kill()
