"""`plausible cluster`: rows of a file by clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from plausible.cli import options
from plausible.cli.commands import command
from plausible.cli.data import read_data
from plausible.cli.options import option
from plausible.cli.output import input_name, is_standard, picked, print_answer
from plausible.cli.source import check_target, save_model
from plausible.cli.tables import check_output, new_table
from plausible.cli.terminal import progress_bar
from plausible.errors import InvalidArgument, counted
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.mixtures.comparison import ClusterChoice, choose_clusters
from plausible.learn.mixtures.reports import cluster_profiles


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
    _tell(found, choice, top, as_json=as_json, error=is_standard(output) or is_standard(network))


def _range(text: str) -> range:
    low, _, high = text.partition(":")
    try:
        numbers = range(int(low), int(high) + 1)
    except ValueError:
        numbers = range(0)
    if not numbers or numbers[0] < 1:
        raise InvalidArgument(f"--choose {text!r}: expected two whole numbers such as 1:10, the first at least 1.")
    return numbers


def _tell(found: MixtureClustering, choice: ClusterChoice | None, top: int, *, as_json: bool, error: bool) -> None:
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
