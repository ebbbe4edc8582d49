"""Statistics of rows that a Dask cluster holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plausible.data.stream_statistics import PartitionedStatistics, as_stream
from plausible.data.streams import Stream
from plausible.scale.dask_partitions import DaskPartitions

if TYPE_CHECKING:
    from dask.distributed import Client


class DaskStatistics(PartitionedStatistics):
    """Statistics of files whose rows are in the memory of a cluster, a byte a cell.

    Workers read the files, find the states of columns that nobody named, and keep the rows that they have read. All
    requests of one call go to them at once; sums of kilobytes come back, and are added in the order of the files. So
    the answers are those of a `TableStatistics`, bit for bit where they are whole numbers, and the same for any number
    of workers. A worker that is lost is survived: others read its rows again.

    Parameters
    ----------
    source
        Files that workers find under the same paths: "rows/*.parquet", a folder, a list; or a `Stream` of them.
    client
        A `dask.distributed.Client`, or the address of a scheduler: "tcp://127.0.0.1:8786". Workers need this library,
        and memory for the rows.
    progress
        Called with the number of pieces done in a pass; an answer that is true, like Ctrl-C, ends it, and what was
        asked of the cluster is cancelled.
    options
        Those of `Stream`, such as `columns` and `where`.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from dask.distributed import Client
    >>> client = Client(n_workers=1, processes=False, dashboard_address="127.0.0.1:0")
    >>> folder = tempfile.TemporaryDirectory()
    >>> for month in range(3):
    ...     frame = pd.DataFrame({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    ...     frame.to_parquet(f"{folder.name}/{month}.parquet")
    >>> DaskStatistics(f"{folder.name}/*.parquet", client).counts("grass", ["rain"])
    array([[3, 3],
           [0, 3]])
    >>> client.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        source: Any,
        client: Client | str,
        *,
        progress: Callable[[int], object] | None = None,
        **options: Any,
    ) -> None:
        stream = source if isinstance(source, Stream) and not options else as_stream(source, **options)
        super().__init__(DaskPartitions(stream, client), progress=progress)
