"""The difference of two texts by lines, as a unified diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

MOST_CHANGES = 500
"""The most changed lines that are found one by one, since the cost grows with their square. Beyond,
everything between the first and the last change counts as replaced."""

MOST_LINES = 20_000
"""The most lines, of both texts between the first and the last change, that are compared one by one."""

CONTEXT = 3
"""The unchanged lines that are shown around a change."""


class _Change(NamedTuple):
    """Lines of the old text that lines of the new one replace, as ranges."""

    old: range
    new: range


def unified(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> str:
    """Return the unified diff of two texts, given as lines without line ends; empty if they are equal."""
    changes = _changes(old, new)
    if not changes:
        return ""
    lines = [f"--- {old_name}", f"+++ {new_name}"]
    for group in _groups(changes):
        first, last = group[0], group[-1]
        before = min(CONTEXT, first.old.start)
        after = min(CONTEXT, len(old) - last.old.stop)
        spans = (
            range(first.old.start - before, last.old.stop + after),
            range(first.new.start - before, last.new.stop + after),
        )
        lines.append(f"@@ -{_span(spans[0])} +{_span(spans[1])} @@")
        at = spans[0].start
        for change in group:
            lines += (f" {line}" for line in old[at : change.old.start])
            lines += (f"-{old[number]}" for number in change.old)
            lines += (f"+{new[number]}" for number in change.new)
            at = change.old.stop
        lines += (f" {line}" for line in old[at : spans[0].stop])
    return "\n".join(lines) + "\n"


def _groups(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Join changes whose surroundings touch."""
    group: list[_Change] = []
    for change in changes:
        if group and change.old.start - group[-1].old.stop > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    yield group


def _span(lines: range) -> str:
    start = lines.start + 1 if lines else lines.start
    return f"{start}" if len(lines) == 1 else f"{start},{len(lines)}"


def _changes(old: Sequence[str], new: Sequence[str]) -> list[_Change]:
    """Return the changed lines, in order: the fewest, up to a limit (Myers, 1986)."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if not a and not b:
        return []
    steps = _steps(a, b) if len(a) + len(b) <= MOST_LINES else None
    if steps is None:
        return [_Change(range(start, start + len(a)), range(start, start + len(b)))]
    found: list[_Change] = []
    for x, y, is_new in steps:
        old_at, new_at = start + x, start + y
        one = (
            _Change(range(old_at, old_at), range(new_at, new_at + 1))
            if is_new
            else _Change(range(old_at, old_at + 1), range(new_at, new_at))
        )
        last = found[-1] if found else None
        if last and last.old.stop == one.old.start and last.new.stop == one.new.start:
            found[-1] = _Change(
                range(last.old.start, one.old.stop), range(last.new.start, one.new.stop)
            )
        else:
            found.append(one)
    return found


def _steps(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, bool]] | None:
    """Return the steps from one text to the other: where, and whether a line is new.

    None if there are more than `MOST_CHANGES`.
    """
    ends = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(MOST_CHANGES + 1):
        trace.append(dict(ends))
        for diagonal in range(-edits, edits + 1, 2):
            is_new = diagonal == -edits or (
                diagonal != edits and ends[diagonal - 1] < ends[diagonal + 1]
            )
            x = ends[diagonal + 1] if is_new else ends[diagonal - 1] + 1
            y = x - diagonal
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            ends[diagonal] = x
            if x >= len(a) and y >= len(b):
                return _back(trace, len(a), len(b))
    return None


def _back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int, bool]]:
    """Return the steps that led to the end of both texts."""
    steps = []
    for edits in range(len(trace) - 1, 0, -1):
        ends, diagonal = trace[edits], x - y
        is_new = diagonal == -edits or (
            diagonal != edits and ends[diagonal - 1] < ends[diagonal + 1]
        )
        before = diagonal + 1 if is_new else diagonal - 1
        x, y = ends[before], ends[before] - before
        steps.append((x, y, is_new))
    return steps[::-1]
