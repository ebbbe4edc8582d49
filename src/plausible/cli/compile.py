"""`plausible compile`: all kernels as machine code on disk, for containers, clusters and the impatient."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import pandas as pd

import plausible as pb
from plausible.cli.commands import command
from plausible.cli.options import AsJson, ShowProgress, option
from plausible.cli.output import print_answer
from plausible.cli.terminal import progress_bar
from plausible.errors import InvalidArgument, counted
from plausible.graphs.separation import KERNEL_SIZE
from plausible.kernels.background import Job, recorded
from plausible.kernels.jit import use_tier
from plausible.kernels.machine_code import first_writable


@command(
    examples=("plausible compile",),
    notes=(
        "Without it, loops are interpreted at first and compiled in the background once they have been busy for some"
        " seconds. In a Dockerfile, run it after the installation: machine code that another user made is used, too.",
    ),
)
def run_compile(
    processes: Annotated[
        int | None, option("How many loops to compile at a time; by default one for each core.", min=1)
    ] = None,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Compile all inner loops now, so that nothing waits later."""
    folder = first_writable()
    if folder is None:
        raise InvalidArgument(
            "No folder for machine code can be written to. Name one by the environment variable NUMBA_CACHE_DIR."
        )
    began = perf_counter()
    with use_tier("interpreted"), recorded() as calls:
        use_all_kernels()
    jobs = [job for job in calls.values() if not job.is_done()]
    with progress_bar("compiling", progress) as advance:
        for number, job in enumerate(_compiled(jobs, processes or os.cpu_count() or 1), start=1):
            advance(number / len(jobs), f" ({job.name})")
    names, seconds = sorted({job.name for job in jobs}), round(perf_counter() - began, 1)
    print_answer(
        f"{counted(len(names), 'kernel')} compiled in {seconds} s, in {folder}",
        {"kernels": names, "seconds": seconds, "folder": str(folder)},
        as_json=as_json,
    )


def _compiled(jobs: Sequence[Job], num_processes: int) -> Iterator[Job]:
    """Compile in several processes; yields each job when it is done."""
    with ProcessPoolExecutor(num_processes, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(job.run): job for job in jobs}
        for done in as_completed(running):
            done.result()
            yield running[done]


