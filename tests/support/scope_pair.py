"""Two memory roots that differ only in the memories of Ben, and what Ana gets from both on every face."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

from starlette.testclient import TestClient
from typing_extensions import Self

from command_line import run
from hedgerow import HedgerowError, MemoryRoot
from hedgerow._operations.fields import declared
from hedgerow._operations.operation import sent_arguments
from hedgerow._operations.shapes import checked_arguments
from hedgerow._serve.app import Access, Limits, build
from hedgerow._serve.root_routes import RootService
from hedgerow.mcp import _TOOLS
from hedgerow.memory import note
from hedgerow.memory.operations import OPERATIONS
from hedgerow.memory.scope import Scope
from hedgerow.results import QueryResult
from mcp_tools import ask
from retrieval_doubles import FnvEmbedder
from serving import ANA, TOKENS

SCOPE = {"user": "ana"}
START = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SECTIONS = ["Findings", "Decisions", "Conflicts / Corrections", "Open Questions"]
WRAPUP = "\n\n".join(f"## {section}\n\nOtters swim in the river." for section in SECTIONS)

Case = tuple[str, Mapping[str, Any]]
"""An operation and its arguments."""


def _memory(user: str, text: str, *fields: str, day: int = 1) -> str:
    head = [f"scope: {{{user}}}", f"date: 2026-02-{day:02}", *fields]
    return "\n".join(["---", *head, "---", text, ""])


def _ana(text: str, *fields: str, day: int = 1) -> str:
    return _memory("user: ana", text, *fields, day=day)


def _ben(text: str, *fields: str) -> str:
    return _memory("user: ben", text, *fields)


OF_ANA = {
    "notes/holt.md": _ana(
        "# Holt\n\nThe otter of the river is shy.\n\n## Where\n\nUnder the old bridge.",
        "tags: [otter, river/bank]",
        "aliases: [Den]",
    ),
    "notes/old.md": _ana("# The old answer\n\nOtters eat nothing but trout.", day=2),
    "zz/plan.md": _ana(
        "# The new answer\n\nOtters eat eel too. See [[holt]], [[Den]], [[key]] and [it](../notes/old.md).",
        "title: The new answer",
        "supersedes: '[[old]]'",
        "written_by: codex/s1",
        day=3,
    ),
    "notes/conclusion.md": _ana(
        "The bridge is safe for otters.", "derived_from: '[[wrong]]'", "related: [holt, gone]"
    ),
    "zz/wrong.md": _ana("The bridge holds for ever.", "retracted: 2026-02-20"),
    "notes/pool.md": _ana(
        "Pools freeze in winter. [[ben-secret]] [paths](sub/ben-secret.md) [[The new answer]]",
        "title: Pool",
        "type: finding",
        "conflicts_with: '[[conclusion]]'",
    ),
    "notes/copy.md": _ana("The otter of the river is shy.", "type: decision", "title: Shy otter"),
    "notes/past.md": _ana("The weir is open until spring.", "valid_until: 2026-02-10"),
    "notes/_about.md": _ana("Everything about the river."),
    "trips/day.md": _memory("user: ana, session: trip", "The trip to the otters.", "related: holt"),
    "trips/first.md": _ana("One of two. [[second]]", "superseded_by: '[[second]]'"),
    "trips/second.md": _ana("Two of two.", "supersedes: '[[Den]]'", "valid_from: 2026-02-15"),
}
"""Memories of Ana with links, names, marks, tags and types of all kinds."""

_GUESSES = {
    f"{folder}/{Path(path).name}": _ben(
        f"Words of Ben about the otter: schizophrenia at place {number}.",
        f"title: {title}",
        f"aliases: [Den, key, gone, {Path(path).stem}, Xylophonist {number}]",
        "type: secret",
        "tags: [otter, hidden, river/bank]",
        "supersedes: ['[[old]]', '[[holt]]', '[[zz/plan]]', '[[Pool]]']",
        "derived_from: ['[[wrong]]', '[[holt]]']",
        "conflicts_with: '[[holt]]'",
        "written_by: codex/s1",
        "topic: otter",
    )
    for folder in ("aa", "notes/sub", "trips/sub", "zz/sub")
    for number, (path, title) in enumerate(
        zip(OF_ANA, ["Holt", "Den", "The new answer", "Pool"] * 3, strict=True)
    )
}

OF_BEN = {
    **_GUESSES,
    "notes/key.md": _ben("The otter of the river is shy.", "title: Holt"),
    "notes/gone.md": _ben("Otters eat nothing but trout.", "superseded_by: '[[old]]'"),
    "notes/ben-secret.md": _ben("Ben keeps his key under the mat. briidge"),
    "notes/sub/ben-secret.md": _ben("The river has a briidge and an ottr. weirr"),
    "notes/sub/_about.md": _ben("Everything about Ben."),
    "_about.md": _ben("Everything about all."),
    "second.md": _ben("Three of two.", "supersedes: [first, second]", "retracted: true"),
    "pages/otter.md": _ben(
        "# otter\n\n<!-- hedgerow:begin -->\n- `notes/holt.md` and `notes/pool.md`\n<!-- hedgerow:end -->",
        "type: page",
        "topic: otter",
    ),
    "notes/ben-broken.md": "---\nscope: {user: ben}\ntags: [a\n---\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n",
    "notes/ben-binary.md": "---\nscope: {user: ben}\n---\notter \0",
    "notes/german.md": _ben("Für die Bäume, die Vögel und die Büsche: die Otterbrücke. Grüße."),
    "wrong-scope.md": "---\nscope: ana\ntitle: Holt\n---\nThe otter of nobody. [[holt]]\n",
    "agent.md": _memory("agent: x", "The otter of an agent.", "title: Old"),
}
"""Memories of others that take every name, link, mark, tag, type and word of Ana's that they can."""


