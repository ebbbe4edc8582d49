"""Drawings of the examples with incomplete data, by matplotlib, which is an optional extra."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from plausible.errors import MissingDependency
from plausible.examples.cluster_scores import ScoreComparison
from plausible.examples.em_behaviour import EMBehaviour
from plausible.examples.planes import PlaneMap

#: Points that are drawn of each source, so that a picture stays legible.
_MOST_POINTS = 2000


def draw_planes(found: PlaneMap) -> Any:
    """A matplotlib figure of the points in space, each in the colour of its most probable plane; stray ones grey."""
    figure = _figure(6.0, 5.0)
    axes = figure.add_subplot(projection="3d")
    for source in range(len(found.planes) + 1):
        x, y, z = found.problem.points[found.labels == source][:_MOST_POINTS].T
        name = f"plane {source}, {found.planes.weights[source]:.0%}" if source else "stray"
        axes.scatter(x, y, z, s=4, color="0.7" if source == 0 else f"C{(source - 1) % 10}", label=name)
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    axes.set_zlabel("z")
    axes.legend(loc="upper left")
    return figure


def draw_em_behaviour(found: EMBehaviour) -> Any:
    """A matplotlib figure: for each size the traces of all runs, on the rows learned from and on new ones."""
    figure = _figure(4.0 * len(found.samples), 3.5)
    for place, sample in enumerate(found.samples):
        axes = figure.add_subplot(1, len(found.samples), place + 1)
        for number, trace in enumerate(sample.traces):
            axes.plot(trace.train, color="C0", linewidth=0.8, label="learned from" if number == 0 else None)
            axes.plot(trace.test, color="C1", linewidth=0.8, label="new rows" if number == 0 else None)
        axes.axhline(found.test_limit, color="0.5", linestyle=":", label="new rows, true network")
        axes.set_title(f"{sample.num_rows} rows, {sample.num_optima} optima")
        axes.set_xlabel("steps")
        axes.set_ylabel("log-likelihood, bits a row")
    figure.axes[0].legend()
    figure.tight_layout()
    return figure


def draw_scores(found: ScoreComparison) -> Any:
    """A matplotlib figure: the mean error of each criterion against the overlap of clusters."""
    figure = _figure(6.0, 4.0)
    axes = figure.add_subplot()
    overlaps = list(dict.fromkeys(trial.overlap for trial in found.trials))
    for criterion in found.design.criteria:
        means = [float(np.mean(found.errors(criterion, overlap))) for overlap in overlaps]
        axes.plot(overlaps, means, marker="o", label=criterion)
    axes.axhline(0.0, color="0.5", linestyle=":")
    axes.set_xlabel("overlap of clusters")
    axes.set_ylabel("clusters chosen less candidate's")
    axes.legend()
    return figure


def save_figure(path: str | PathLike[str], figure: Any) -> Path:
    """Write a figure, into a folder that is made where it is missing; gives the path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=120)
    return target


def _figure(width: float, height: float) -> Any:
    try:
        module = import_module("matplotlib.figure")
    except ImportError:
        raise MissingDependency.extra("matplotlib", "plot") from None
    return module.Figure(figsize=(width, height))