def use_all_kernels() -> None:
    """Ask all questions; the answers do not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows and few steps: some runs do not converge
        for ask in (
            _exact,
            _graphs,
            _approximate,
            _best,
            _structures,
            _incomplete,
            _undirected,
            _labels,
            _sequences,
            _slices,
            _linear_systems,
        ):
            ask()


def _asia() -> pb.BayesianNetwork:
    return pb.examples.load("asia")


def _ring() -> pb.MarkovNetwork:
    return pb.models.ising("A - B - C - A; C - D", 0.5, 0.1)


def _rows(num_missing: int = 0) -> pd.DataFrame:
    rows = _asia().sample(40, seed=0).astype(object)
    for column in range(num_missing):
        rows.iloc[column::5, column] = None
    return rows


def _exact() -> None:
    network = _asia()
    engine = network.compile()
    network.marginals(evidence={"xray": "yes"})
    network.mpe(evidence={"xray": "yes"})
    network.map(["lung", "bronc"], evidence={"xray": "yes"})
    network.sample(5, seed=0, evidence={"xray": "yes"})
    network.expectation(pb.Factor([network.variables["lung"]], [1.0, 0.0]))
    engine.query(["lung", "smoke"], evidence={"xray": "yes"})
    engine.predict_proba(_rows(4).drop(columns=["lung"]), "lung")
    engine.log_likelihood(_rows(4))
    engine.expected_counts(_rows(4))
    # Cliques that threads share.
    variables = [pb.Variable(f"X{number}", [0, 1]) for number in range(36)]
    ones = np.ones(2**20).reshape([2] * 20)
    pb.MarkovNetwork(pb.Factor(variables[:20], ones), pb.Factor(variables[16:], ones)).marginals()


def _graphs() -> None:
    edges = [(str(number), str(number + 1)) for number in range(KERNEL_SIZE // 2)]
    pb.DAG(edges).d_separated("0", "3", given=["5"])
    pb.graphs.elimination_order(pb.UndirectedGraph(edges))
    chain = pb.inference.MarkovChain.gamblers_ruin(4, 0.4)
    chain.simulate(3, start=2, seed=0)
    chain.expected_visits()
    pb.inference.MarkovChain([[0.9, 0.1], [0.2, 0.8]]).stationary()


def _approximate() -> None:
    ring, network, evidence = _ring(), _asia(), {"xray": "yes"}
    chains: dict[str, Any] = {"num_samples": 20, "burn_in": 2}
    engines: tuple[Any, ...] = (
        *(pb.LoopyBP(schedule=schedule) for schedule in ("sequential", "synchronous", "residual")),
        *(pb.MeanField(), pb.MeanField(blocks=[["A", "B"]])),
        *(
            pb.Gibbs(**chains),
            pb.inference.Metropolis(**chains),
            pb.inference.Metropolis(proposal=pb.LoopyBP(), **chains),
        ),
        pb.inference.AnnealedImportance(num_temperatures=3, num_particles=5),
    )
    for engine in engines:
        ring.marginals(engine=engine)
    within = pb.MarkovNetwork(pb.Factor(ring.variables.values(), np.ones((2, 2, 2, 2))), *ring.factors)
    within.marginals(engine=pb.LoopyBP())
    network.query("lung", evidence=evidence, engine=pb.LikelihoodWeighting(100))
    network.query("lung", evidence=evidence, engine=pb.MeanField())
    network.query("lung", evidence=evidence, engine=pb.LoopyBP())


def _best() -> None:
    cooling = pb.search.ExponentialCooling(every=1)
    searches = (pb.search.GreedyAscent(), pb.search.TabuSearch(patience=3), pb.search.SimulatedAnnealing(cooling))
    engines: tuple[Any, ...] = (
        *(pb.MaxProduct(), pb.inference.DualDecomposition(), pb.BranchAndBound(), pb.inference.MiniBucketMax()),
        *(pb.LocalSearch(search) for search in searches),
    )
    for engine in engines:
        _ring().mpe(engine=engine)


def _structures() -> None:
    rows = _rows()[["smoke", "lung", "bronc"]]
    pb.learn.structure(rows, score="bic")
    pb.learn.structure(rows, score="bdeu")
    pb.learn.structure(rows, method="exact")
    pb.learn.pc(rows)
    pb.learn.parameters("smoke -> lung", rows)
    for numbers in (range(20), range(300)):  # codes of few states are small numbers, those of many are not
        pb.learn.parameters("a -> b", {"a": list(numbers), "b": list(numbers)})


def _incomplete() -> None:
    graph, rows = "smoke -> lung", _rows(4)[["smoke", "lung"]]
    pb.learn.em(graph, rows, restarts=1, seed=0)
    pb.learn.structural_em(rows, rules=pb.learn.SEMRules(max_steps=1, max_completions=1))
    pb.learn.structural_em(rows, rules=pb.learn.SEMRules(max_steps=1, max_completions=100))
    pb.learn.sample_parameters(graph, rows, lengths=pb.learn.ChainLengths(4, 1, 1, 1))
    points = np.arange(12.0).reshape(6, 2)
    pb.learn.DirichletProcessMixture(lengths=pb.learn.ChainLengths(4, 1, 1, 1)).fit(points).predict(points)


def _undirected() -> None:
    rows = _rows()[["smoke", "lung", "bronc"]]
    pb.learn.markov("smoke - lung - bronc - smoke", rows, objective="pseudolikelihood", max_steps=1)
    pb.learn.graphical_lasso(covariance=np.full((3, 3), 0.5) + 0.5 * np.eye(3), max_steps=1)
    pb.learn.markov("smoke - lung - bronc - smoke", rows, optimizer="ipf", max_steps=1)


def _labels() -> None:
    words, labels = [["a", "cat"], ["a"]], [["D", "N"], ["D"]]
    for method in ("l-bfgs", "sgd", "perceptron"):
        pb.learn.ChainCRF(method=method, max_steps=1).fit(words, labels).predict(words)


def _sequences() -> None:
    near = pb.HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]])
    far = pb.HiddenMarkovModel([1.0, 0.0], [[0.9, 0.1], [0.0, 1.0]], pb.GaussianEmission([0.0, 100.0], [1.0, 1.0]))
    wide = pb.HiddenMarkovModel(np.full(5, 0.2), np.full((5, 5), 0.2), np.full((5, 2), 0.5))
    for model, rows in ((near, [0, 1, None]), (far, [0.0, 100.0, 0.0, 100.0]), (wide, [0, 1, None])):
        model.filter(rows)
        model.smooth(rows)
        model.mpe(rows)
        model.k_best(2, rows)
        model.sample_posterior(rows, 2, seed=0)
        model.sample(3, seed=0)


def _slices() -> None:
    chain = pb.DynamicBayesianNetwork(
        [pb.TableCPD("X", [0.5, 0.5])],
        [
            pb.TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], parents=["X[-1]"]),
            pb.TableCPD("Y", [[0.9, 0.1], [0.2, 0.8]], parents=["X"]),
        ],
    )
    rows = {"Y": [0, None, 1]}
    chain.filter(rows)
    chain.smooth(rows)
    chain.smooth(rows, do={"X[1]": 1})  # by a tree: interventions in one slice are not for joint states
    chain.mpe(rows)
    chain.sample_posterior(rows, 1, seed=0)
    chain.sample(3, seed=0)


def _linear_systems() -> None:
    numbers = np.arange(80.0)
    for form in ("joseph", "square-root"):
        trend = pb.models.local_linear_trend(0.1, 0.1, 1.0).with_parameters(form=form)
        known = trend.with_parameters(initial_covariance=[1.0, 1.0])
        for system in (trend, known):
            system.smooth([numbers, numbers])
            system.log_likelihood(numbers)
        known.sample(3, seed=0)
