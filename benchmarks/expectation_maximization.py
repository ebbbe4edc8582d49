"""EM for the parameters of ALARM from incomplete rows, beside pyAgrum's EM at equal likelihood, and how it scales."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apart import Report, apart
from benchmarks.peers import load_quietly, pyagrum_network
from benchmarks.report import at_least, table
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.learn.estimation.priors import Dirichlet
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete.problem import observed_log_likelihood
from plausible.models import BayesianNetwork

NETS = Path(__file__).parents[2] / "shared" / "nets"
MISSING = 0.1
#: pyAgrum takes an hour for more.
PEER_ROWS = 20_000
#: It has this many seconds.
PATIENCE = 900.0
SCALING_ROWS = (2_000, 20_000, 200_000)


def run() -> str:
    """Seconds and log-likelihoods, with one pseudo-count for each cell: pyAgrum needs some."""
    net = load_quietly(NETS / "alarm.bif.gz")
    learn_em(net, _frame(net, 100))  # loads the kernels
    header = [
        "rows of alarm",
        "s",
        "s reading included",
        "steps",
        "log-likelihood",
        "pyAgrum s",
        "log-likelihood",
        "ratio",
    ]
    rows = []
    for num in SCALING_ROWS:
        frame = _frame(net, num)
        start = time.perf_counter()
        encoded = Table.read(frame, net.variables)
        fit = learn_em(net, encoded, Dirichlet(1.0))
        whole = time.perf_counter() - start
        row = [num, fit.seconds, whole, fit.num_steps, f"{fit.log_likelihood:.1f}"]
        if num > PEER_ROWS or not find_spec("pyagrum"):
            rows.append([*row, None, None, None])
            continue
        told = apart(_pyagrum, net, frame, seconds=PATIENCE).reports
        seconds, is_limit = told.get("seconds", PATIENCE), "seconds" not in told
        found = f"{told['log-likelihood']:.1f}" if "log-likelihood" in told else None
        rows.append([*row, at_least(seconds, is_limit), found, at_least(seconds / whole, is_limit)])
    return table(header, rows)


def _frame(net: BayesianNetwork, num_rows: int) -> Any:
    """Rows of the network, each cell missing with the same chance."""
    frame = net.sample(num_rows, seed=1).astype(object)
    return frame.mask(np.random.default_rng(0).random(frame.shape) < MISSING)


def _pyagrum(report: Report, net: BayesianNetwork, frame: Any) -> None:
    """Its time, reading included as in ours, and the likelihood of its network."""
    import pyagrum

    template, texts = pyagrum_network(net), frame.where(frame.notna(), "?").astype(str)
    start = time.perf_counter()
    learner = pyagrum.BNLearner(texts, template, ["?"])
    learner.useSmoothingPrior(1.0)
    learner.useEM(1e-4)
    found = learner.learnParameters(template.dag())
    report("seconds", time.perf_counter() - start)
    learned = BayesianNetwork([_cpd(found.cpt(name), cpd) for name, cpd in net.cpds.items()])
    report("log-likelihood", observed_log_likelihood(learned, Table.read(frame, net.variables)))


def _cpd(cpt: Any, like: Any) -> TableCPD:
    names = list(reversed(cpt.names))
    order = [names.index(variable.name) for variable in like.scope]
    return TableCPD(like.variable, cpt.toarray().transpose(order), like.parents)


if __name__ == "__main__":
    print(run())
