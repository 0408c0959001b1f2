"""Concurrent writers and readers in processes, the history of their calls, and its checker.

Writer W stores rounds 1, 2, 3 and so on, each in all of its items with one call. A read returns the
rounds of all items. `make histories` runs the scenes for a given time; a test runs short ones.
"""

from __future__ import annotations

import bisect
import itertools
import json
import math
import random
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import hedgerow as hr
from faults import finish, python
from server_process import serving

ITEMS = 4
WRITERS = ("ash", "elm")
KINDS = ("index", "root", "server")
_ROUND = re.compile(r"winter (\w+) round (\d+)")

Rounds = dict[str, list[int]]
"""The rounds of each writer's items, in any order."""


@dataclass(frozen=True)
class Write:
    """A writer's call that stored a round. `end` is None if it was not acknowledged."""

    writer: str
    round: int
    begin: int
    end: int | None


@dataclass(frozen=True)
class Read:
    """A reader's call, and the rounds it returned."""

    reader: str
    begin: int
    end: int
    seen: Rounds


@dataclass(frozen=True)
class Claim:
    """The time in which a process held keys exclusively."""

    holder: str
    begin: int
    end: int
    keys: frozenset[str]


def violations(
    writes: Sequence[Write], reads: Sequence[Read], *, items: int = ITEMS, snapshots: bool = True
) -> list[str]:
    """Return violations of snapshot consistency with one order of all writes.

    Empty if there are none.
    """
    found = [f"{read} mixes rounds" for read in reads if not _is_whole(read, items)]
    states = [(read, {name: seen[0] for name, seen in read.seen.items() if seen}) for read in reads]
    for writer in {write.writer for write in writes}:
        found += _beside_writes(writer, [one for one in writes if one.writer == writer], states)
    found += _back_in_time(states)
    return found + (_in_another_order(states) if snapshots else [])


_States = list[tuple[Read, dict[str, int]]]


def _beside_writes(writer: str, writes: Sequence[Write], states: _States) -> list[str]:
    """Return reads that miss a round acknowledged before, or that see one that had not begun."""
    begun = sorted((one.begin, one.round) for one in writes)
    acknowledged = sorted((one.end, one.round) for one in writes if one.end is not None)
    least = [0, *itertools.accumulate((number for _, number in acknowledged), max)]
    most = [0, *itertools.accumulate((number for _, number in begun), max)]
    begins, ends = [begin for begin, _ in begun], [end for end, _ in acknowledged]
    found = []
    for read, state in states:
        has = state.get(writer, 0)
        if has < (lost := least[bisect.bisect_left(ends, read.begin)]):
            found.append(f"{read} lost round {lost} of {writer}")
        if has > (newest := most[bisect.bisect_right(begins, read.end)]):
            found.append(f"{read} saw more than round {newest} of {writer}, before it was written")
    return found


def _back_in_time(states: _States) -> list[str]:
    """Return reads of an older state than that of a read that ended before."""
    found, at = [], 0
    newest: dict[str, tuple[int, Read]] = {}
    ended = sorted(states, key=lambda one: one[0].end)
    for read, state in sorted(states, key=lambda one: one[0].begin):
        while ended[at][0].end < read.begin:
            earlier, before = ended[at]
            for name, number in before.items():
                if name not in newest or number > newest[name][0]:
                    newest[name] = number, earlier
            at += 1
        found += [
            f"{read} is older than {earlier}"
            for name, (number, earlier) in newest.items()
            if state.get(name, 0) < number
        ]
    return found


def _in_another_order(states: _States) -> list[str]:
    """Return pairs of reads that each missed writes that the other saw.

    Sorted by the sum of their rounds, each state includes the previous one, unless two reads saw
    writes in different orders.
    """
    chain = sorted(states, key=lambda one: sum(one[1].values()))
    return [
        f"{one} and {other} saw writes in another order"
        for (one, before), (other, after) in itertools.pairwise(chain)
        if any(after.get(name, 0) < number for name, number in before.items())
    ]


def _is_whole(read: Read, items: int) -> bool:
    return all(len(seen) in {0, items} and len(set(seen)) <= 1 for seen in read.seen.values())


