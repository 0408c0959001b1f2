"""Synthesize: a page of what memories say about a topic (spec/memory.md, "Synthesize").

A page quotes the memories that hold, and names those that no longer do; no model takes part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hedgerow._engine import (
    _PAGE_FRAME,
    _render_front_matter,
    _shorten,
    _title_from_name,
    _update_front_matter,
)
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import (
    Source,
    UnreadableSourceError,
    read_bytes,
    text_of,
)

from . import files, note
from .documents import Document, parse_document
from .names import DIRECTORIES
from .scope import Scope, front_matter_of
from .selection import Selection, newest_first
from .validity import Validity
from .words import topic_tokens

BEGIN, END, _ABOUT, _UPKEEP, _UNDERSTANDING, _CHANGED, _SOURCES, _MAINTENANCE = _PAGE_FRAME
"""The lines of a generated part that are the same on every page: no search finds them."""

_LONGEST_LINE = 240
_MOST_TAGS = 8
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|\Z)")


def checked_topic(selection: Selection) -> str:
    """Return the topic of a page; InvalidInputError without one."""
    if selection.topic is None:
        raise InvalidInputError(
            "a page needs a topic; name what it is about", code="invalid_option"
        )
    return selection.topic


def page_path(topic: str, scope: Scope) -> str:
    """Return the path, below the root, of the page of a scope about a topic."""
    return f"{DIRECTORIES['page']}/{note.undated_name(topic, 'page', 'page')}{scope.suffix}.md"


def choose_sources(
    documents: Sequence[Document], selection: Selection, found: Sequence[str]
) -> list[Document]:
    """Return the memories a page is made from, the newest first.

    Memories that mention the whole topic come first; paths that a recall `found` fill up the
    limit. Raises HedgerowError when there are none.
    """
    topic = checked_topic(selection)
    memories = [document for document in documents if not document.is_page]
    chosen = {document.path: document for document in selection.of_interest(memories)}
    if len(chosen) < selection.limit:
        by_path = {
            document.path: document for document in memories if selection.is_recent(document)
        }
        for path in found:
            if path in by_path and len(chosen) < selection.limit:
                chosen.setdefault(path, by_path[path])
    if not chosen:
        raise HedgerowError(
            f"No source memories found for {topic!r}; remember something about it first, or "
            "choose another topic",
            code="no_sources",
        )
    return newest_first(list(chosen.values()))


def write_page(
    root: Path,
    topic: str,
    sources: Sequence[Document],
    scope: Scope,
    changed: Sequence[tuple[Document, Validity]] = (),
) -> bool:
    """Write the page, or update the generated part of it; returns whether the page is new.

    `changed` are memories about the topic that no longer hold: they are named with the reason, and
    not quoted.

    Raises HedgerowError, and writes nothing, when somebody edits the page at the same time.
    """
    path = page_path(topic, scope)
    files.check_no_link((root / path).parent)
    generated = f"{BEGIN}\n{_generated(sources, changed)}\n{END}"
    data = _existing(root / path, path)
    time = note.iso_time(note.now())
    if data is None:
        text = f"{_render_front_matter(_fields(topic, time, scope))}\n# {topic}\n\n{generated}\n"
    else:
        old = parse_document(path, data)
        text = _front_matter(old, topic, time, scope) + _with_generated(old.body, topic, generated)
    files.update(root / path, text.encode(), expected=data, root=root)
    return data is None


def _fields(topic: str, time: str, scope: Scope) -> dict[str, Any]:
    return {
        "type": "page",
        "title": topic,
        "topic": topic,
        "source": "hedgerow-process",
        "created_at": time,
        "updated_at": time,
        "confidence": "agent-drafted",
        "tags": topic_tokens(topic)[:_MOST_TAGS],
        **front_matter_of(scope),
    }


def _existing(file: Path, path: str) -> bytes | None:
    """Return the bytes of the page, None if there is none; HedgerowError if it is not text."""
    if not file.exists():
        return None
    try:
        data = read_bytes(Source(path, str(file)))
        text_of(data)
    except UnreadableSourceError as error:
        raise HedgerowError(
            f"{path} is in the way: {error.reason}; move it elsewhere", code="root_io"
        ) from error
    return data


def _front_matter(old: Document, topic: str, time: str, scope: Scope) -> str:
    """Keep the front matter but for `updated_at`; add the fields that it lacks."""
    fields = _fields(topic, time, scope)
    if not old.matter.body_start:
        return _render_front_matter(fields) + "\n"
    missing = {key: value for key, value in fields.items() if key not in old.matter.fields}
    block = "\n".join(old.lines[1 : old.matter.body_start - 1])
    return f"---\n{_update_front_matter(block, {**missing, 'updated_at': time})}---\n"


def _with_generated(body: str, topic: str, generated: str) -> str:
    """Replace the generated part; without one, insert it under the heading."""
    begin = body.find(BEGIN)
    end = body.find(END, begin)
    if 0 <= begin < end:
        return f"{body[:begin]}{generated}{body[end + len(END) :]}".rstrip("\n") + "\n"
    head, _, rest = body.lstrip("\n").partition("\n")
    if not head.startswith("# "):
        head, rest = f"# {topic}", body
    rest = rest.replace(BEGIN, "").replace(END, "").strip("\n")
    below = f"\n\n{rest}" if rest.strip() else ""
    return f"\n{head}\n\n{generated}{below}\n"


def without_source(text: str, path: str) -> str | None:
    """Return a page without the generated lines that quote a memory; None if it has none."""
    begin = text.find(BEGIN)
    end = text.find(END, begin)
    if not 0 <= begin < end:
        return None
    named = f"`{_escaped(path)}`"
    lines = text[begin:end].split("\n")
    kept = [one for one in lines if not (one.startswith("- ") and named in one)]
    joined = "\n".join(kept)
    return f"{text[:begin]}{joined}{text[end:]}" if len(kept) < len(lines) else None


def _generated(sources: Sequence[Document], changed: Sequence[tuple[Document, Validity]]) -> str:
    no_longer = [
        f"- **{_title(document)}**: {_escaped(str(validity))} [source: `{_path(document)}`]"
        for document, validity in changed
    ]
    lines = [
        _ABOUT,
        "",
        _UNDERSTANDING,
        "",
        *(_bullet(document) for document in sources),
        "",
        *([_CHANGED, "", *no_longer, ""] if no_longer else []),
        _SOURCES,
        "",
        *(
            f"- `{_path(document)}` — {_title(document)} ({_type(document)})"
            for document in sources
        ),
        "",
        _MAINTENANCE,
        "",
        _UPKEEP,
    ]
    return "\n".join(lines)


def _bullet(document: Document) -> str:
    line = _first_line(document)
    quoted = f": {line}" if line else ""
    return f"- **{_title(document)}**{quoted} [source: `{_path(document)}`]"


def _path(document: Document) -> str:
    return _escaped(document.path)


def _title(document: Document) -> str:
    return _escaped(document.title or _title_from_name(document.path))


def _type(document: Document) -> str:
    return _escaped(document.matter.text("type") or "memory")


def _first_line(document: Document) -> str:
    """Return the first line of text outside headings and fenced code."""
    fence = ""
    for line in document.body.split("\n"):
        mark = _FENCE.match(line)
        if mark:
            fence = "" if fence else mark[1]
        elif not fence and line.strip() and not _HEADING.match(line):
            bullet = _BULLET.match(line)
            text = " ".join(line[bullet.end() if bullet else 0 :].split())
            if text:
                return _shorten(_escaped(text), _LONGEST_LINE)
    return ""


def _escaped(text: str) -> str:
    """Escape comments, so that a memory cannot hold our marks."""
    return text.replace("<!--", "&lt;!--")
