# Which file has which name of this room: see plausible.base.lazy_names.
from plausible.scale.dask_partitions import DaskPartitions as DaskPartitions
from plausible.scale.dask_partitions import LostCluster as LostCluster
from plausible.scale.dask_statistics import DaskStatistics as DaskStatistics
from plausible.scale.duckdb_statistics import DuckDBStatistics as DuckDBStatistics
