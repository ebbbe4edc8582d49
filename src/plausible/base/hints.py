"""What other libraries call a thing, and what to call here: for errors about names that are not there.

Pages of hints map a name that users of pgmpy, pyAgrum, bnlearn, networkx or scikit-learn would try to a sentence with
the right call. In the sentences `net`, `model` (one in time), `graph`, `factor`, `diagram`, `fit` and `result` stand
for the object, `pb` for `plausible`; tests check that every call exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from plausible.errors import UnknownAttribute, close_match, shortened

__all__ = [
    "DAG_HINTS",
    "DIAGRAM_HINTS",
    "DIRECTED_HINTS",
    "DYNAMIC_HINTS",
    "FACTOR_HINTS",
    "FIT_HINTS",
    "GAUSSIAN_HINTS",
    "GRAPH_HINTS",
    "MARKOV_HINTS",
    "NETWORK_HINTS",
    "PACKAGE_HINTS",
    "PLATE_HINTS",
    "RELATIONAL_HINTS",
    "RESULT_HINTS",
    "SEQUENCE_HINTS",
    "UNROLLED_HINTS",
    "Hinted",
    "HintedNames",
    "keyword_advice",
]


class Hinted:
    """A base for classes whose unknown attributes get advice: a hint for the name, or else close matches.

    `hasattr` stays false, and names that begin with an underscore, which protocols ask for, get Python's own error.

    >>> class Shape(Hinted):
    ...     _hints = {"area": "Use shape.size()."}
    ...     def size(self) -> float: ...
    >>> Shape().area
    Traceback (most recent call last):
        ...
    plausible.errors.UnknownAttribute: A Shape has no attribute 'area'. Use shape.size().
    >>> hasattr(Shape(), "area")
    False
    """

    __slots__ = ()

    _hints: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            if name.startswith("_") or any(name in vars(base) for base in kind.__mro__):
                return object.__getattribute__(self, name)  # raises again what went wrong inside of a property
            raise UnknownAttribute(kind, name, kind._hints.get(name, ""))


class HintedNames:
    """A base like `Hinted` for values that inner loops read: it advises on the names of its page only, at no cost.

    Python looks attributes up more slowly in a class with `__getattr__`, those too that are there; so each name of the
    page is an attribute which raises the advice. It is left out of `dir`; close matches are left to Python.

    >>> class Shape(HintedNames):
    ...     _hints = {"area": "Use shape.size()."}
    >>> Shape().area
    Traceback (most recent call last):
        ...
    plausible.errors.UnknownAttribute: A Shape has no attribute 'area'. Use shape.size().
    >>> hasattr(Shape(), "area"), "area" in dir(Shape())
    (False, False)
    """

    __slots__ = ()

    _hints: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, text in vars(cls).get("_hints", {}).items():
            if not hasattr(cls, name):
                setattr(cls, name, _Hint(name, text))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in self._hints]


class _Hint:
    """An attribute that is not there: reading it raises the advice."""

    __slots__ = ("_name", "_text")

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise UnknownAttribute(owner, self._name, self._text)


def _page(*pages: Mapping[str, str]) -> Mapping[str, str]:
    """One page of hints: each name of a key that lists several gets the same sentence; later pages win."""
    return {name: text for page in pages for names, text in page.items() for name in names.split()}


#: What other libraries call an argument -> what it may be called here.
_KEYWORDS = _page(
    {
        "variables variable query nodes": "targets names",
        "target class_node class_column": "class_variable targets",
        "observations observed given": "evidence",
        "intervention interventions": "do",
        "n size n_samples num_samples nrows": "num_rows",
        "random_state random_seed rng": "seed",
        "max_iter n_iter max_iterations num_iterations": "max_steps",
        "tol atol epsilon": "tolerance",
        "n_init n_restarts num_restarts": "restarts",
        "cv n_splits n_folds folds": "num_folds",
        "filename file filepath": "path",
        "pseudo_counts prior_type equivalent_sample_size": "prior",
        "scoring_method scoring": "score",
        "significance_level ci_alpha": "alpha",
        "ci_test": "test",
        "max_cond_vars": "max_given",
        "whitelist white_list fixed_edges required_edges": "required",
        "blacklist black_list forbidden_edges": "forbidden",
        "max_indegree": "max_parents",
    }
)
_PARTS_OF_KNOWLEDGE = ("required", "forbidden", "tiers", "max_parents")


def keyword_advice(name: str, known: Iterable[str], value: object = ...) -> str:
    """Which of the known keywords is meant by one that is not, in a sentence with a leading space; "" if none is.

    >>> keyword_advice("random_state", ["num_rows", "seed"])
    ' Use seed=.'
    >>> keyword_advice("max_indegree", ["score", "knowledge"], 2)
    ' It is part of what is known: give knowledge=Knowledge(max_parents=2).'
    """
    taken = list(known)
    for meant in _KEYWORDS.get(name, name).split():
        if meant in taken:
            return f" Use {meant}=."
        if meant in _PARTS_OF_KNOWLEDGE and "knowledge" in taken:
            shown = "..." if value is ... else shortened(value)
            return f" It is part of what is known: give knowledge=Knowledge({meant}={shown})."
    return close_match(name, taken)


_NEW_GRAPH = "A graph is a value and is not changed:"
_NEW_MODEL = "A network is a value and is not changed:"
_NO_COPY = "It is a value that can't be changed, so there is nothing to copy."
_ROWS = "For rows of a frame, compile once:"

GRAPH_HINTS = _page(
    {
        "add_edge add_edges_from addArc addEdge set_arc": f"{_NEW_GRAPH} graph.with_edge(a, b) gives a new one.",
        "add_node add_nodes_from addNode": f"{_NEW_GRAPH} graph.with_node(name) gives a new one.",
        "remove_edge remove_edges_from eraseArc drop_arc": f"{_NEW_GRAPH} graph.without_edge(a, b) gives a new one.",
        "remove_node remove_nodes_from eraseNode": f"{_NEW_GRAPH} graph.without_node(name) gives a new one.",
        "copy": _NO_COPY,
        "arcs": "The edges are graph.edges.",
        "names vertices variables": "The nodes are graph.nodes.",
        "has_node": "Write: name in graph.",
        "number_of_nodes order size": "Use graph.num_nodes.",
        "number_of_edges sizeArcs": "Use graph.num_edges.",
        "adj adjacency to_numpy adjacency_matrix": "Use graph.neighbors(node), or pb.graphs.adjacency_matrix(graph).",
        "get_neighbors": "Use graph.neighbors(node).",
        "plot draw show view to_svg": "Use graph.picture(), and its save('picture.svg'); or graph.to_dot().",
        "query predict fit": "A graph has no probabilities: pb.learn.parameters(graph, frame) gives a network.",
    },
)

DIRECTED_HINTS = _page(
    GRAPH_HINTS,
    {
        "predecessors get_parents": "Use graph.parents(node).",
        "successors get_children": "Use graph.children(node).",
        "get_ancestors": "Use graph.ancestors(node).",
        "get_descendants": "Use graph.descendants(node).",
        "in_degree": "Use len(graph.parents(node)).",
        "out_degree": "Use len(graph.children(node)).",
        "topological_sort topologicalOrder": "Use graph.topological_order.",
        "to_undirected": "Use graph.skeleton.",
    },
)

DAG_HINTS = _page(
    DIRECTED_HINTS,
    {
        "get_markov_blanket mb": "Use graph.markov_blanket(node).",
        "is_dconnected is_d_separator dsep active_trail_nodes": "Use graph.d_separated(x, y, given=z).",
    },
)

#: Of all models that have a graph.
_PART_HINTS = _page(
    {
        "nodes names vertices": "Use net.graph.nodes, or net.variables for what each has.",
        "edges arcs": "Use net.graph.edges.",
        "neighbors get_neighbors": "Use net.graph.neighbors(name).",
        "states state_names get_states": "Use net.variables[name].states.",
        "cardinality get_cardinality cardinalities": "Use net.variables[name].num_states.",
        "variable variableFromName": "Use net.variables[name].",
        "copy clone": _NO_COPY,
        "check_model": "There is nothing to check: a network that does not fit together can't be made.",
        "save write saveBIF to_file to_bif write_bif": "Use pb.save(net, 'model.bif'); the ending names the format.",
        "load read loadBIF from_file": "Use pb.load('model.bif').",
        "plot draw show view to_svg": "Use net.picture(evidence), and its save('picture.svg').",
        "to_dot to_graphviz": "Use net.graph.to_dot(), a text for Graphviz, or net.picture().",
        "name title": "Use net.notes.name.",
        "to_networkx": "Use net.graph.to_networkx().",
    },
)

_MODEL_HINTS = _page(
    _PART_HINTS,
    {
        "posterior marginal prob probability inference infer variable_elimination": (
            "Use net.query(names, evidence={name: state}), or net.log_probability(evidence)."
        ),
        "map_query most_probable_explanation": "Use net.mpe(evidence) for all, net.map(names, evidence) for some.",
        "predict predict_class": f"{_ROWS} net.compile().predict(frame, target).",
        "predict_proba predict_probability": f"{_ROWS} net.compile().predict_proba(frame, target).",
        "simulate generate forward_sample rvs random": "Use net.sample(1000, seed=0), which gives a frame.",
        "score": "Use net.log_likelihood(frame).",
        "to_junction_tree junction_tree": "Use net.compile(), or pb.graphs.junction_tree(net.graph).",
    },
)

#: Of all models that have a directed graph.
_FAMILY_HINTS = _page(
    {
        "parents get_parents predecessors": "Use net.graph.parents(name).",
        "children get_children successors": "Use net.graph.children(name).",
        "ancestors": "Use net.graph.ancestors(name).",
        "descendants": "Use net.graph.descendants(name).",
        "markov_blanket get_markov_blanket": "Use net.graph.markov_blanket(name).",
        "roots get_roots": "Use net.graph.roots.",
        "leaves get_leaves": "Use net.graph.leaves.",
        "topological_order topologicalOrder": "Use net.graph.topological_order.",
        "get_independencies local_independencies": "Use pb.graphs.local_independencies(net.graph).",
        "moralize": "Use net.graph.moralize().",
    },
)

NETWORK_HINTS = _page(
    _MODEL_HINTS,
    _FAMILY_HINTS,
    {
        "add_edge add_edges_from addArc set_arc": f"{_NEW_MODEL} net.with_edge(source, target) gives a new one.",
        "remove_edge remove_edges_from eraseArc": f"{_NEW_MODEL} net.without_edge(source, target) gives a new one.",
        "add_node add_nodes_from add add_cpds add_cpd": f"{_NEW_MODEL} net.with_cpd(cpd) gives a new one.",
        "remove_node remove_nodes_from erase": f"{_NEW_MODEL} net.without_variable(name) gives a new one.",
        "get_cpds cpt cpts get_cpd": "Use net.cpd(name), or net.cpds for all.",
        "fit fit_update estimate": "Use pb.learn.parameters(net, frame), which gives a new network.",
        "do intervention": "Use net.query(names, do={name: state}), or net.intervene({name: state}) for the network.",
        "is_dconnected active_trail_nodes dsep isIndependent": "Use net.d_separated(x, y, given=z).",
        "to_markov_model": "Use net.to_markov_network().",
    },
)

MARKOV_HINTS = _page(
    _MODEL_HINTS,
    {
        "add_factors add_factor": f"{_NEW_MODEL} net.with_factor(factor) gives a new one.",
        "remove_factors": "A network is a value and is not changed: net.without_factor(factor) gives a new one.",
        "get_factors": "Use net.factors.",
        "get_partition_function partition_function": "Use net.log_partition(), its logarithm.",
        "to_bayesian_model": "Use pb.models.to_bayesian_network(net).",
        "cpds cpd": "A Markov network has factors, not conditional distributions: net.factors.",
        "fit": "Learn a BayesianNetwork: pb.learn.parameters(graph, frame).",
    },
)

_LEARN_IN_TIME = "Use pb.learn.hmm, pb.learn.dynamic or pb.learn.linear_dynamical_system, which give a new model."
_HIDDEN = "Use model.smooth(rows) for what is hidden, model.forecast(rows) for what comes"
_QUERIES = "query posterior marginal marginals probability inference infer predict_proba posteriors"

SEQUENCE_HINTS = _page(
    {
        _QUERIES: f"{_HIDDEN}.",
        "fit train estimate baum_welch EM": _LEARN_IN_TIME,
        "score score_samples logpdf loglike": "Use model.log_likelihood(rows); log_likelihoods is of each sequence.",
        "decode viterbi map map_query most_probable_explanation": "Use model.mpe(rows), the most probable course.",
        "simulate generate rvs random forward_sample": "Use model.sample(100, seed=0), which gives a frame.",
        "save write to_file": "Use pb.save(model, 'model.json').",
        "load read from_file": "Use pb.load('model.json').",
        "plot draw show view to_svg": "Use model.picture(), and its save('picture.svg').",
        "copy clone": _NO_COPY,
    },
)

UNROLLED_HINTS = _page(
    SEQUENCE_HINTS,
    {_QUERIES: f"{_HIDDEN}, or a network over so many steps: model.unroll(5).query(names, evidence={{name: state}})."},
)

RELATIONAL_HINTS = _page(
    {
        "fit train estimate learn": "Use pb.learn.relational(schema, tables), which gives a fit with its .model.",
        "posterior infer inference": "Use model.query(names, tables=tables) or model.predict_proba(tables, attribute).",
        "score loglike": "Use model.log_likelihood(tables).",
        "unroll to_bayesian_network instantiate": "Use model.ground(tables), an ordinary BayesianNetwork.",
        "simulate generate rvs": "Use model.sample(tables, seed=0), which gives tables.",
        "add_cpds add_cpd": f"{_NEW_MODEL} model.with_cpd(cpd) gives a new one.",
        "save write to_file": "Use pb.save(model, 'model.json').",
        "load read_file": "Use pb.load('model.json').",
        "copy clone": _NO_COPY,
    },
)

PLATE_HINTS = _page(
    {
        "fit train estimate learn": "Use pb.learn.relational(model.relational_model, model.tables); "
        "model.with_distributions takes what it finds.",
        "posterior infer inference": "Use model.query(names, evidence={name: state}).",
        "score loglike log_probability": "Use model.log_likelihood(evidence).",
        "ground to_bayesian_network instantiate": "Use model.unroll(), an ordinary BayesianNetwork.",
        "sample simulate generate rvs": "Use model.unroll().sample(100, seed=0).",
        "save write to_file": "Use pb.save(model, 'model.json').",
        "load read_file": "Use pb.load('model.json').",
        "copy clone": _NO_COPY,
    },
)

DYNAMIC_HINTS = _page(
    _PART_HINTS,
    _FAMILY_HINTS,
    UNROLLED_HINTS,
    {
        "fit estimate": "Use pb.learn.dynamic(graph, rows), which gives a new network.",
        "add_cpds add_cpd": f"{_NEW_MODEL} net.with_cpd(cpd) gives a new one.",
        "get_cpds get_cpd cpds cpd": "Use net.transition, or net.initial for the first slices.",
        "do intervention intervene": "Use net.smooth(rows, do={name: state}); {'X[5]': state} sets one slice.",
    },
)

FACTOR_HINTS = _page(
    {
        "variables get_scope state_names": "Use factor.scope, or factor.names for the names alone.",
        "cardinality get_cardinality": "Use factor.shape.",
        "get_value get item": "Write factor[state], or factor[{name: state}].",
        "p prob probability probabilities toarray to_numpy tolist": "Use factor.values, or write factor[state].",
        "items keys": "Use factor.to_dict().",
        "df to_dataframe to_pandas": "Use factor.to_frame(), or factor.to_series().",
        "product multiply": "Write factor * other.",
        "divide": "Write factor / other.",
        "marginalise sum_out margSumOut": "Use factor.marginalize(names).",
        "margMaxOut max_out": "Use factor.maximize(names).",
        "idxmax most_probable": "Use factor.argmax().",
        "copy": _NO_COPY,
    },
)

GAUSSIAN_HINTS = _page(
    {
        "query predict condition": "Use factor.reduce({name: number}).marginal(names), and its to_moments().",
        "posterior": "Use factor.reduce({name: number}).to_moments().",
        "mean covariance variance": "Use factor.to_moments(), which has the mean and the covariance matrix.",
        "marginals": "Use factor.marginal(names).to_moments().",
        "graph edges nodes": "A density has no graph: an edge is where factor.K is not zero.",
        "mpe map": "Use factor.argmax().",
        "precision": "It is factor.K.",
        "copy": _NO_COPY,
    },
)

DIAGRAM_HINTS = _page(
    {
        "nodes names": "Use diagram.graph.nodes, or diagram.variables for what each has.",
        "edges arcs": "Use diagram.graph.edges.",
        "query posterior": "Use diagram.network(strategy), whose query(names, evidence) answers.",
        "mpe map": "Use diagram.solve().strategy for the best decisions.",
        "optimal_decision optimalDecision optimal_policy policy makeInference": "Use diagram.solve().strategy.",
        "maximum_expected_utility MEU meu": "Use diagram.solve().expected_utility.",
        "utility": "Use diagram.utilities.",
        "voi evpi value_of_perfect_information": "Use diagram.value_of_information(names, decision).",
        "add_edge addArc": "A diagram is a value and is not changed: diagram.with_information(...) gives a new one.",
        "save write": "Use pb.save(diagram, 'model.json').",
        "plot draw show view to_svg": "Use diagram.picture(), and its save('picture.svg'); or diagram.to_dot().",
    },
)

RESULT_HINTS = _page(
    {
        "edges arcs": "Use result.graph.edges.",
        "nodes": "Use result.graph.nodes.",
        "dag model structure best_model": "Use result.graph, or result.network() with parameters.",
        "cpds query predict sample fit": "Ask the network, with parameters of the same data: result.network().",
    },
)

FIT_HINTS = _page(
    {
        "edges arcs": "Use fit.network.graph.edges.",
        "nodes": "Use fit.network.graph.nodes.",
        "graph dag": "Use fit.network.graph.",
        "model cpds query predict sample": "Ask the network: fit.network.",
    },
)

_LOAD = "Use pb.load('model.bif'); the ending names the format."
_SAVE = "Use pb.save(net, 'model.bif'); the ending names the format."
_PARAMETERS = "Use pb.learn.parameters(graph, frame, prior=pb.BDeu(10)); pb.learn.structure(frame) learns a graph."
_STRUCTURE = "Use pb.learn.structure(frame, method='hill-climbing'); 'tabu', 'chow-liu', 'ges' and 'mmhc' are others."
_ASK = "Ask the network: net.query(names, evidence={name: state}), or net.compile() for many questions."
_EFFECT = "Use pb.causal.estimate_effect for data, net.query(outcome, do={treatment: state}) for a network."

_FILE_HINTS = {
    "read_bif readBIF BIFReader XMLBIFReader XDSLReader NETReader UAIReader loadBN load_model read_model": _LOAD,
    "write_bif writeBIF BIFWriter XMLBIFWriter XDSLWriter NETWriter UAIWriter saveBN save_model": _SAVE,
}
_LEARNING_HINTS = {
    "fit estimate mle MaximumLikelihoodEstimator BayesianEstimator MLE BNLearner parameter_learning": _PARAMETERS,
    "HillClimbSearch HillClimb hc hill_climbing TreeSearch ExhaustiveSearch structure_learning": _STRUCTURE,
    "GES ges mmhc MmhcEstimator chow_liu tabu": _STRUCTURE,
    "PC": "Use pb.learn.pc(frame).",
    "ExpectationMaximization expectation_maximization EM": "Use pb.learn.em(graph, frame).",
}
_ENGINE_HINTS = {
    "query infer BeliefPropagation LazyPropagation ShaferShenoyInference": _ASK,
    "cpdist": "Use net.sample(1000, seed=0, evidence={name: state}), which gives a frame.",
    "GibbsSampling GibbsSampler": "Use net.query(names, engine=pb.Gibbs()).",
    "LoopyBeliefPropagation": "Use net.query(names, engine=pb.LoopyBP()).",
    "cpquery": "Use net.query(names, evidence={name: state}), which is exact; engine=pb.LikelihoodWeighting() samples.",
    "BayesianModelSampling ForwardSampling": "Use net.sample(1000, seed=0), which gives a frame.",
}
_CAUSAL_HINTS = {
    "effect ate ATE causal_effect average_treatment_effect estimate_ate": _EFFECT,
    "CausalInference CausalModel doCalculus": "Use pb.causal.identify(graph, outcome, treatment).",
}

#: Package -> the page of its module: names of functions and classes that other libraries have.
PACKAGE_HINTS: Mapping[str, Mapping[str, str]] = {
    "plausible": _page(
        {**_FILE_HINTS, **_LEARNING_HINTS, **_ENGINE_HINTS, **_CAUSAL_HINTS},
        {
            "read_csv": "Read it with pandas, or give its name: pb.learn.structure('rows.csv').",
            "TabularCPD DiscreteCPD CPT": "Use pb.TableCPD(name, values, parents=[...]); the last axis is its own.",
            "DiscreteFactor": "Use pb.Factor({name: states}, values).",
            "MarkovModel DiscreteMarkovNetwork MRF": "Use pb.MarkovNetwork(factors).",
            "LinearGaussianBayesianNetwork": "Use pb.BayesianNetwork, with CPDs such as pb.LinearGaussianCPD.",
            "HMM GaussianHMM GMMHMM CategoricalHMM MultinomialHMM hmm": (
                "Use pb.HiddenMarkovModel, with pb.GaussianEmission for numbers; pb.learn.hmm(rows, 2) learns one."
            ),
            "KalmanFilter Kalman UnscentedKalmanFilter": (
                "Use pb.LinearDynamicalSystem, and its filter(rows); pb.learn.linear_dynamical_system learns one."
            ),
            "NaiveBayes": "Use pb.learn.NaiveBayesClassifier.",
            "get_example_model load_example": "Use pb.examples.load('asia').",
        },
    ),
    "plausible.learn": _page(_LEARNING_HINTS, {"learn": _PARAMETERS, "query predict": _ASK}),
    "plausible.causal": _page(
        _CAUSAL_HINTS,
        {
            "estimate": _EFFECT,
            "do intervene intervention": "Use net.query(names, do={name: state}), or net.intervene({name: state}).",
            "backdoor backdoor_sets get_all_backdoor_adjustment_sets get_minimal_adjustment_set": (
                "Use pb.causal.adjustment_sets(graph, outcome, treatment)."
            ),
            "frontdoor get_all_frontdoor_adjustment_sets": "Use pb.causal.front_door_set(graph, outcome, treatment).",
        },
    ),
    "plausible.inference": _page(_ENGINE_HINTS),
    "plausible.decisions": _page({"solve optimal_policy LIMIDInference": "Ask the diagram: diagram.solve()."}),
    "plausible.examples": _page(
        {"asia alarm cancer sachs child insurance get_example_model": "Use pb.examples.load(name), as with 'asia'."}
    ),
}
