"""From a file of data: `plausible learn` (a network) and `cluster` (rows by clusters)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from plausible.base import Call
from plausible.cli import options
from plausible.cli.charts import check_plot, save_plot
from plausible.cli.commands import command
from plausible.cli.data import ClusterColumns, open_data, read_data
from plausible.cli.graph_learning import LearnedGraph, Search, remove_stages, stage, time_left, told_samples
from plausible.cli.options import argument, option
from plausible.cli.output import (
    check_one_reader,
    input_name,
    is_standard,
    output_name,
    picked,
    print_answer,
    print_json,
    print_line,
)
from plausible.cli.relations import check_alone, learn_relations
from plausible.cli.sequences import TimedLearning, learn_in_time
from plausible.cli.source import MODEL_ENDINGS, check_target, read_graph, save_model
from plausible.cli.tables import check_output, new_table
from plausible.cli.terminal import progress_bar
from plausible.cli.undirected import learn_undirected, tell_undirected
from plausible.data import Statistics, Stream, Table
from plausible.data.stream_statistics import for_learning
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, counted, suggestion, warn_caller
from plausible.graphs import DAG
from plausible.learn.costs import LearningCost
from plausible.learn.costs import explain as explain_learner
from plausible.learn.estimation.families import UnidentifiedParameters
from plausible.learn.estimation.priors import LIGHT_PRIOR, read_prior
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_structures.available import complete_rows, complete_rows_of
from plausible.learn.learned_parameters import fit_from_data
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.mixtures.comparison import ClusterChoice, choose_clusters
from plausible.learn.mixtures.reports import cluster_profiles
from plausible.learn.scores.reading import SCORES
from plausible.learn.structure_methods import METHODS
from plausible.learn.structures.knowledge import Knowledge
from plausible.models import BayesianNetwork
from plausible.search.checkpoint import StayingFile
from plausible.search.run import Clock
from plausible.variables import Variable

Method = Annotated[
    str | None,
    option(
        f"How the graph is found: {', '.join(METHODS)}, or by tests of independence: pc.", show_default="hill-climbing"
    ),
]
ScoreName = Annotated[
    str | None,
    option(
        f"By which graphs are judged: {', '.join(SCORES)}.",
        show_default="of the kind that fits the data, bic; for chow-liu and tan the log-likelihood",
    ),
]

#: What each treatment of empty cells does, and what it takes for granted.
_ASSUMED = {
    "sem": "completed by structural EM, taken to be missing at random",
    "available": "each family counted where it is complete, taken to be missing completely at random",
    "pairwise": "each pair counted where it is complete, taken to be missing completely at random",
    "complete-rows": "rows with them left out, taken to be missing completely at random",
}
_COMPLETED_BY_EM = "completed by EM, taken to be missing at random"

#: What `learn --schema` takes.
_OF_TABLES = (
    "output", "schema", "score", "prior", "max_parents", "restarts", "seed", "time_limit", "format", "progress",
    "as_json",
)  # fmt: skip


def _variables_words(call: Call) -> str:
    """How a schema file names the variable of a column that a schema would leave out."""
    return f'{next(iter(call.arguments[0].value))!r} = "numbers" in [variables] of the schema file'


#: More runs of EM, from random tables, where variables are hidden.
_RESTARTS = 5


@command(
    examples=(
        "plausible sample asia -n 1000 --seed 1 -o data.csv",
        "plausible learn data.csv -o net.json",
        "plausible learn data.csv --explain",
        "plausible learn data.csv -o net.bif --method tabu --score bdeu --prior bdeu:10 --required 'smoke -> lung'",
        "plausible learn data.csv -o net.json --method mmhc --tiers 'asia smoke | tub lung bronc'",
        "plausible learn data.csv -o net.json --method tan --class lung",
        "plausible learn data.csv -o net.json --method pc --alpha 0.01 --variant conservative",
        "plausible learn data.csv -o net.json --missing available",
        "plausible learn data.csv -o net.json --bootstrap 10 --time-limit 60 --plot strengths.svg",
        "plausible learn data.csv -o net.json --graph 'smoke -> lung -> xray' --prior k2",
        "plausible learn data.csv -o net.json --graph 'H -> lung; H -> bronc' --hidden H=2",
        "plausible learn days.csv -o weather.json --hidden-states 2 --sequence town --time day",
        "plausible learn days.csv -o dynamic.json --graph 'umbrella[-1] -> umbrella' --sequence town --time day",
        "plausible learn data.csv -o net.json --markov",
        "plausible learn data.csv -o net.uai --markov --graph 'smoke - lung - dysp - bronc - smoke' --prior gaussian:1",
        "plausible learn --schema schema.toml -o university.json",
    ),
    words={"Schema": _variables_words},
)
def run_learn(
    data: Annotated[
        Path | None,
        argument("A CSV or Parquet file with a row for each case, or - for standard input; not with --schema."),
    ] = None,
    output: Annotated[
        Path | None, option("The network to write; its ending is the format. Or -.", "--output", "-o")
    ] = None,
    method: Method = None,
    score: ScoreName = None,
    prior: Annotated[
        str | None,
        option(
            "Of the tables: bdeu:10, dirichlet:1, k2; with --markov gaussian:1, laplace:0.5; or none.",
            show_default=f"bdeu:{LIGHT_PRIOR.equivalent_sample_size:g}; with --markov none",
        ),
    ] = None,
    markov: Annotated[
        bool,
        option(
            "An undirected network: --method l1, chow-liu, chordal, tests, greedy, neighbourhood; --graph 'A - B - C'.",
            "--markov",
        ),
    ] = False,
    graph: Annotated[
        str | None,
        option(
            "The graph, 'A -> B <- C' or the file of a network, where only its numbers are to be learned; of rows in "
            "time, 'A[-1] -> A -> B'."
        ),
    ] = None,
    required: Annotated[str, option("Edges that the graph must have: 'A -> B; A -> C'.")] = "",
    forbidden: Annotated[str, option("Edges that it must not have.")] = "",
    tiers: Annotated[str, option("Causes before effects: 'A B | C D' has no edge from C or D to A or B.")] = "",
    max_parents: Annotated[int | None, option("No variable has more.", min=0)] = None,
    class_variable: Annotated[str | None, option("What is to be predicted, for --method tan.", "--class")] = None,
    order: Annotated[str | None, option("All variables, causes before effects, for --method k2: 'A B C'.")] = None,
    alpha: Annotated[float | None, option("The level of tests, for --method pc or mmhc.", show_default="0.05")] = None,
    variant: Annotated[
        str | None, option("Of --method pc: majority, conservative, stable or original.", show_default="majority")
    ] = None,
    weights: options.WeightsColumn = None,
    cluster: options.Cluster = None,
    sequence: options.SequenceColumn = None,
    time: options.TimeColumn = None,
    gaps: options.Gaps = "refuse",
    schema: options.SchemaFile = None,
    restarts: Annotated[int | None, option("With --schema: how often EM, or the search, begins anew.", min=0)] = None,
    hidden_states: Annotated[
        int | None, option("Rows are steps in time: learn a hidden Markov model with so many states.", min=1)
    ] = None,
    latent: Annotated[
        int | None, option("Rows are steps in time: learn a linear dynamical system with so many numbers.", min=1)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        option("A file that says how far learning is, so that the same command goes on after it was killed."),
    ] = None,
    bootstrap: Annotated[
        int, option("Learn again from so many samples of the rows: how sure is each edge?", min=0)
    ] = 0,
    seed: options.Seed = 0,
    time_limit: Annotated[
        float | None, option("Seconds after which searches stop, those of --bootstrap too.", min=0)
    ] = None,
    missing: Annotated[
        str, option("Empty cells: sem (completed by a model), available, pairwise or complete-rows.")
    ] = "sem",
    hidden: Annotated[
        list[str] | None,
        option("A variable of --graph that the data lack, and how many states it has: H=2; repeat it."),
    ] = None,
    format: Annotated[
        str | None, option("The format to write, where the ending does not tell.", show_default="json for -")
    ] = None,
    na: options.MissingMarkers = None,
    continuous: options.ContinuousColumns = None,
    states: options.StateColumns = None,
    plot: options.Plot = None,
    explain: Annotated[
        bool, option("Print what learning would cost, in passes, bytes and time, instead of doing it.", "--explain")
    ] = False,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
) -> None:
    """Learn a network from data: its graph, then its numbers.

    The graph is found by a search, unless it is given; tables and densities follow. Columns of fractional numbers are
    continuous; all others have the states that occur, whole numbers too (1.0 is one if there are at most 20 different
    numbers, all whole); --continuous and --states say otherwise. Ids, dates and other columns with a value of its own
    for most rows are left out of a search, unless an option names them. --bootstrap tells in what share of the samples
    each edge was found, in either direction and in the one it has. Empty cells are missing: --missing says how a search
    counts them; tables are then learned by EM, unless rows with empty cells are dropped. --plot draws how sure edges
    are, with --bootstrap; else how the search, or EM for hidden variables, went. --explain tries it on a few rows.
    --checkpoint writes a file every few seconds, and others beside it (.samples, .em): the same command goes on from
    there to the same answer; they are removed when all is done, and stay where --time-limit ended it.
    --schema learns a relational model from tables that refer to one another: a file in TOML has [tables] (class = file)
    and [keys] ("registration.student" = "student"), and may have [variables], [parents], without which dependencies are
    searched for, [hidden], [inverse], and above them the lists inputs, acyclic, existence and missing_values.
    """
    if schema is not None:
        check_alone(run_learn, locals(), _OF_TABLES)
    elif data is None:
        raise InvalidArgument("Name the file of data, as in: plausible learn data.csv -o net.json; or a --schema.")
    elif restarts is not None:
        raise InvalidArgument("--restarts is for the tables of a --schema: leave it out.")

    def search() -> Search:
        groups = [_names(tier) for tier in tiers.split("|")] if tiers.strip() else []
        knowledge = Knowledge(required, forbidden, groups, max_parents)
        named = None if order is None else _names(order)
        return Search(method or "hill-climbing", score, knowledge, class_variable, named, alpha, variant, seed, missing)

    check_plot(plot)
    check_one_reader({"DATA": data, "--graph": graph})
    slices = graph if graph is not None and "[-" in graph else None
    if explain:
        if any(one is not None for one in (hidden_states, latent, slices, states)) or markov or is_standard(data):
            raise InvalidArgument(
                "--explain tells what directed networks of a file cost, without --markov, --states and rows in time."
            )
        rows = Stream(data, map(Variable, continuous or ()), weights=weights, missing_values=na)
        unseen = _hidden(hidden or (), lambda name: False, graph)
        way = search() if graph is None else _given_graph(graph, rows.names, unseen)
        believed = read_prior(prior) if prior else LIGHT_PRIOR
        cost = _cost(rows, way, believed, unseen, bootstrap, seed, Clock.of(time_limit))
        print_answer(str(cost), cost.to_dict(), as_json=as_json)
        return
    if output is None:
        raise InvalidArgument("Say where the network goes: --output net.json, or --output - for standard output.")
    check_target(output, format)
    if schema is not None:
        options: dict[str, Any] = {"score": score, "max_parents": max_parents, "restarts": restarts}
        learn_relations(schema, output, format, prior, progress, as_json, seed=seed, time_limit=time_limit, **options)
        return
    assert data is not None
    columns = open_data(data, cluster, missing_values=na, continuous=continuous, states=states)
    is_in_time = any(what is not None for what in (hidden_states, latent, slices))
    if checkpoint is not None and (method == "pc" or markov or is_in_time):
        raise InvalidArgument(
            "--checkpoint keeps searches by score, samples of the rows and EM: there is nothing to keep with --method "
            "pc, with --markov and of rows in time. Leave it out."
        )
    if is_in_time:
        if isinstance(columns, ClusterColumns):
            raise InvalidArgument(
                "Rows in time are learned from where they are all together, as no sequence is cut where files end: "
                "leave --cluster out."
            )
        if sum(what is not None for what in (hidden_states, latent, slices)) > 1:
            raise InvalidArgument("Give one of --hidden-states, --latent and a --graph over slices of time.")
        places = {"sequence": sequence, "time": time, "gaps": gaps}
        wanted = TimedLearning(hidden_states, latent, slices, _hidden(hidden or (), columns.has_values, graph), places)
        learn_in_time(columns, wanted, output, format, seed, time_limit, plot, progress, as_json)
        return
    if sequence is not None or time is not None:
        raise InvalidArgument(
            "--sequence and --time are for rows in time: say what to learn, as in --hidden-states 3, --latent 2 or "
            "--graph 'rain[-1] -> rain'."
        )
    if markov:
        others = (score, tiers, class_variable, order, alpha, variant, bootstrap, hidden, max_parents)
        if any(option not in (None, "", 0) for option in others):
            raise InvalidArgument(
                "--markov takes --graph, --method, --required, --forbidden and --prior, no other limits."
            )
        undirected = columns.rows(columns.names, weights)
        allowed = {"method": method, "required": required, "forbidden": forbidden, "seed": seed}
        learned = learn_undirected(undirected, graph, allowed, prior, time_limit, progress)
        save_plot(plot, learned["draw"])
        tell_undirected(learned, output, format, as_json=as_json)
        return
    clock, believed = Clock.of(time_limit), read_prior(prior) if prior else LIGHT_PRIOR
    unseen = _hidden(hidden or (), columns.has_values, graph)
    given = None if graph is None else _given_graph(graph, columns.names, unseen)
    used = [name for name in columns.names if given is None or name in given or name == weights]
    whole = columns.rows([name for name in used if name not in unseen], weights)
    if given is None and not isinstance(whole, Table):
        whole = whole.for_learning(search().named)
    assumed = _assumption(whole, missing, has_graph=given is not None)
    table: Table | Statistics = whole
    if whole.missing and missing == "complete-rows":
        table = complete_rows(whole) if isinstance(whole, Table) else complete_rows_of(whole)
    if given is None:
        searching = search()
        table = for_learning(table, searching.named)
        with progress_bar(f"learning from {input_name(data.name)}", progress) as advance:
            found = searching.learn(table, bootstrap, clock, advance, checkpoint)
    else:
        limits = (method, score, required, forbidden, tiers, class_variable, order, variant, bootstrap)
        if any(limits) or max_parents is not None or alpha is not None:
            raise InvalidArgument(
                "--graph gives the graph, so that --method, --score, --bootstrap and limits of a search have no effect."
            )
        found = LearnedGraph(given, "graph given")
    network, found, num_open = _with_numbers(found, table, believed, unseen, seed, clock, stage(checkpoint, "em"))
    save_model(network, output, format)
    if checkpoint is not None and not clock.is_over:
        remove_stages(checkpoint)
    save_plot(plot, found.drawn)
    facts = {
        "output": str(output),
        "rows": table.num_rows,
        "score": found.score,
        "score_name": found.score_name,
        "missing": assumed,
        "unidentified_rows": num_open,
    }
    _tell(facts, found, output, bootstrap, as_json=as_json)


def _cost(
    rows: Stream, way: Search | DAG, believed: Any, unseen: Mapping[str, int], bootstrap: int, seed: int, clock: Clock
) -> LearningCost:
    """What it costs to find a graph, where none is given, and its numbers."""

    def learn(data: Any, graph: DAG | None = None) -> None:
        if graph is not None or not isinstance(way, Search):
            found = LearnedGraph(graph or DAG(), "")
        else:
            if bootstrap and not isinstance(data, Table):
                raise NotSupported("Samples of the rows are drawn from a table.")
            data = complete_rows_of(data) if way.missing == "complete-rows" else data
            found = way.learn(data, bootstrap, clock, lambda *told: None)
        _with_numbers(found, data, believed, unseen, seed, clock)

    return explain_learner(learn, rows) if isinstance(way, Search) else explain_learner(learn, rows, graph=way)


def _hidden(texts: Iterable[str], has_values: Callable[[str], bool], graph: str | None) -> dict[str, int]:
    """Name -> number of states, from texts such as H=2."""
    unseen = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not size.isdecimal() or int(size) < 1:
            raise InvalidArgument(f"--hidden {text!r}: expected a name and its number of states, such as H=2.")
        if graph is None:
            raise InvalidArgument(f"--hidden {text!r} is a variable of a graph: give that, too, with --graph.")
        if has_values(name):
            raise InvalidArgument(
                f"--hidden {text!r}: {name!r} has values in the data. Leave the option out, and its empty cells are "
                "completed; or leave the column out."
            )
        unseen[name] = int(size)
    return unseen


def _given_graph(text: str, columns: Collection[str], unseen: Collection[str]) -> DAG:
    """The graph that arrow text spells, or that of the network in a file."""
    is_file = is_standard(text) or Path(text).is_file() or text.lower().endswith(MODEL_ENDINGS)
    graph = read_graph(text) if is_file and text not in columns else DAG(text)
    shape = "--graph is one such as 'A -> B <- C; D', of names of columns, or the file of a Bayesian network"
    if not isinstance(graph, DAG):
        raise InvalidArgument(f"The graph of {text!r} has no directions: {shape}.")
    for name in graph.nodes:
        if name not in columns and name not in unseen:
            problem = UnknownVariable.named(name, [*columns, *unseen], "the data")
            raise UnknownVariable(f"{problem} {shape}; if {name!r} is hidden, say so: --hidden {name}=2.")
    return graph


def _with_numbers(
    found: LearnedGraph,
    table: Table | Statistics,
    believed: Any,
    unseen: Mapping[str, int],
    seed: int,
    clock: Clock,
    checkpoint: StayingFile | None = None,
) -> tuple[BayesianNetwork, LearnedGraph, int]:
    """The network, how its graph was found, and how many rows of tables no data say anything of."""
    if unseen:
        options: dict[str, Any] = {"restarts": _RESTARTS, "seed": seed, "time_limit": time_left(clock)}
        learned = learn_em(found.graph, table, believed, hidden=unseen, checkpoint=checkpoint, **options)
        network, num_open = learned.network, 0
        how = f"the best of {counted(len(learned.runs), 'run')} of EM, {learned.stopped_by}"
        found = replace(found, text=f"graph given; {', '.join(unseen)} hidden: {how}", trace=learned.plot)
    else:
        fit, _ = fit_from_data(found.graph, table, believed, checkpoint=checkpoint)
        if fit.unidentified:
            names = ", ".join(map(repr, islice(fit.unidentified, 5))) + (", ..." if len(fit.unidentified) > 5 else "")
            prior_too = "a prior, such as --prior bdeu:10, or " if believed is None else ""
            warn_caller(
                f"There is no data for {counted(fit.num_unidentified, 'row')} of {names}, filled in evenly. "
                f"Give {prior_too}more rows.",
                UnidentifiedParameters,
            )
        network, num_open = fit.network, fit.num_unidentified
    return network, found, num_open


def _tell(facts: Mapping[str, Any], found: LearnedGraph, output: Path, bootstrap: int, *, as_json: bool) -> None:
    edges = _edges(found)
    if as_json:
        samples = {"bootstrap_samples": found.num_samples} if bootstrap else {}
        document = {**facts, **samples, "variables": len(found.graph), "edges": edges}
        print_json(document, error=is_standard(output))
        return
    variables, rows = counted(len(found.graph), "variable"), counted(facts["rows"], "row")
    lines = [f"{output_name(output)}: {variables} written, learned from {rows}", found.text]
    lines += [facts["missing"]] if facts["missing"] else []
    lines += [told_samples(found.num_samples, bootstrap)] if bootstrap else []
    for edge in edges:
        note = f"  {edge['strength']:.0%}, as directed {edge['as_directed']:.0%}" if "strength" in edge else ""
        either = "" if edge["directed"] else "  (the data fit either direction)"
        lines.append(f"  {edge['parent']} -> {edge['child']}{note}{either}")
    print_line("\n".join(lines), error=is_standard(output))


def _assumption(table: Table | Statistics, missing: str, *, has_graph: bool) -> str | None:
    """What is assumed of missing cells, in words; `None` where there are none."""
    if missing not in _ASSUMED:
        raise InvalidArgument(f"--missing {missing!r} is nothing to do about cells.{suggestion(missing, _ASSUMED)}")
    if has_graph and missing in ("available", "pairwise"):
        raise InvalidArgument(
            f"--missing {missing} is how a search counts, and --graph gives the graph: take --missing sem, by which EM "
            "completes empty cells, or --missing complete-rows."
        )
    if not table.missing:
        return None
    number = sum(table.missing.values())
    assumed = _COMPLETED_BY_EM if has_graph and missing == "sem" else _ASSUMED[missing]
    return f"{counted(number, 'cell')} {'is' if number == 1 else 'are'} missing: {assumed}"


def _names(text: str) -> list[str]:
    """Names between spaces or commas."""
    return text.replace(",", " ").split()


def _edges(found: LearnedGraph) -> list[dict[str, Any]]:
    """For each edge its ends, whether its direction was found, and its strengths."""
    edges = []
    for parent, child in ((str(parent), str(child)) for parent, child in found.graph.edges):
        edge: dict[str, Any] = {"parent": parent, "child": child, "directed": (parent, child) not in found.undirected}
        if found.strengths is not None:
            edge["strength"] = round(found.strengths.strength(parent, child), 6)
            edge["as_directed"] = round(found.strengths.edge(parent, child), 6)
        edges.append(edge)
    return edges


@command(
    examples=(
        "plausible sample gaussian-chain -n 300 --seed 1 -o data.csv",
        "plausible cluster data.csv -k 3 -o assignments.csv",
        "plausible cluster data.csv --choose 1:5 --criterion bic --covariance diagonal --network mixture.json",
    )
)
def run_cluster(
    data: options.DataFile,
    clusters: Annotated[int | None, option("How many clusters.", "-k", "--clusters", min=1)] = None,
    choose: Annotated[str | None, option("Choose their number in a range, both ends included: 1:10.")] = None,
    criterion: Annotated[str, option("By which it is chosen: bic, icl, aic, holdout, or cheeseman-stutz.")] = "bic",
    covariance: Annotated[
        str, option("Of numbers within a cluster: full, tied, diagonal, spherical, or unit.")
    ] = "full",
    hard: Annotated[bool, option("Each row counts in one cluster only, as in k-means.", "--hard")] = False,
    output: Annotated[
        Path | None, option("A CSV or Parquet file for the cluster of each row, or -.", "--output", "-o")
    ] = None,
    network: Annotated[
        Path | None, option("Write the mixture as a network; the ending is the format, and - is JSON.")
    ] = None,
    restarts: Annotated[int, option("Further runs from other starts.", min=0)] = 2,
    seed: options.Seed = 0,
    top: Annotated[int, option("How many features are told of each cluster.", min=0)] = 5,
    format: options.TableFormat = None,
    na: options.MissingMarkers = None,
    continuous: options.ContinuousColumns = None,
    states: options.StateColumns = None,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
) -> None:
    """Find clusters of rows, and tell what sets them apart.

    Cells may be missing. Columns of fractional numbers are Gaussian in each cluster; all others have the states that
    occur, whole numbers too (1.0 is one if there are at most 20 different numbers, all whole); --continuous and
    --states say otherwise.
    """
    if (clusters is None) == (choose is None):
        raise InvalidArgument("Say how many clusters with -k 3, or in which range to choose with --choose 1:10.")
    if output is not None:
        check_output(output, format, data)
        if is_standard(output) and is_standard(network):
            raise InvalidArgument("--output and --network are both -, standard output: name a file for one of them.")
    if network is not None:
        check_target(network)
    table = read_data(data, missing_values=na, continuous=continuous, states=states)
    options: dict[str, Any] = {"covariance": covariance, "assignment": "hard" if hard else "soft"}
    options |= {"restarts": restarts, "seed": seed}
    with progress_bar(f"clusters of {input_name(data)}", progress) as advance:
        if choose is None:
            choice, found = None, MixtureClustering(clusters or 1, **options).fit(table)
        else:
            numbers = _range(choose)
            choice = choose_clusters(
                table, numbers, criterion, progress=lambda s: advance(s.num_clusters / numbers[-1]), **options
            )
            found = choice.clustering
    if output is not None:
        shares = found.predict_proba(table).max(axis=1)
        with new_table(output, {"cluster": int, "probability": float}, format) as writer:
            writer.write({"cluster": found.labels_.tolist(), "probability": shares.tolist()})
    if network is not None:
        save_model(found.to_network(), network)
    _tell_fit(found, choice, top, as_json=as_json, error=is_standard(output) or is_standard(network))


def _range(text: str) -> range:
    low, _, high = text.partition(":")
    try:
        numbers = range(int(low), int(high) + 1)
    except ValueError:
        numbers = range(0)
    if not numbers or numbers[0] < 1:
        raise InvalidArgument(f"--choose {text!r}: expected two whole numbers such as 1:10, the first at least 1.")
    return numbers


def _tell_fit(found: MixtureClustering, choice: ClusterChoice | None, top: int, *, as_json: bool, error: bool) -> None:
    profiles, num_rows = cluster_profiles(found, top), len(found.labels_)
    document: dict[str, Any] = {
        "rows": num_rows,
        "clusters": [{"weight": p.weight, "features": [one._asdict() for one in p.features]} for p in profiles],
        **picked(found, "log_likelihood=log_likelihood_ converged=converged_"),
    }
    lines = []
    if choice is not None:
        document |= {**picked(choice, "criterion best close"), "scores": [score._asdict() for score in choice.scores]}
        lines.append(str(choice))
        if len(choice.close) > 1:
            lines.append(f"about as good: {', '.join(map(str, choice.close))} clusters")
    ending = "converged" if found.converged_ else "not converged"
    size = f"{counted(found.n_clusters, 'cluster')} of {counted(num_rows, 'row')}"
    lines.append(f"{size}, log-likelihood {found.log_likelihood_:.6g}, {ending}")
    lines += [f"  {profile}" for profile in profiles]
    print_answer("\n".join(lines), document, as_json=as_json, error=error)