WITHOUT_SCOPE = {
    "no-scope.md": "---\ntitle: Pool\naliases: [holt, old]\nsupersedes: '[[Den]]'\n---\nThe otter of all.\n",
    "all/rules.md": "---\ntags: [otter]\nrelated: ['[[holt]]', '[[key]]']\n---\nRules for otters. [[old]]\n",
}
"""Memories that a scope with shared memories sees too."""


def put(root: Path, files: Mapping[str, str]) -> None:
    """Write files, all of the same time."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (1_700_000_000, 1_700_000_000))


def pair(folder: Path, *, shared: bool = False) -> tuple[Path, Path]:
    """Make the two roots: with the memories of Ana alone, and with those of Ben too.

    With `shared`, both have the memories without a scope.
    """
    roots = folder / "alone" / "memory", folder / "both" / "memory"
    for root in roots:
        MemoryRoot.initialize(root)
        put(root, OF_ANA | (WITHOUT_SCOPE if shared else {}))
    put(roots[1], OF_BEN | WITHOUT_SCOPE)
    with MemoryRoot.open(roots[1], scope={"user": "ben"}) as ben:
        ben.remember("The otter is mine.", title="Mine", tags=["otter"])
        ben.supersede("aa/holt.md", by="notes/key.md")
        ben.link("notes/key.md", "aa/old.md", rel="conflicts_with")
        ben.rename("notes/sub/plan.md", "notes/deep/plan.md")
        ben.visit("linker", ["aa/holt.md"], at=1_780_000_000)
        ben.process("lint", apply=True)
    return roots


# Faces.


class Face:
    """One way to call the operations of a root as Ana. `ask` returns a result or an error as JSON."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Call an operation."""
        raise NotImplementedError

    def close(self) -> None:
        """Free files and connections."""


def _error(error: HedgerowError) -> dict[str, Any]:
    fixes = [(one.does, one.operation, dict(one.arguments or {})) for one in error.fixes]
    return {
        "code": error.code,
        "message": error.message,
        "key": error.key,
        "path": None if error.path is None else str(error.path),
        "fixes": fixes,
    }


