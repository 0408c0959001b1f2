"""Two charts: the peers relative to hedgerow, and the cost by size of the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .report import OURS, headline, peers
from .results import Row

PEERS = "peers.svg"
GROWTH = "growth.svg"
# Grays and colors that are legible on white and on black, and distinguishable with red-green color
# blindness.
_INK = "#808080"
_OURS = "#d9730d"
_SLOWER = "#4a90c2"
_FASTER = "#3aa76d"
_COLOURS = (
    *("#4a90c2", "#3aa76d", "#b05fb0", "#c2a83a", "#d05c5c"),
    *("#5cb8b8", "#8f7fd0", "#999999", "#a0764a", "#d27aa4"),
)
_LINES = {
    "bm25-OR": "Words joined by OR, top 60",
    "vector": "Vectors, top 60",
    "hybrid": "Hybrid, top 10",
}


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw both charts. Equal figures give equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / PEERS]
    with _style():
        _peers([row for row in headline(rows) if row.key in _LINES]).savefig(
            made[0], metadata={"Date": None}, transparent=True
        )
        if len({row.chunks for row in _sized(rows)}) > 1:
            made.append(folder / GROWTH)
            _growth(_sized(rows)).savefig(made[1], metadata={"Date": None}, transparent=True)
    return made


def _peers(rows: Sequence[Row]) -> Figure:
    """Draw a bar for each peer, relative to hedgerow. Bars to the right are slower."""
    counts = [max(1, len(peers(row))) for row in rows]
    figure = Figure(figsize=(8, 0.9 * len(rows) + 0.28 * sum(counts)), layout="constrained")
    ratios = [row.against_ours(name) for row in rows for name in peers(row)] or [1.0]
    limits = min(0.5, *ratios) * 0.7, max(2.0, *ratios) * 2.2
    places = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=counts)
    for row, axes in zip(rows, places[:, 0], strict=True):
        names = sorted(peers(row), key=row.against_ours, reverse=True)
        ratios = [row.against_ours(name) for name in names]
        colours = [_SLOWER if ratio >= 1 else _FASTER for ratio in ratios]
        bars = axes.barh(names, [ratio - 1 for ratio in ratios], left=1, color=colours, height=0.7)
        axes.bar_label(bars, [_ratio(ratio) for ratio in ratios], padding=3, fontsize=8)
        axes.axvline(1, color=_OURS, linewidth=2)
        took = row.figures[OURS].p50 * 1e3
        axes.set_title(f"{_LINES[row.key]}: hedgerow {took:.2g} ms", loc="left", fontsize=10)
        axes.set_xscale("log")
        axes.set_xlim(*limits)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda times, _: f"{times:g}"))
        _clear(axes)
    places[-1, 0].set_xlabel(
        f"time relative to hedgerow, whose line is at 1; medians at {rows[0].corpus} chunks"
    )
    return figure


def _growth(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each kind of search, with a line for each contender."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    names = list(dict.fromkeys(name for row in rows for name in [OURS, *peers(row)]))
    colours = dict(zip(names, [_OURS, *_COLOURS], strict=False))
    panels = figure.subplots(1, len(_LINES), sharey=True)
    for (key, title), axes in zip(_LINES.items(), panels, strict=True):
        of_kind = sorted((row for row in rows if row.key == key), key=lambda row: row.chunks)
        for name in names:
            points = [
                (row.chunks, row.figures[name].p50 * 1e3) for row in of_kind if name in row.figures
            ]
            if points:
                width = 2.5 if name == OURS else 1.3
                axes.plot(
                    *zip(*points, strict=True),
                    "o-",
                    color=colours[name],
                    lw=width,
                    ms=3,
                    label=name,
                )
        axes.set_title(title, fontsize=10)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda times, _: f"{times:g}"))
        sizes = [row.chunks for row in of_kind]
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=8)
        axes.grid(visible=True, color=_INK, alpha=0.25)
        _clear(axes)
    panels[0].set_ylabel("median, ms")
    panels[len(panels) // 2].set_xlabel("chunks")
    keys = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        keys.update(zip(labels, handles, strict=True))
    figure.legend(
        keys.values(), keys.keys(), loc="outside lower center", ncols=5, frameon=False, fontsize=8
    )
    return figure


def _sized(rows: Sequence[Row]) -> list[Row]:
    """Return the searches over synthetic corpora, which differ only in size."""
    return [row for row in rows if row.key in _LINES and row.corpus.replace(",", "").isdigit()]


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _clear(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.minorticks_off()


@contextmanager
def _style() -> Iterator[None]:
    keys = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    settings = {"svg.hashsalt": "hedgerow", "svg.fonttype": "none", **dict.fromkeys(keys, _INK)}
    with rc_context(settings):
        yield
