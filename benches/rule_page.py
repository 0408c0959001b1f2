"""The table of docs/explanation/rules.md: the rules of the register with their measured gain and cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hedgerow._engine import _rules
from rule_data import Figure

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "rules.md"

HEAD = "| rule | what it does | constants | gain | cost |\n|---|---|---|---|---|\n"

TABLE = re.compile(re.escape(HEAD) + r"((?:\|.*\n)*)")

NOT_MEASURED = "not measured"


def rows(page: str) -> dict[str, list[str]]:
    """Return the cells of each row of the table, by the name of its rule."""
    table = TABLE.search(page)
    if table is None:
        raise ValueError(f"the table with the head {HEAD!r} is missing")
    cells = ([one.strip() for one in line[1:-1].split(" | ")] for line in table[1].splitlines())
    return {row[0]: row for row in cells}


def registered() -> dict[str, list[str]]:
    """Return the cells of each rule that come from the register: name, effect and constants."""
    return {
        name: [name, effect, ", ".join(f"`{constant}` {value}" for constant, value in constants)]
        for name, effect, _, constants, _ in _rules()
    }


def publish(found: Mapping[str, Sequence[Figure]]) -> None:
    """Write the register and the figures into the page; rules without a new figure keep the old one."""
    page = PAGE.read_text(encoding="utf-8")
    known = rows(page)
    lines = []
    for name, cells in registered().items():
        figures = known.get(name, [*cells, NOT_MEASURED, NOT_MEASURED])[3:]
        if name in found:
            figures = [gain(found[name]), cost(found[name])]
        lines.append(f"| {' | '.join([*cells, *figures])} |\n")
    PAGE.write_text(TABLE.sub(lambda _: HEAD + "".join(lines), page), encoding="utf-8")


def gain(figures: Sequence[Figure]) -> str:
    """Describe every gain whose interval is above 0; else the largest one."""
    gains = [one for one in figures if one.is_gain]
    return "; ".join(map(shown, gains or [max(figures, key=lambda one: one.gain)]))


def cost(figures: Sequence[Figure]) -> str:
    """Describe the least gain, or say that nothing becomes worse."""
    worst = min(figures, key=lambda one: one.gain)
    return shown(worst) if worst.gain < 0 else "none is worse"


def shown(figure: Figure) -> str:
    """Return a figure in a few words."""
    interval = f"{figure.gain:+.3f} ({figure.low:+.3f} to {figure.high:+.3f})"
    return f"{figure.data}, {figure.measure} {figure.value:.3f}: {interval}"
