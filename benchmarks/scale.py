"""Rows of alarm that need not fit in memory: drawn, learned from and answered, in processor seconds and peak memory."""

from __future__ import annotations

import os
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from multiprocessing import current_process
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import plausible as pb
from benchmarks.apart import Report, apart
from benchmarks.memory import _status
from benchmarks.peers import load_quietly
from benchmarks.reading import nets_folder
from benchmarks.report import table
from plausible.data import Stream, StreamStatistics, compressed

#: Rows of each file; PLAUSIBLE_ROWS names the most, such as 5e7.
SIZES = (10**6, 10**7, 5 * 10**7)
_BETWEEN = (3 * 10**6,)
_MOST = int(float(os.environ.get("PLAUSIBLE_ROWS", "1e7")))
_TARGET, _NARROW = "HYPOVOLEMIA", 8
_SECONDS = 3600.0


class Task(NamedTuple):
    """Something that is measured, on files with at most so many rows."""

    name: str
    do: Callable[[Path, Path], Any]  # of the file of rows, and a file to write
    most: int = 10**9
    more: tuple[int, ...] = ()  # numbers of rows besides, to see how it grows


def run() -> str:
    """Processor seconds and the peak of memory of each task, in a fresh process, and what --explain says before it."""
    if not (nets_folder() / "alarm.bif.gz").exists():
        return f"No alarm at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in (size for size in sorted({*SIZES, *_BETWEEN}) if size <= _MOST):
            file = Path(folder) / f"{size}.parquet"
            tasks = [task for task in TASKS if size in task.more or (size in SIZES and size <= task.most)]
            rows += [_measured(task, size, file) for task in tasks]
            for made in (file, _gaps_of(file)):
                made.unlink(missing_ok=True)
    header = ["task", "rows", "CPU s", "peak MB", "explained s", "explained / CPU"]
    return table(header, rows)


def _measured(task: Task, size: int, file: Path) -> list[object]:
    outcome = apart(_measure, task.name, size, file, seconds=_SECONDS)
    print("   ", task.name, size, outcome.reports, outcome.failure, flush=True)
    if outcome.failure:
        return [task.name, size, outcome.failure, None, None, None]
    seconds, peak, explained = (outcome.reports.get(name) for name in ("seconds", "peak", "explained"))
    return [task.name, size, seconds, peak / 1e6, explained, None if explained is None else explained / seconds]


def _measure(report: Report, name: str, size: int, file: Path) -> None:
    """Everything is done once with few rows before, so that no library is loaded meanwhile."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("ignore")
    task = next(task for task in TASKS if task.name == name)
    with tempfile.TemporaryDirectory() as folder:
        few, output = Path(folder) / "20000.parquet", Path(folder) / "output.parquet"
        _network().sample(20_000, seed=1, output=few)
        task.do(few, output)
        if name in EXPLAINED:
            report("explained", pb.learn.explain(*EXPLAINED[name](file)).seconds)
        Path("/proc/self/clear_refs").write_text("5")
        before = _cpu_seconds()
        task.do(file, output)
        report("seconds", _cpu_seconds() - before)
        report("peak", _status("VmHWM"))


def _cpu_seconds() -> float:
    """Of this process, and of workers that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _network() -> Any:
    return load_quietly(nets_folder() / "alarm.bif.gz")


def _rows_of(file: Path) -> int:
    return int(file.stem)


def _draw(file: Path, output: Path) -> None:
    _network().sample(_rows_of(file), seed=0, output=file)


def _parameters(file: Path, output: Path) -> None:
    pb.learn.parameters(_network().graph, file, prior="bdeu:1")


def _parameters_in_pieces(file: Path, output: Path) -> None:
    pb.learn.parameters(_network().graph, StreamStatistics(file, max_bytes=0), prior="bdeu:1")


def _structure(method: str, file: Path, output: Path) -> None:
    pb.learn.structure(file, method)


def _with_gaps(file: Path) -> Path:
    """The rows with a tenth of the cells missing, made once."""
    gaps = _gaps_of(file)
    if not gaps.exists():
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        rng = np.random.default_rng(0)
        with pq.ParquetFile(file) as source, pq.ParquetWriter(gaps, source.schema_arrow) as target:
            for batch in source.iter_batches(2**17):
                kept = [pa.array(rng.random(batch.num_rows) >= 0.1) for _ in batch.columns]
                cells = [pa.compute.if_else(mask, cells, None) for mask, cells in zip(kept, batch.columns, strict=True)]
                target.write_batch(pa.record_batch(cells, schema=source.schema_arrow))
    return gaps