def overlaps(claims: Sequence[Claim]) -> list[str]:
    """Return claims that had a key at the same time. Empty if each key had one holder at a time."""
    found, running = [], list[Claim]()
    for claim in sorted(claims, key=lambda one: one.begin):
        running = [one for one in running if one.end > claim.begin]
        found += [f"{one} and {claim}" for one in running if one.keys & claim.keys]
        running.append(claim)
    return found


def _rounds(texts: Sequence[str]) -> Rounds:
    seen: Rounds = {}
    for text in texts:
        for writer, number in _ROUND.findall(text):
            seen.setdefault(writer, []).append(int(number))
    return seen


def _chunks(writer: str, number: int) -> list[hr.Chunk]:
    text = f"winter {writer} round {number}"
    return [
        hr.Chunk(f"{writer}-{item}", f"{writer}.md", text, embedding=[1.0, item + 1.0])
        for item in range(ITEMS)
    ]


def _index_writer(path: str, writer: str, chance: random.Random) -> Generator[int, None, None]:
    for number in range(1, 1_000_000):
        with hr.Index.open(path, ranking=chance.choice(["auto", "fts5"])) as index:
            yield number
            index.upsert(_chunks(writer, number))
            if chance.random() < 0.02:
                index.optimize()


def _index_reads(path: str, chance: random.Random) -> Iterator[Callable[[], list[str]]]:
    ids = [f"{writer}-{item}" for writer in WRITERS for item in range(ITEMS)]
    memory, disk = (hr.Index.open(path, ranking=way) for way in ("memory", "fts5"))
    ways: list[Callable[[], list[str]]] = [
        lambda: [hit.content for hit in memory.search_bm25("winter", 100)],
        lambda: [hit.content for hit in disk.search_bm25("winter", 100)],
        lambda: [hit.content for hit in memory.search_vector([1.0, 1.0], 100)],
        lambda: [one.content for one in memory.get_many(ids) if one is not None],
        lambda: [one.content for one in disk.chunks()],
    ]
    with memory, disk:
        while True:
            yield chance.choice(ways)


def _root_writer(path: str, writer: str, _: random.Random) -> Generator[int, None, None]:
    with hr.MemoryRoot.open(path) as root:
        for number in range(1, 1_000_000):
            memory = root.show(writer)
            yield number
            text = f"# {writer}\n\nwinter {writer} round {number}\n"
            root.edit(writer, text, memory.digest)


def _root_reads(path: str, chance: random.Random) -> Iterator[Callable[[], list[str]]]:
    with hr.MemoryRoot.open(path) as root:
        ways: list[Callable[[], list[str]]] = [
            lambda: [one.snippet for one in root.recall("winter", limit=10)],
            lambda: [root.show(writer).text for writer in WRITERS],
        ]
        while True:
            yield chance.choice(ways)


def _server_writer(url: str, writer: str, chance: random.Random) -> Generator[int, None, None]:
    """Write through a server.

    Some requests are sent twice, immediately or after the next write, and the second response is
    not read.
    """
    address, token = url.split("#")
    port = int(address.rpartition(":")[2])
    late: list[tuple[socket.socket, bytes]] = []
    with ExitStack() as stack:
        for number in range(1, 1_000_000):
            chunks: list[dict[str, Any]] = [
                {
                    "id": one.id,
                    "path": one.path,
                    "content": one.content,
                    "embedding": list(one.embedding),
                }
                for one in _chunks(writer, number)
            ]
            body = json.dumps({"chunks": chunks})
            sent = (
                f"POST /v1/chunks HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: application/json\r\nIdempotency-Key: {uuid4()}\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
            ).encode()
            yield number
            for _ in range(chance.choice([0, 0, 1, 2])):
                with socket.create_connection(("127.0.0.1", port)) as lost:
                    lost.sendall(sent)
                    time.sleep(chance.choice([0, 0, 0.002]))
            delayed, late = late, []
            if chance.random() < 0.2:
                slow = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                slow.sendall(sent[:-1])
                late.append((slow, sent[-1:]))
            with socket.create_connection(("127.0.0.1", port)) as kept:
                kept.sendall(sent)
                answer = b"".join(iter(lambda one=kept: one.recv(65536), b""))  # type: ignore[misc]
            if b" 200 OK\r\n" not in answer:
                raise SystemExit(answer.decode())
            for slow, rest in delayed:
                with slow:
                    slow.sendall(rest)


