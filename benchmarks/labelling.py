"""Training chain CRFs beside CRFsuite, on made-up sentences of the shape of a chunking task; CPU time of one thread."""

from __future__ import annotations

import tempfile
import time
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.report import table

STEPS = 50
Corpus = tuple[list[list[list[str]]], list[list[str]]]
SETTINGS: dict[str, dict[str, Any]] = {
    "seen features, L2": {"prior": pb.GaussianPrior(1.0)},
    "all features, L2": {"prior": pb.GaussianPrior(1.0), "all_possible_states": True},
    "seen features, L1": {"prior": pb.LaplacePrior(1.0)},
}


def run() -> str:
    """CPU seconds of reading and of a step, beside CRFsuite where it is installed; and the last losses of both."""
    corpus = sentences()
    header = [
        "weights",
        "steps",
        "reading s",
        "a step s",
        "loss",
        "peer reading s",
        "a step s",
        "loss",
        "ratio of a step",
    ]
    pb.learn.ChainCRF(max_steps=1).fit(corpus[0][:5], corpus[1][:5])  # machine code is made or loaded
    rows = [[name, STEPS, *_measured(corpus, STEPS, options)] for name, options in SETTINGS.items()]
    rows.append(["seen features, L2", 1000, *_measured(corpus, 1000, SETTINGS["seen features, L2"])])
    return table(header, rows)


def _measured(corpus: Corpus, steps: int, options: dict[str, Any]) -> list[object]:
    ours = _ours(corpus, steps, options)
    theirs = _crfsuite(corpus, steps, options) if find_spec("pycrfsuite") else (None, None, None)
    ratio = None if theirs[1] is None else ours[1] / theirs[1]
    return [*ours, *theirs, ratio]


def _ours(corpus: Corpus, steps: int, options: dict[str, Any]) -> tuple[float, float, str]:
    whole = {"threads": 1, "all_possible_transitions": True, **options}
    begin = time.process_time()
    pb.learn.ChainCRF(max_steps=0, **whole).fit(*corpus)
    reading = time.process_time() - begin
    begin = time.process_time()
    training = pb.learn.ChainCRF(max_steps=steps, tolerance=1e-9, **whole).fit(*corpus).training_
    seconds = (time.process_time() - begin - reading) / training.num_steps
    return reading, seconds, f"{-training.trace[-1]:.5f}"


def _crfsuite(corpus: Corpus, steps: int, options: dict[str, Any]) -> tuple[float, float, str]:
    import pycrfsuite

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        def message(self, text: str) -> None:
            self.losses += [float(line.split()[1]) for line in text.splitlines() if line.startswith("Loss:")]

    begin, trainer = time.process_time(), Trainer(verbose=False)
    trainer.losses = []
    for sequence, labels in zip(*corpus, strict=True):
        trainer.append(sequence, labels)
    reading = time.process_time() - begin
    is_sharp = isinstance(options["prior"], pb.LaplacePrior)
    trainer.set_params(
        {
            "c1": 1.0 if is_sharp else 0.0,
            "c2": 0.0 if is_sharp else 0.5,  # it has no 1/2 of its own
            "max_iterations": steps,
            "epsilon": 1e-9,
            "delta": 1e-12,
            "feature.possible_states": options.get("all_possible_states", False),
            "feature.possible_transitions": True,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        trainer.train(str(Path(folder) / "model"))
        seconds = time.process_time() - begin
    return reading, seconds / max(1, len(trainer.losses)), f"{trainer.losses[-1]:.5f}"


def sentences(num_sentences: int = 823, num_tokens: int = 19_172, num_labels: int = 14, num_tags: int = 44) -> Corpus:
    """Words and tags that labels emit, with 19 features a token: windows of words and tags, and of their pairs."""
    rng = np.random.default_rng(0)
    lengths = rng.multinomial(num_tokens - 2 * num_sentences, rng.dirichlet(np.full(num_sentences, 4.0))) + 2
    steps = rng.dirichlet(np.full(num_labels, 0.15), size=num_labels) * 0.95 + 0.05 / num_labels
    tags = rng.dirichlet(np.full(num_tags, 0.08), size=num_labels)
    sizes = rng.integers(5, 900, size=num_tags)
    sequences, labels = [], []
    for length in lengths.tolist():
        path = [int(rng.integers(num_labels))]
        while len(path) < length:
            path.append(int(rng.choice(num_labels, p=steps[path[-1]])))
        told = [int(rng.choice(num_tags, p=tags[label])) for label in path]
        words = [f"w{tag}_{min(int(rng.zipf(1.35)), sizes[tag])}" for tag in told]
        sequences.append(_features(words, [f"T{tag}" for tag in told]))
        labels.append([f"L{label}" for label in path])
    return sequences, labels


def _features(words: list[str], tags: list[str]) -> list[list[str]]:
    padded = [["_-2", "_-1", *cells, "_+1", "_+2"] for cells in (words, tags)]
    features = []
    for place in range(len(words)):
        near, kinds = padded[0][place : place + 5], padded[1][place : place + 5]
        told = [f"w{number}:{cell}" for number, cell in enumerate(near)] + [
            f"t{number}:{cell}" for number, cell in enumerate(kinds)
        ]
        told += [f"ww{number}:{one}/{two}" for number, (one, two) in enumerate(pairwise(near[1:4]))]
        told += [f"tt{number}:{one}/{two}" for number, (one, two) in enumerate(pairwise(kinds))]
        told += [f"ttt{number}:{'/'.join(kinds[number : number + 3])}" for number in range(3)]
        features.append(told)
    return features