class Python(Face):
    """The methods of `MemoryRoot`."""

    options: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._memory = MemoryRoot.open(root, scope=SCOPE, **self.options)

    def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Call the method."""
        try:
            request = checked_arguments(OPERATIONS[operation], arguments, served=False)
            done = self._memory._perform(request)
        except HedgerowError as error:
            return _error(error)
        if isinstance(done, QueryResult):
            return done.keys, done.rows, done.pairs, done.count, done.warnings
        return done.to_dict(explain=True)

    def close(self) -> None:
        """Close the root."""
        self._memory.close()


class Shared(Python):
    """The methods of `MemoryRoot`, with the memories without a scope."""

    options = MappingProxyType({"shared": True})


class Hybrid(Python):
    """The methods of `MemoryRoot` with an embedder."""

    options = MappingProxyType({"embedder": FnvEmbedder()})


class Http(Face):
    """The routes of a server, with Ana's token."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._memory = MemoryRoot.open(root)
        app = build(RootService(self._memory), Access(TOKENS, ["127.0.0.1"]), Limits(running=4))
        headers = {"Authorization": f"Bearer {ANA}"}
        self._client = TestClient(app, "http://127.0.0.1:7411", headers=headers)
        self._client.__enter__()

    def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Send the request of the operation."""
        kind = OPERATIONS[operation]
        row = kind.operation
        sent = sent_arguments(checked_arguments(kind, arguments, served=False))
        headers = {
            one.field.header: f'"{sent.pop(one.name)}"'
            for one in declared(kind)
            if one.field.header is not None
        }
        path = f"/v1/{row.path}"
        for name in [name for name in sent if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", quote(sent.pop(name)))
        is_get = row.method == "GET"
        params = {name: _parameter(value) for name, value in sent.items()} if is_get else None
        body = None if is_get else sent
        answer = self._client.request(row.method, path, params=params, json=body, headers=headers)
        return answer.status_code, answer.json()

    def close(self) -> None:
        """Stop the server."""
        self._client.__exit__(None, None, None)
        self._memory.close()


def _parameter(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


class Mcp(Face):
    """The tools of `hedgerow mcp`. An operation without a tool has no answer."""

    def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Call the tool, or read the resource of the status."""
        if operation == "status":
            return ask(self.root, _resources, scope=SCOPE)
        tool = next((one for one in _TOOLS if one.does(operation)), None)
        if tool is None or not set(arguments) <= set(tool.arguments):
            return None
        given = dict(arguments)
        done = ask(self.root, lambda client: client.call_tool(tool.name, given), scope=SCOPE)
        return done.is_error, [one.text for one in done.content]


async def _resources(client: Any) -> Any:
    found = await client.list_resources()
    status = await client.read_resource("hedgerow://status")
    texts = [one.text for one in status.contents]
    return [str(one.uri) for one in found.resources], texts


class Command(Face):
    """The `hedgerow` command: exit code, output and errors."""

    def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Run the command of the operation."""
        words, stdin = command_of(operation, arguments)
        scope = () if operation == "status" else ("--scope", "user=ana")
        done = run(*words, *scope, "--root", str(self.root), stdin=stdin.encode())
        return done.exit_code, done.stdout, done.stderr


_OPTIONS = {
    "types": "--type",
    "tags": "--tag",
    "limit": "-n",
    "digest": "--expect",
    "rel": "--rel",
}
_WORDS = {
    "recall": ("query",),
    "context": ("query",),
    "why_not": ("query",),
    "remember": ("text",),
    "grep": ("pattern",),
    "show": ("key",),
    "edit": ("key", "text"),
    "rename": ("key", "to"),
    "supersede": ("old", "text"),
    "retract": ("key",),
    "restore": ("key",),
    "forget": ("key",),
    "link": ("a", "b"),
    "unlink": ("a", "b"),
    "history": ("key",),
    "diff": ("key",),
    "links": ("key",),
    "query": ("pipeline",),
    "visit": ("agent", "keys"),
}
_COMMANDS = {
    "context": "recall",
    "why_not": "recall",
    "unlink": "link",
    "links": "graph",
}


def command_of(operation: str, arguments: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the words of the command of an operation, and its standard input."""
    rest = dict(arguments)
    stdin = rest.pop("text") if operation == "wrapup" else ""
    if operation == "process":
        mode, topic = rest.pop("mode"), rest.pop("topic", None)
        words = [mode, *([] if topic is None else [topic])]
    else:
        words = [_COMMANDS.get(operation, operation)]
        for name in _WORDS.get(operation, ()):
            value = rest.pop(name, None)
            words += value if isinstance(value, list) else [] if value is None else [value]
    if operation == "unlink":
        words.append("--remove")
    if operation == "why_not":
        words += ["--why-not", rest.pop("key")]
    for name, value in rest.items():
        option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [option, ",".join(value)]
        else:
            words += [option, str(value)]
    return words, stdin


