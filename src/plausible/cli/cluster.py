"""`plausible cluster`: rows of a file by clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.commands import command
from plausible.cli.data import (
    ContinuousColumns,
    DataFile,
    MissingMarkers,
    StateColumns,
    read_data,
)
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.piped_models import check_target, save_model
from plausible.cli.streams import input_name, is_standard
from plausible.cli.tables import TableFormat, check_ending, new_table
from plausible.cli.terminal import ShowProgress, progress_bar
from plausible.errors import InvalidArgument, counted
from plausible.learn.mixtures.choice import ClusterChoice, choose_clusters
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.mixtures.reports import cluster_profiles


@command(
    examples=(
        "plausible sample gaussian-chain -n 300 --seed 1 -o data.csv",
        "plausible cluster data.csv -k 3 -o assignments.csv",
        "plausible cluster data.csv --choose 1:5 --criterion bic --covariance diagonal --network mixture.json",
    )
)
def run_cluster(
    data: DataFile,
    clusters: Annotated[int | None, typer.Option("-k", "--clusters", min=1, help="How many clusters.")] = None,
    choose: Annotated[
        str | None, typer.Option(help="Choose their number in a range, both ends included: 1:10.")
    ] = None,
    criterion: Annotated[
        str, typer.Option(help="By which it is chosen: bic, icl, aic, holdout, or cheeseman-stutz.")
    ] = "bic",
    covariance: Annotated[
        str, typer.Option(help="Of numbers within a cluster: full, tied, diagonal, spherical, or unit.")
    ] = "full",
    hard: Annotated[bool, typer.Option("--hard", help="Each row counts in one cluster only, as in k-means.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A CSV or Parquet file for the cluster of each row, or -.")
    ] = None,
    network: Annotated[
        Path | None, typer.Option(help="Write the mixture as a network; the ending is the format, and - is JSON.")
    ] = None,
    restarts: Annotated[int, typer.Option(min=0, help="Further runs from other starts.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="A whole number: the same one gives the same answer.")] = 0,
    top: Annotated[int, typer.Option(min=0, help="How many features are told of each cluster.")] = 5,
    format: TableFormat = None,
    na: MissingMarkers = None,
    continuous: ContinuousColumns = None,
    states: StateColumns = None,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Find clusters of rows, and tell what sets them apart.

    Cells may be missing. Columns of fractional numbers are Gaussian in each cluster; all others have the states that
    occur. Whole numbers are states, unless cells are empty among more than 20 different ones; --continuous and --states
    say otherwise.
    """
    if (clusters is None) == (choose is None):
        raise InvalidArgument("Say how many clusters with -k 3, or in which range to choose with --choose 1:10.")
    if output is not None:
        check_ending(output, format)
        if is_standard(output) and is_standard(network):
            raise InvalidArgument("--output and --network are both -, standard output: name a file for one of them.")
        if data.exists() and output.exists() and output.samefile(data):
            raise InvalidArgument(
                f"{output} is the file to read: name another one for the clusters, so that it is kept."
            )
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
    profiles = cluster_profiles(found, top)
    if as_json:
        facts: dict[str, Any] = {
            "rows": len(found.labels_),
            "clusters": [
                {"weight": p.weight, "features": [feature._asdict() for feature in p.features]} for p in profiles
            ],
            "log_likelihood": found.log_likelihood_,
            "converged": found.converged_,
        }
        if choice is not None:
            facts |= {"criterion": choice.criterion, "best": choice.best, "close": choice.close}
            facts["scores"] = [score._asdict() for score in choice.scores]
        print_json(facts, error=error)
        return
    if choice is not None:
        print_line(str(choice), error=error)
        if len(choice.close) > 1:
            print_line(f"about as good: {', '.join(str(number) for number in choice.close)} clusters", error=error)
    ending = "converged" if found.converged_ else "not converged"
    size = f"{counted(found.n_clusters, 'cluster')} of {counted(len(found.labels_), 'row')}"
    print_line(f"{size}, log-likelihood {found.log_likelihood_:.6g}, {ending}", error=error)
    for profile in profiles:
        print_line(f"  {profile}", error=error)
