"""Plots of raw samples as inline SVG, by matplotlib (the ``plots`` extra).

A stream is drawn from its request on: a thin line while it waits, one stroke for each token. Streams that were
generating together stand above each other; the shaded part is max(first token) to min(last token).
"""

from __future__ import annotations

import html
import io
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from stager.reports.inks import INKS, inline_svg, stream_ink
from stager.reports.samples import Samples, Series, Stream, shared_span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.0
#: A closer look shows about so many engine steps.
CLOSE_STEPS = 14
_ROW = 0.34
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "stager",
    "font.size": 9,
    "axes.edgecolor": INKS["faint"],
    "axes.labelcolor": INKS["ink"],
    "axes.linewidth": 0.8,
    "xtick.color": INKS["faint"],
    "ytick.color": INKS["faint"],
    "xtick.labelcolor": INKS["ink"],
    "ytick.labelcolor": INKS["ink"],
    "text.color": INKS["ink"],
    "grid.color": INKS["grid"],
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def can_plot() -> bool:
    """Whether the ``plots`` extra is installed."""
    try:
        import matplotlib  # noqa: F401 - only asked for
    except ImportError:
        return False
    return True


def draw(samples: Samples, name: str, longest: float | None = None) -> list[str]:
    """Return the figures there are to draw of some samples.

    Args:
        samples: what to draw.
        name: unique in the page.
        longest: seconds on the time axis, so that two figures can be read one above the other.
    """
    if samples.latencies:
        return [_latency(series, f"{name}-latency-{number}") for number, series in enumerate(samples.latencies)]
    if any(stream.tokens for stream in samples.streams) or samples.gauge:
        return [_streams(samples, f"{name}-streams", longest)]
    return []


def draw_closely(samples: Samples, name: str) -> list[str]:
    """Return a figure of a few steps in the middle of the shared span, where shared steps can be seen; or nothing."""
    span = shared_span(samples.streams)
    if span is None:
        return []
    times = sorted(time for time in samples.streams[0].tokens if span[0] <= time <= span[1])
    gaps = sorted(after - before for before, after in pairwise(times))
    if not gaps:
        return []
    middle, half = sum(span) / 2, gaps[len(gaps) // 2] * CLOSE_STEPS / 2
    window = (max(span[0], middle - half), min(span[1], middle + half))
    figure, (axes,) = _figure([_ROW * len(samples.streams) + 0.15])
    _raster(axes, samples.streams, waits=False)
    axes.set_xlim(*window)
    axes.set_xlabel("seconds after the first request")
    words = f"a closer look at {window[1] - window[0]:.2f} s in the middle: tokens of one step stand above each other"
    return [_svg(figure, f"{name}-close", words)]


def _streams(samples: Samples, name: str, longest: float | None) -> str:
    streams, gauge = samples.streams, samples.gauge
    rows = len(streams)
    heights = ([_ROW * rows + 0.15] if rows else []) + ([0.75] if gauge else [])
    figure, axes = _figure(heights)
    if rows:
        _raster(axes[0], streams)
    if gauge:
        _steps(axes[-1], gauge)
    most = longest or samples.length
    axes[0].set_xlim(-0.01 * most, most * 1.13)
    axes[-1].set_xlabel("seconds after the first request")
    words = f"{rows} streams, each token one stroke" + (f"; below, {gauge.name} as sampled" if gauge else "")
    return _svg(figure, name, words)


def _raster(axes: Axes, streams: Sequence[Stream], *, waits: bool = True) -> None:
    span = shared_span(streams)
    if span:
        axes.axvspan(*span, color=INKS["span"], linewidth=0)
    for number, stream in enumerate(streams):
        ink = stream_ink(number)
        if waits:
            _wait(axes, stream, number)
        times = [part for token in stream.tokens for part in (token, token, math.nan)]
        heights = [part for _ in stream.tokens for part in (number - 0.36, number + 0.36, math.nan)]
        axes.plot(times, heights, color=ink, linewidth=1.0, solid_capstyle="butt")
    axes.set_yticks(
        range(len(streams)),
        [stream.name.replace("_", " ") or f"stream {number}" for number, stream in enumerate(streams, 1)],
    )
    axes.set_ylim(len(streams) - 0.5, -0.5)
    axes.tick_params(length=0, axis="y")
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", linewidth=0.6)
    axes.set_axisbelow(True)


def _wait(axes: Axes, stream: Stream, number: int) -> None:
    """A thin line from the request to the first token; the seconds it lasted stand at the stream's end."""
    ink = stream_ink(number)
    begin = stream.tokens[0] if stream.tokens else stream.sent
    axes.plot([stream.sent, begin], [number, number], color=ink, linewidth=1.1)
    axes.plot([stream.sent], [number], marker="|", color=ink, markersize=7, markeredgewidth=1.4)
    if stream.ttft is not None:
        place: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
        words = f"first after {stream.ttft:.2f} s"
        axes.annotate(words, (stream.tokens[-1], number), fontsize=7.5, color=INKS["ink"], **place)


def _steps(axes: Axes, gauge: Series) -> None:
    times, values = [point[0] for point in gauge.points], [point[1] for point in gauge.points]
    axes.plot(times, values, color=INKS["faint"], linewidth=0.8, drawstyle="steps-post")
    axes.plot(times, values, color=INKS["good"], linestyle="none", marker="o", markersize=3)
    axes.set_ylim(-0.3, max(values) + 0.7)
    axes.set_yticks([0, max(values)], ["0", f"{max(values):g}"])
    axes.set_ylabel("gauge", rotation=0, ha="right", va="center")
    axes.grid(axis="both", linewidth=0.6)
    axes.set_axisbelow(True)


def _latency(series: Series, name: str) -> str:
    figure, (axes,) = _figure([1.7])
    times, values = [point[0] for point in series.points], [point[1] for point in series.points]
    top = max(values, default=1.0)
    if series.span:
        axes.axvspan(*series.span, color=INKS["span"], linewidth=0)
    axes.vlines(times, 0, values, color=INKS["a"], linewidth=0.9)
    axes.plot(times, values, color=INKS["a"], linestyle="none", marker="o", markersize=2.6)
    if series.missing:
        axes.plot(series.missing, [top * 1.08] * len(series.missing), "x", color=INKS["bad"], markersize=5)
    axes.set_ylim(0, top * 1.18)
    axes.set_ylabel(series.unit, rotation=0, ha="right", va="center")
    shaded = "; shaded: while the long prompt was read" if series.span else ""
    axes.set_xlabel(f"{series.name}: seconds after the first sample was due{shaded}")
    axes.grid(axis="y", linewidth=0.6)
    axes.set_axisbelow(True)
    missing = f", {len(series.missing)} without a good answer" if series.missing else ""
    return _svg(figure, name, f"latency of {series.name} over time: {len(values)} answers{missing}")


def _figure(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH, sum(heights) + 0.55), layout="constrained")
        ratios: dict[str, Any] = {"height_ratios": list(heights)}
        axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw=ratios)
    figure.patch.set_alpha(0)
    flat = [line[0] for line in axes]
    for one in flat:
        one.patch.set_alpha(0)
    return figure, flat


def _svg(figure: Figure, name: str, words: str) -> str:
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return inline_svg(out.getvalue(), name, html.escape(words))
