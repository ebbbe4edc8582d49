"""Options are checked where a method is made or a function is called: what is no number is refused there."""

from __future__ import annotations

import inspect
import math
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module

import pytest

import plausible as pb
from plausible.errors import InvalidArgument, UnknownVariable

ROOMS = ["search", "inference", "learn", "causal", "decisions", "utilities"]
#: Estimators hold what they are given until they are fitted, engines look at their limits when they are asked, and a
#: search for an indifference is a state.
LATER = {"BayesianNetworkClassifier", "KDBClassifier", "NaiveBayesClassifier", "TANClassifier"}
LATER |= {"ChainCRF", "HiddenMarkovLabeller", "MaximumEntropyMarkovModel"}
LATER |= {"Enumeration", "JunctionTree", "RecursiveConditioning", "VariableElimination", "IndifferenceSearch"}
#: So do those that draw with their seed, stopping rules with their tolerance, and what reads these options.
OPEN = {f"{name}.seed" for name in ("AnnealedEM", "BeamEM", "PerturbedEM", "ReweightedEM", "SampleOptions")}
OPEN |= {f"{name}.tolerance" for name in ("ExtrapolatedGain", "ObjectiveGain", "ParameterChange", "ValidationGain")}
OPEN |= {f"ScoreOptions.{name}" for name in ("restarts", "tolerance", "num_draws", "burn_in", "num_candidates")}
OPEN |= {"ScoreOptions.max_entries", "BGe.wishart_degrees", "Limits.is_charged", "MaxProduct.reweighted"}
OPEN |= {"EdgeLogOdds.others", "Bootstrap.resamples"}


def _numeric_options():
    """(class, option) of all methods that can be made without arguments, for options that are numbers."""
    classes = {}
    for room in map(import_module, (f"plausible.{name}" for name in ROOMS)):
        classes |= {thing: None for name in dir(room) if inspect.isclass(thing := getattr(room, name))}
    for made in classes:
        if not is_dataclass(made) or inspect.isabstract(made) or made.__name__ in LATER:
            continue
        own = [field for field in fields(made) if field.init]
        if all(field.default is not MISSING or field.default_factory is not MISSING for field in own):
            kinds = {field.name: {part.strip() for part in str(field.type).split("|")} for field in own}
            yield from ((made, name) for name, kind in kinds.items() if kind & {"int", "float", "bool"})


OPTIONS = [(made, option) for made, option in _numeric_options() if f"{made.__name__}.{option}" not in OPEN]


@pytest.mark.parametrize(("made", "option"), OPTIONS, ids=lambda part: getattr(part, "__name__", part))
def test_no_option_takes_what_is_no_number(made, option):
    """NaN is neither a count nor a number within limits nor yes or no."""
    with pytest.raises(InvalidArgument):
        made(**{option: math.nan})


#: What a count of one, or a half, is too small for.
MORE = {"AnnealedImportance.num_particles": 2, "PerturbedEM.population": 2, "SampledLikelihood.num_samples": 2}
MORE |= {"SampleOptions.num_samples": 2, "ChainLengths.num_draws": 4, "BeamSearch.width": 1, "SquaredEM.longest": 1.0}
MORE |= {"OverrelaxedEM.growth": 1.5, "StandardBayesian.pseudo_count": 1.0, "DecompositionPrior.noise_weight": 1.5}
MORE |= {"PerturbationRestarts.growth": 1.0}


@pytest.mark.parametrize(("made", "option"), OPTIONS, ids=lambda part: getattr(part, "__name__", part))
def test_options_take_small_numbers(made, option):
    """A count of one, and a half of anything else, unless it is known why not."""
    kind = {field.name: str(field.type) for field in fields(made)}[option]
    usual = False if "bool" in kind else 1 if "int" in kind else 0.5
    given = MORE.get(f"{made.__name__}.{option}", usual)
    beside = {"integer": True} if option == "max_nodes" else {}
    assert getattr(made(**{option: given}, **beside), option) == given


def test_there_are_options_to_check():
    assert len(OPTIONS) > 100