def _gaps_of(file: Path) -> Path:
    return file.with_name(f"{file.stem}-gaps.parquet")


def _gaps(file: Path, output: Path) -> None:
    _with_gaps(file)


def _em_steps(file: Path, output: Path) -> None:
    network = _network()
    pb.learn.em(network, _with_gaps(file), start=network, max_steps=2)


def _em_steps_in_pieces(file: Path, output: Path) -> None:
    network = _network()
    pb.learn.em(network, StreamStatistics(_with_gaps(file), max_bytes=1e9), start=network, max_steps=2)


def _bootstraps(file: Path, output: Path) -> None:
    pb.learn.bootstrap(file, "first-ascent", 10)


def _predict(file: Path, output: Path) -> None:
    engine = _network().compile()
    engine.predict_proba(Stream(file), _TARGET, output=output)


def _log_likelihood(file: Path, output: Path) -> None:
    _network().compile().log_likelihood(file, output=output)


def _compress(file: Path, output: Path) -> None:
    compressed(Stream(file, columns=list(_network().variables)[:_NARROW]))


def _dask(learn: Callable[[Any], Any], file: Path, output: Path) -> None:
    from dask.distributed import Client, LocalCluster

    current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # which may not have workers
    address = "127.0.0.1:0"
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=address, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        learn(pb.scale.DaskStatistics(str(file), client))


def _parameters_of(statistics: Any) -> None:
    pb.learn.parameters(_network().graph, statistics, prior="bdeu:1")


def _hill_climbing_of(statistics: Any) -> None:
    pb.learn.structure(statistics, "first-ascent")


def _pyagrum_parameters(file: Path, output: Path) -> None:
    learner, network = _pyagrum_learner(file)
    learner.useSmoothingPrior(1.0)
    learner.learnParameters(network.dag())


def _pyagrum_hill_climbing(file: Path, output: Path) -> None:
    learner, _ = _pyagrum_learner(file)
    learner.useScoreBIC()
    learner.useGreedyHillClimbing()
    learner.learnDAG()


def _pyagrum_learner(file: Path) -> tuple[Any, Any]:
    import gzip

    import pandas as pd
    import pyagrum  # type: ignore[import-not-found]

    plain = file.with_name("alarm.bif")
    plain.write_bytes(gzip.decompress((nets_folder() / "alarm.bif.gz").read_bytes()))
    network = pyagrum.loadBN(str(plain))
    return pyagrum.BNLearner(pd.read_parquet(file).astype(str), network), network


TASKS = (
    Task("rows drawn", _draw, more=_BETWEEN),
    Task("parameters", _parameters),
    Task("parameters, nothing kept", _parameters_in_pieces),
    Task("Chow-Liu", partial(_structure, "chow-liu")),
    Task("hill climbing", partial(_structure, "first-ascent"), 10**7, _BETWEEN),
    Task("rows with gaps", _gaps, 10**7, _BETWEEN),
    Task("two steps of EM", _em_steps, 10**7, _BETWEEN),
    Task("two steps of EM, 1 GB kept", _em_steps_in_pieces, 10**7),
    Task("ten bootstraps", _bootstraps, 10**7),
    Task("probabilities of a variable", _predict, 10**7),
    Task("log-likelihoods", _log_likelihood, 10**7),
    Task("compress 8 columns", _compress),
    *(
        (
            Task("parameters, two Dask workers", partial(_dask, _parameters_of), 10**7),
            Task("hill climbing, two Dask workers", partial(_dask, _hill_climbing_of), 10**7),
        )
        if find_spec("distributed") is not None
        else ()
    ),
    *(
        (
            Task("parameters by pandas + pyAgrum", _pyagrum_parameters, 10**6),
            Task("hill climbing by pandas + pyAgrum", _pyagrum_hill_climbing, 10**6),
        )
        if find_spec("pyagrum") is not None
        else ()
    ),
)

#: Task -> the call of which `learn.explain` tells the cost.
EXPLAINED: dict[str, Callable[[Path], tuple[Any, ...]]] = {
    "parameters": lambda file: (pb.learn.parameters, _network().graph, file, "bdeu:1"),
    "Chow-Liu": lambda file: (pb.learn.structure, file, "chow-liu"),
    "hill climbing": lambda file: (pb.learn.structure, file, "first-ascent"),
    "ten bootstraps": lambda file: (pb.learn.bootstrap, file, "first-ascent", 10),
}

if __name__ == "__main__":
    print(run())
