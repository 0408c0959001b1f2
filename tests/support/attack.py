"""Attacks on a server: their effect on a well-behaved client and on the server's memory.

`make attack` runs each attack for its share of the time, then requests that schemathesis generates
from the OpenAPI document, then a user who tries to find out what others have (`scope_attack`). A test runs short attacks.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import hedgerow as hr
import scope_attack
from escapes import CANARIES, write_canaries
from server_process import Server, serving

MOST_MB = 1_000
"""The maximum of memory that an attack may add to a server."""

PAUSE = 0.02
"""Seconds between two requests of the well-behaved client."""


@dataclass(frozen=True)
class Target:
    """A server, and the size of an attack on it."""

    port: int
    reads: str
    writes: str
    connections: int
    seconds: float
    chance: random.Random

    def head(self, line: str, token: str | None = None, *more: str) -> bytes:
        """Return the head of a request, with a token if given."""
        lines = [f"{line} HTTP/1.1", "Host: 127.0.0.1", *more]
        if token is not None:
            lines.append(f"Authorization: Bearer {token}")
        return "\r\n".join([*lines, "", ""]).encode()

    def post(self, token: str, body: bytes, path: str = "/v1/recall", length: int = 0) -> bytes:
        """Return a POST request with JSON.

        `length` replaces the correct Content-Length if given.
        """
        stated = f"Content-Length: {length or len(body)}"
        return self.head(f"POST {path}", token, "Content-Type: application/json", stated) + body

    async def connections_of(self, each: Callable[[Wire], Awaitable[int]]) -> int:
        """Keep the connections in use until the time is over, and return the sum of the results.

        A closed connection is opened again.
        """
        end, count = time.monotonic() + self.seconds, 0

        async def use(wire: Wire) -> None:
            nonlocal count
            while True:
                done = await each(wire)
                count += done

        async def keep_on() -> None:
            while (left := end - time.monotonic()) > 0:
                wire = None
                try:
                    wire = Wire(*await asyncio.open_connection("127.0.0.1", self.port))
                    await asyncio.wait_for(use(wire), left)
                except (OSError, EOFError, asyncio.TimeoutError):
                    await asyncio.sleep(0.01)
                finally:
                    if wire is not None:
                        wire.writer.transport.abort()

        await asyncio.gather(*[keep_on() for _ in range(self.connections)])
        return count


@dataclass
class Wire:
    """An attacker's connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> int:
        """Read a response and return its status."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = head.partition("\r\ncontent-length:")[2].split("\r\n")[0]
        if length:
            await self.reader.readexactly(int(length))
        else:  # uvicorn rejected the head, and closes the connection
            await self.reader.read()
        return int(head.split()[1])

    async def until_closed(self) -> int:
        while await self.reader.read(1 << 16):
            pass
        raise EOFError


async def idle(target: Target) -> int:
    """Open connections that send nothing."""

    async def each(wire: Wire) -> int:
        return await wire.until_closed()

    await target.connections_of(each)
    return target.connections


async def slow_heads(target: Target) -> int:
    """Send request heads at one byte per second."""

    async def each(wire: Wire) -> int:
        for byte in target.head("GET /healthz", None, "X: " + "x" * 1000)[:-4]:
            await wire.send(bytes([byte]))
            await asyncio.sleep(1)
        return 1

    await target.connections_of(each)
    return target.connections


async def slow_bodies(target: Target) -> int:
    """Send bodies at one byte per second, with a read token."""

    async def each(wire: Wire) -> int:
        await wire.send(target.post(target.reads, b"{", length=60_000))
        for _ in range(3600):
            await wire.send(b" ")
            await asyncio.sleep(1)
        return 1

    await target.connections_of(each)
    return target.connections


async def headers(target: Target) -> int:
    """Send heads with thousands of headers."""
    lines = target.chance.choice([3_900, 10_000, 60_000])

    async def each(wire: Wire) -> int:
        await wire.send(target.head("GET /v1/about", None, *["a:"] * lines))
        await wire.answer()
        return 1

    return await target.connections_of(each)


async def checks(target: Target) -> int:
    """Send requests that need no token, one after the other."""

    async def each(wire: Wire) -> int:
        await wire.send(target.head(f"GET {target.chance.choice(['/', '/healthz', '/readyz'])}"))
        await wire.answer()
        return 1

    return await target.connections_of(each)


async def guesses(target: Target) -> int:
    """Guess tokens."""

    async def each(wire: Wire) -> int:
        await wire.send(target.head("GET /v1/about", f"{target.chance.getrandbits(256):043x}"))
        assert await wire.answer() == 401
        return 1

    return await target.connections_of(each)


async def unread(target: Target) -> int:
    """Send requests without reading the responses."""

    async def each(wire: Wire) -> int:
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await wire.send(target.head("GET /") * 200)
        await asyncio.sleep(target.seconds)
        return 1

    await target.connections_of(each)
    return target.connections


async def large_bodies(target: Target) -> int:
    """Send the largest JSON bodies, with values that take much memory, with either token."""
    searches = (target.reads, "/v1/recall", 1 << 18, b'{"query":"a","tags":[')
    writes = (target.writes, "/v1/remember", 1 << 24, b'{"text":"a","tags":[')

    async def each(wire: Wire) -> int:
        token, path, size, begin = target.chance.choice([searches, writes])
        value = target.chance.choice([b"[],", b'{"":0},', b'"aa",', b"1,", b"1e9,"])
        middle = value * ((size - len(begin) - 3) // len(value))
        await wire.send(target.post(token, begin + middle + b"1]}", path))
        status = await wire.answer()
        assert status in {400, 413, 429}, status
        return 1

    return await target.connections_of(each)


async def deep_bodies(target: Target) -> int:
    """Send deeply nested JSON."""

    async def each(wire: Wire) -> int:
        depth = target.chance.choice([100, 900, 5_000, 100_000])
        one, other = target.chance.choice([(b"[", b"]"), (b'{"a":', b"}")])
        inner = one * depth + b"1" + other * depth
        body = b'{"query":"a","filters":{"metadata":{"x":%b}}}' % inner
        await wire.send(target.post(target.reads, target.chance.choice([body, inner])))
        status = await wire.answer()
        assert status in {200, 400, 413, 429}, status
        return 1

    return await target.connections_of(each)


async def chunks(target: Target) -> int:
    """Send bodies in one-byte chunks."""

    async def each(wire: Wire) -> int:
        more = ("Content-Type: application/json", "Transfer-Encoding: chunked")
        await wire.send(target.head("POST /v1/recall", target.reads, *more))
        for _ in range(100):
            await wire.send(b"1\r\na\r\n" * 4_000)
        return 1

    return await target.connections_of(each)


async def streams(target: Target) -> int:
    """Open MCP sessions that do not end."""

    async def each(wire: Wire) -> int:
        kind = "Accept: application/json, text/event-stream"
        if target.chance.random() < 0.5:
            await wire.send(target.head("GET /mcp", target.reads, kind))
        else:
            version = "MCP-Protocol-Version: 2026-07-28"
            listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {}}
            body = json.dumps(listen).encode()
            more = (kind, version, "Mcp-Method: subscriptions/listen")
            length = f"Content-Length: {len(body)}"
            sent = target.head(
                "POST /mcp", target.reads, *more, length, "Content-Type: application/json"
            )
            await wire.send(sent + body)
        assert await wire.answer() in {400, 404, 405, 429}
        return 1

    return await target.connections_of(each)


async def broken(target: Target) -> int:
    """Send data that is not HTTP, or close the connection early."""

    async def each(wire: Wire) -> int:
        nonsense = target.chance.randbytes(1000)
        await wire.send(target.chance.choice([nonsense, target.post(target.reads, b"{", length=9)]))
        raise EOFError

    await target.connections_of(each)
    return target.connections


ATTACKS: dict[Callable[[Target], Awaitable[int]], int] = {
    idle: 5_000,
    slow_heads: 5_000,
    slow_bodies: 800,
    headers: 100,
    checks: 300,
    guesses: 900,
    unread: 900,
    deep_bodies: 8,
    chunks: 50,
    streams: 100,
    broken: 100,
    large_bodies: 8,
}
"""All attacks, with the number of their connections. Bodies of the last one are parsed beyond its end."""


@dataclass(frozen=True)
class Figures:
    """The effect of an attack on a server and its well-behaved client."""

    name: str
    connections: int
    count: int
    asked: int
    p50: float
    p99: float
    longest: float
    failures: list[str]
    added_mb: float

    def row(self) -> str:
        """Return a row of a table, with times in milliseconds."""
        times = " | ".join(f"{1e3 * one:,.0f}" for one in (self.p50, self.p99, self.longest))
        name, kind = self.name.replace("_", " "), f"{self.connections:,} | {self.count:,}"
        return f"| {name} | {kind} | {times} | {len(self.failures)} of {self.asked} | {self.added_mb:,.0f} |"


def behave(port: int, token: str, seconds: float) -> dict[str, Any]:
    """Send one request after the other, alternately on a new and on a persistent connection."""
    taken, failures = [], []
    kept = HTTPConnection("127.0.0.1", port, timeout=60)
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.perf_counter()
        fresh = HTTPConnection("127.0.0.1", port, timeout=60)
        for connection in (fresh, kept):
            try:
                connection.request("POST", "/v1/recall", json.dumps({"query": "slugs"}), head)
                answer = connection.getresponse()
                found = answer.read()
                if answer.status != 200:
                    failures.append(f"{answer.status} {found[:200]!r}")
            except (OSError, HTTPException) as error:
                failures.append(repr(error))
                connection.close()
            taken.append(time.perf_counter() - begun)
            begun = time.perf_counter()
        fresh.close()
        time.sleep(PAUSE)
    return {"taken": taken, "failures": failures}


def memory_mb(process: int) -> float:
    """Return the resident memory of a process in MB, on Linux."""
    status = Path(f"/proc/{process}/status").read_text("ascii", errors="replace")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def run(server: Server, attack: Callable[[Target], Awaitable[int]], target: Target) -> Figures:
    """Run an attack and a well-behaved client at the same time."""
    before = most = memory_mb(server.process.pid)
    asked = [
        sys.executable,
        __file__,
        "behave",
        str(target.port),
        target.reads,
        str(target.seconds),
    ]
    client = subprocess.Popen(asked, stdout=subprocess.PIPE, text=True)

    async def watched() -> int:
        nonlocal most
        attacking = asyncio.ensure_future(attack(target))
        while not attacking.done():
            most = max(most, memory_mb(server.process.pid))
            await asyncio.sleep(0.05)
        return attacking.result()

    try:
        count = asyncio.run(watched())
        found = json.loads(client.communicate(timeout=300)[0])
    finally:
        client.kill()
        client.wait()
        client.stdout.close()  # type: ignore[union-attr]
    times = sorted(found["taken"])
    return Figures(
        attack.__name__,
        target.connections,
        count,
        len(times),
        statistics.median(times),
        times[int(0.99 * len(times))],
        times[-1],
        found["failures"],
        most - before,
    )


@contextmanager
def attacked(folder: Path) -> Iterator[Server]:
    """Serve a root with some memories, and with secrets outside of it."""
    root = folder / "memory"
    hr.MemoryRoot.initialize(root)
    for number in range(300):
        text = f"# Note {number}\n\nSlugs and hedgehogs in winter {number}.\n"
        (root / "notes" / f"note-{number}.md").write_text(text, encoding="utf-8")
    write_canaries(root)
    with serving(folder, "--root", str(root)) as server:
        yield server


def target(server: Server, connections: int, seconds: float, seed: int) -> Target:
    """Return the target of an attack on a server."""
    reads, writes = (
        (server.tokens / name).read_text("ascii").strip() for name in ("read", "write")
    )
    port = int(server.url.rpartition(":")[2])
    chance = random.Random(seed)  # noqa: S311 - no secrets
    return Target(port, reads, writes, connections, seconds, chance)


def problems(server: Server, figures: Figures) -> list[str]:
    """Return the forbidden effects of an attack."""
    found = [f"the client got {one}" for one in figures.failures[:3]]
    if figures.added_mb > MOST_MB:
        found.append(f"the server took {figures.added_mb:,.0f} MB more")
    if server.process.poll() is not None:
        found.append("the server ended")
    if len(server.told) > 2:  # the two lines are its address and its tokens
        found.append("the server wrote " + "".join(server.told[2:])[:2000])
    return [f"{figures.name}: {one}" for one in found]


def generated(server: Server, seconds: float, seed: int) -> int:
    """Send valid and invalid requests that schemathesis generates from the OpenAPI document.

    Return their number.
    """
    schemathesis = importlib.import_module("schemathesis")
    hypothesis = importlib.import_module("hypothesis")
    count = 0
    with server.client() as client:
        document = client.get("/openapi.json").json()
        head = dict(client.headers)
    operations = [one.ok() for one in schemathesis.openapi.from_dict(document).get_all_operations()]

    def ask(case: Any) -> None:
        nonlocal count
        sent = {"Authorization": head["authorization"]}
        answer = case.call(base_url=server.url, headers=sent)
        count += 1
        shown = (case.as_curl_command(), answer.status_code, answer.text[:500])
        assert answer.status_code != 500, shown
        if "json" in answer.headers.get("content-type", [""])[0]:
            json.loads(answer.content)
        assert not any(one in answer.text for one in CANARIES), shown

    options = hypothesis.settings(
        max_examples=10,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for operation, mode in itertools.product(operations, schemathesis.GenerationMode):
            if time.monotonic() > end:
                break
            seed += 1
            # An operation without arguments has no invalid ones.
            with suppress(hypothesis.errors.Unsatisfiable):
                cases = operation.as_strategy(generation_mode=mode)
                hypothesis.seed(seed)(options(hypothesis.given(cases)(ask)))()
    return count


def main() -> None:
    """Run all attacks within a given time, then the generated requests."""
    if sys.argv[1] == "behave":
        found = behave(int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
        sys.stdout.write(json.dumps(found))
        return
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if sys.argv[2:] else int(time.time())
    begun, count, failed = time.monotonic(), 0, []
    print(f"seed {seed}")
    print("| attack | connections | requests | p50, ms | p99, ms | longest, ms | failures | MB |")
    with tempfile.TemporaryDirectory() as folder, attacked(Path(folder)) as server:
        calm = run(server, idle, target(server, 0, 5, seed))
        print(calm.row().replace("idle", "none", 1), flush=True)
        for attack, connections in ATTACKS.items():
            share = seconds / (len(ATTACKS) + 4)
            figures = run(server, attack, target(server, connections, share, seed))
            print(figures.row(), flush=True)
            failed += problems(server, figures)
            count += figures.count
        made = generated(server, 2 * seconds / (len(ATTACKS) + 4), seed)
        print(f"{made:,} requests that schemathesis made")
    asked = scope_attack.attack_for(2 * seconds / (len(ATTACKS) + 4), seed)
    print(f"{asked:,} requests of a user that another user changed nothing about")
    for one in failed:
        print(f"FAILED: {one}")
    if failed:
        sys.exit(1)
    spent = math.ceil(time.monotonic() - begun)
    found = {"name": "attack", "seed": seed, "seconds": spent, "count": count + made + asked}
    print(f"proof {json.dumps(found)}")


if __name__ == "__main__":
    main()
