"""The figures of an evaluation as a chart, drawn without a display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow._extras import imports_of
from hedgerow.evaluation import MEASURES

with imports_of("eval", needed_by="a chart"):
    from matplotlib import rc_context
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.evaluation import Outcome

# Colors that are distinct in print and to the color-blind.
_COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")


def draw(outcomes: Sequence[Outcome], file: str) -> None:
    """Draw a group of bars for each measure, a bar for each combination, as SVG or PNG.

    Equal figures give equal SVG.
    """
    kind = Path(file).suffix.lower().removeprefix(".")
    with rc_context({"svg.hashsalt": "hedgerow", "svg.fonttype": "none"}):
        figure = Figure(figsize=(10, 5), layout="constrained")
        axes = figure.add_subplot()
        width = 0.84 / len(outcomes)
        for i, outcome in enumerate(outcomes):
            shift = (i - (len(outcomes) - 1) / 2) * width
            bars = axes.bar(
                [group + shift for group in range(len(MEASURES))],
                [outcome.measures[name] for name in MEASURES],
                width * 0.92,
                color=_COLORS[i % len(_COLORS)],
                label=str(outcome.combination),
            )
            axes.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
        axes.set_title("Quality of each way of searching: 1 is the best there can be")
        axes.set_xticks(range(len(MEASURES)), MEASURES)
        axes.set_ylim(0, 1.05)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside lower center", ncols=min(4, len(outcomes)), frameon=False)
        figure.savefig(file, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {})