FACES: dict[str, Callable[[Path], Face]] = {
    "python": Python,
    "shared": Shared,
    "hybrid": Hybrid,
    "http": Http,
    "mcp": Mcp,
    "command": Command,
}


# Comparing.


_SCORES = {"score", "scores", "needed", "scoreBreakdown", "score_breakdown", "explanation"}
_TIMES = {"timings", "ms", "took", "timestamp", "time"}
_RANKS = {"rank", "resultRank", "result_rank", "number"}


def masked(value: Any) -> Any:
    """Return an answer without scores, the order that follows from them, and times."""
    if isinstance(value, Mapping):
        left_out = _SCORES | _TIMES | _RANKS
        return {key: masked(one) for key, one in value.items() if key not in left_out}
    if isinstance(value, list | tuple):
        return sorted((masked(one) for one in value), key=lambda one: json.dumps(one, default=str))
    if not isinstance(value, str):
        return value
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "TIME", value)
    text = re.sub(r"\b\d+\.\d{2,}\b", "SCORE", text.replace("/both/", "/alone/"))
    text = re.sub(r"\bnumber \d+|(?m:^ *(\[\d+\]|\d+\.) )", "number N ", text)
    text = re.sub(r"\b\d[\d,]*(\.\d+)? ?(ms|s|µs)\b", "DURATION", text)
    # Columns are as wide as the longest score or time in them.
    lines = (re.sub(r"[ \u2500-\u257f]+", " ", line).strip() for line in text.split("\n"))
    return "\n".join(sorted(lines))


def files_of_ana(root: Path) -> dict[str, bytes]:
    """Return the files that state Ana's scope or one within it, and her reports, by path."""
    found = {}
    suffix = Scope.of(SCOPE).suffix
    for file in sorted(root.rglob("*.md")):
        data = file.read_bytes()
        path = file.relative_to(root).as_posix()
        is_report = path.startswith(".hedgerow/") and path.endswith(f"{suffix}.md")
        head = data.split(b"\n---", 1)[0]
        states = b"user: ana" in head or b'"user":"ana"' in head
        if is_report or states:
            found[path] = data.replace(b"/both/", b"/alone/")
    return found


class Comparison:
    """The same requests of Ana to both roots, with a clock that stands still."""

    def __init__(self, roots: tuple[Path, Path], face: Callable[[Path], Face]) -> None:
        self._roots = roots
        self._face = face
        self._now = START
        self.files: dict[str, bytes] = files_of_ana(roots[0])

    def __enter__(self) -> Self:
        comparison = self

        class Frozen(datetime):
            """A clock that stands still."""

            @classmethod
            def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]  # not a Frozen
                return comparison._now.astimezone(tz)

        self._patch = patch.object(note, "datetime", Frozen)
        self._patch.start()
        self.faces = [self._face(root) for root in self._roots]
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.faces:
            one.close()
        self._patch.stop()

    def set_minute(self, number: int) -> None:
        """Set the clock."""
        self._now = START + timedelta(minutes=number)

    def difference(self, operation: str, arguments: Mapping[str, Any]) -> list[str]:
        """Carry out a request on both roots, and return all differences that Ana could see."""
        one, other = (masked(face.ask(operation, arguments)) for face in self.faces)
        request = f"{operation} {dict(arguments)}"
        found = [] if one == other else [f"{request}:\n  alone {one}\n  both  {other}"]
        self.files, others = map(files_of_ana, self._roots)
        if self.files != others:
            paths = sorted({*self.files, *others})
            changed = [path for path in paths if self.files.get(path) != others.get(path)]
            shown = [(path, self.files.get(path), others.get(path)) for path in changed]
            found.append(f"{request} wrote differently: {shown}")
        return found
