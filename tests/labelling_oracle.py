"""Chains of labels by listing all labellings, from the weights that a model tells by name."""

from __future__ import annotations

import itertools
import math


def score(weights, sequence, labels):
    """Weights times features; tokens are dictionaries name -> value."""
    total = sum(
        value * weights.get(f"{label}: {name}", 0.0)
        for token, label in zip(sequence, labels, strict=True)
        for name, value in token.items()
    )
    return total + sum(weights.get(f"{one} -> {two}", 0.0) for one, two in itertools.pairwise(labels))


def distribution(weights, sequence, classes):
    """Labelling -> P(labelling | sequence)."""
    scores = {labels: score(weights, sequence, labels) for labels in itertools.product(classes, repeat=len(sequence))}
    top = max(scores.values())
    total = math.fsum(math.exp(value - top) for value in scores.values())
    return {labels: math.exp(value - top) / total for labels, value in scores.items()}


def log_total(weights, sequence, classes):
    """log Z."""
    scores = [score(weights, sequence, labels) for labels in itertools.product(classes, repeat=len(sequence))]
    top = max(scores)
    return top + math.log(math.fsum(math.exp(value - top) for value in scores))


def is_allowed(labels, told):
    """Whether a labelling agrees with what is told: a label, a set of them, or nothing."""
    pairs = zip(labels, told, strict=True)
    return all(fact is None or (label in fact if isinstance(fact, set) else label == fact) for label, fact in pairs)


def log_likelihood(weights, sequences, told, classes):
    """Σ log P(what is told of the labels | sequence)."""
    return sum(
        math.log(
            math.fsum(p for labels, p in distribution(weights, sequence, classes).items() if is_allowed(labels, facts))
        )
        for sequence, facts in zip(sequences, told, strict=True)
    )