ROWS = {"a": [0, 1] * 6, "b": [0, 0, 1, 1] * 3, "c": [0, 1, 1] * 4}
OIL = pb.examples.load("oil")
#: Functions as they are called with one option more.
CALLS = {
    pb.learn.em: (("a -> b -> c", ROWS), "restarts tolerance max_steps time_limit"),
    pb.learn.variational_bayes: (("a -> b -> c", ROWS), "restarts tolerance max_steps time_limit"),
    pb.learn.expectation_propagation: (("a -> b -> c", ROWS), "damping tolerance max_steps time_limit"),
    pb.learn.cluster_by_variational_bayes: ((ROWS,), "num_clusters"),
    pb.learn.choose_clusters: ((ROWS, [1]), "restarts"),
    pb.learn.find_hidden: ((ROWS, pb.DAG("a -> b; a -> c; b -> c")), "num_states max_groups restarts time_limit"),
    pb.learn.learn_latent_tree: ((ROWS,), "num_states restarts"),
    pb.learn.learn_selective_clustering: ((ROWS,), "num_clusters"),
    pb.learn.cross_validate: ((ROWS, "chow-liu"), "num_folds"),
    pb.learn.learning_curve: ((ROWS, "chow-liu", [5]), "repeats share"),
    pb.learn.recovery_curve: ((pb.examples.load("cancer"), "chow-liu", [20]), "repeats"),
    pb.learn.markov_blanket: ((ROWS, "a"), "alpha"),
    pb.learn.structure_from_blankets: ((ROWS,), "alpha"),
    pb.learn.parents_and_children: ((ROWS, "a"), "alpha max_given"),
    pb.learn.structure: ((ROWS,), "escapes time_limit"),
    pb.causal.fci: ((ROWS,), "max_path_length alpha max_given"),
    pb.causal.learn_responses: (("a -> b", ROWS), "num_draws burn_in num_chains"),
    pb.causal.response_evidence: (("a -> b", ROWS), "num_particles"),
    pb.decisions.utility_tornado: ((OIL,), "amount"),
    pb.decisions.count_plans: ((), "num_actions"),
}
#: Others that an option needs.
BESIDE = {pb.decisions.count_plans: {"sizes": [2]}}
ASKED = [(function, option) for function, (_, options) in CALLS.items() for option in options.split()]


@pytest.mark.parametrize(("function", "option"), ASKED, ids=lambda part: getattr(part, "__name__", part))
def test_no_function_takes_an_option_that_is_no_number(function, option):
    """The error names the option."""
    arguments, _ = CALLS[function]
    with pytest.raises(InvalidArgument, match=option):
        function(*arguments, **BESIDE.get(function, {}), **{option: math.nan})


@pytest.mark.parametrize(
    "estimator",
    [pb.learn.MixtureClustering(2), pb.learn.DirichletProcessMixture(), pb.learn.NaiveBayesClassifier()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_nothing_is_told_before_it_was_fitted(estimator):
    """Each method that needs no other class says so, whatever it is given."""
    asked = [name for name in dir(estimator) if not name.startswith(("_", "fit", "get_", "set_", "k_means"))]
    methods = [method for name in asked if callable(method := getattr(type(estimator), name, None))]
    assert len(methods) > 1
    for method in methods:
        needed = [part for part in inspect.signature(method).parameters.values() if part.default is part.empty]
        with pytest.raises(pb.learn.NotFitted):
            method(estimator, *[ROWS] * (len(needed) - 1))


@pytest.mark.parametrize(
    "learn",
    [pb.learn.em, pb.learn.parameters, pb.learn.parameter_posterior, pb.learn.variational_bayes],
    ids=lambda learn: learn.__name__,
)
def test_a_prior_for_a_variable_that_is_not_there_is_refused(learn):
    """By the name that is wrong, and with the one that may be meant."""
    with pytest.raises(UnknownVariable, match=r"'bb'.*'b'"):
        learn("a -> b", {"a": [0, 1, 1], "b": [1, 0, 1]}, {"bb": pb.learn.K2()})