def _server_reads(url: str, _: random.Random) -> Iterator[Callable[[], list[str]]]:
    address, token = url.split("#")
    with hr.connect(address, kind="index", token=token) as remote:
        while True:
            yield lambda: [one.content for one in remote.search("winter", limit=100)]


_WRITERS = {"index": _index_writer, "root": _root_writer, "server": _server_writer}
_READERS = {"index": _index_reads, "root": _root_reads, "server": _server_reads}


def work(kind: str, role: str, place: str, name: str, end: float) -> None:
    """Write or read until the time is over, and print each call."""
    chance = random.Random(f"{name} {end}")  # noqa: S311 - no secrets
    if role == "write":
        writer = _WRITERS[kind](place, name, chance)
        number = next(writer)
        while time.monotonic() < end:
            begin = time.monotonic_ns()
            following = next(writer)
            print(json.dumps([number, begin, time.monotonic_ns()]))
            number = following
        writer.close()
        return
    for read in _READERS[kind](place, chance):
        if time.monotonic() > end:
            return
        begin = time.monotonic_ns()
        texts = read()
        print(json.dumps([begin, time.monotonic_ns(), _rounds(texts)]))


def history(
    place: str, kinds: Sequence[tuple[str, str]], seconds: float
) -> tuple[list[Write], list[Read]]:
    """Run two writers and a reader of each kind, each in a separate process."""
    end = time.monotonic() + seconds + 1.0  # allows for the start of all processes
    kind = kinds[0][0]
    writers = [python(__file__, kind, "write", place, name, end) for name in WRITERS]
    readers = [
        python(__file__, one, "read", at, f"reader-{number}", end)
        for number, (one, at) in enumerate(kinds)
    ]
    told = [[json.loads(line) for line in out.splitlines()] for out in finish(*writers, *readers)]
    writes = [
        Write(name, *one) for name, lines in zip(WRITERS, told, strict=False) for one in lines
    ]
    reads = [
        Read(f"reader-{number}", *one)
        for number, lines in enumerate(told[len(WRITERS) :])
        for one in lines
    ]
    return writes, reads


def problems(kind: str, folder: Path, seconds: float) -> tuple[list[str], int]:
    """Return the violations in a history of an index, a root or a server, and the number of
    calls.
    """
    if kind == "root":
        hr.MemoryRoot.initialize(folder / "root")
        for writer in WRITERS:
            text = f"# {writer}\n\nwinter {writer} round 0\n"
            (folder / "root" / "notes" / f"{writer}.md").write_text(text, encoding="utf-8")
        place = str(folder / "root")
        writes, reads = history(place, [(kind, place)] * 2, seconds)
        return violations(writes, reads, items=1, snapshots=False), len(writes) + len(reads)
    file = str(folder / "index.db")
    hr.Index.open(file).close()
    if kind == "index":
        writes, reads = history(file, [(kind, file)] * 2, seconds)
    else:
        with serving(folder, "--db", file) as server:
            place = f"{server.url}#{(server.tokens / 'write').read_text('ascii').strip()}"
            writes, reads = history(place, [(kind, place), ("index", file)], seconds)
    return violations(writes, reads), len(writes) + len(reads)


def main() -> None:
    """Run all scenes in turn until the time is over or one fails."""
    if len(sys.argv) > 3:
        kind, role, place, name, end = sys.argv[1:]
        work(kind, role, place, name, float(end))
        return
    begun, count = time.monotonic(), 0
    scene: Any = None
    while time.monotonic() - begun < float(sys.argv[1]):
        for scene in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                found, calls = problems(scene, Path(folder), 10.0)
            if found:
                sys.exit(f"FAILED: {scene}: {len(found)} violations\n" + "\n".join(found[:5]))
            count += calls
    spent = math.ceil(time.monotonic() - begun)
    run = {"name": "histories", "seed": None, "seconds": spent, "count": count}
    print(f"proof {json.dumps(run)}")


if __name__ == "__main__":
    main()
