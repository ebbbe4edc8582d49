"""`plausible compile`: all kernels as machine code on disk, for containers, clusters and the impatient."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from time import perf_counter
from typing import Annotated

import typer

from plausible.cli.commands import command
from plausible.cli.kernel_uses import use_all_kernels
from plausible.cli.output import AsJson, print_answer
from plausible.cli.terminal import ShowProgress, progress_bar
from plausible.errors import InvalidArgument, counted
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
        int | None, typer.Option(min=1, help="How many loops to compile at a time; by default one for each core.")
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
