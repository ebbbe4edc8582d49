"""Clusters on this machine alone: one of threads for many small cases, one of processes for faults."""

from __future__ import annotations

from contextlib import contextmanager

import dask
import pytest
from dask.distributed import Client, LocalCluster

#: So that a worker that is lost is missed soon.
_IMPATIENT = {"distributed.comm.timeouts.connect": "2s", "distributed.comm.retry.count": 0}


@contextmanager
def _client(**options):
    with (
        dask.config.set(_IMPATIENT),
        LocalCluster(n_workers=2, dashboard_address="127.0.0.1:0", **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def threads():
    """A client of a cluster whose two workers are threads of this process."""
    with _client(processes=False, threads_per_worker=2) as client:
        yield client


@pytest.fixture(scope="session")
def processes():
    """A client of a cluster whose two workers are processes; one that dies is started again."""
    with _client(threads_per_worker=1, memory_limit=0) as client:
        yield client
