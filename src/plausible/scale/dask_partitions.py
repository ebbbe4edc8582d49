"""Pieces of data in the workers of a Dask cluster: read there once, and worked on where they are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from plausible.base.remedies import Remedy
from plausible.data.partitions import Answer, Piece, Share, StreamPartitions
from plausible.data.streams import Stream, table_limit
from plausible.errors import MissingDependency, NotSupported, PlausibleError, TooLarge

if TYPE_CHECKING:
    from dask.distributed import Client

#: For so long a scheduler may be silent when it is called first.
_SECONDS_TO_CONNECT = 10
#: So many answers are fetched at a time.
_AT_ONCE = 32
#: Small parts are read together, in order, up to so many rows: each task costs the scheduler some time in each pass.
_ROWS_TOGETHER = 2**18
#: Rows, and what work leaves with them, may take such a share of the memory of all workers; more rows are no error.
_SHARE_OF_MEMORY = 4


class LostCluster(PlausibleError, ConnectionError):
    """A cluster that does not answer, or not any longer."""


class DaskPartitions(StreamPartitions):
    """The pieces of a stream in the memory of a cluster's workers: the same ones whatever the cluster is.

    Workers read the parts of the source, encode them, and keep the pieces. What is asked goes to the pieces; answers
    come back. Pieces of a worker that is lost are read again by the others.

    Parameters
    ----------
    stream
        What is read: files, which workers find under the same paths.
    client
        A client of Dask's, or what makes one, such as the address "tcp://127.0.0.1:8786".
    """

    def __init__(self, stream: Stream, client: Client | str) -> None:
        super().__init__(stream)
        self._client = _connected(client)
        self._groups: list[list[Share]] = []
        self._pieces: list[Any] = []  # a future of the pieces of each group; none before they are asked for

    @property
    def client(self) -> Client:
        """Who knows the cluster; to be closed by whoever gave an address."""
        return self._client  # type: ignore[no-any-return]

    @property
    def num_bytes(self) -> float:
        return 0.0 if self._pieces else super().num_bytes

    def over(self, stream: Stream) -> DaskPartitions:
        return DaskPartitions(stream, self._client)

    def spread(self, function: Callable[[Any], Answer], items: Sequence[Any]) -> Iterator[Answer]:
        self._refuse_what_stays(items)
        futures = self._client.map(_Packed(function), items, pure=False, key="plausible-scan")
        return self._in_order(futures, futures, [part.place for part in self._stream.parts])

    def map(self, work: Callable[[Piece], Answer]) -> Iterator[Answer]:
        self._load()
        # A task of its own, so that the work goes to each worker once, and again where a worker is lost.
        sent = self._client.submit(_as_it_is, work, pure=False, key=f"plausible-work-{uuid4()}")
        futures = self._client.map(_answers, self._pieces, work=sent, pure=False, key="plausible-answers")
        try:
            for answers in self._in_order(futures, self._pieces, [_place(group) for group in self._groups]):
                yield from answers
        finally:
            if not all(pieces.status == "finished" for pieces in self._pieces):  # not there yet, lost or in error
                self._cancel(self._pieces)
                self._pieces = []

    def _load(self) -> None:
        """Have the workers read what they have not read yet."""
        if self._client.status == "closed":
            raise LostCluster("The client of the cluster is closed. Make a new one, and statistics with it.")
        if not self._pieces:
            self._groups = _together(self.shares)
            self._refuse_what_stays(self._groups)
            spare = sum(self._client.run(_memory).values()) / _SHARE_OF_MEMORY / max(self._stream.table_bytes, 1) - 1
            self._pieces = self._client.map(
                _read, self._groups, spare=max(spare, 0.0), pure=False, key="plausible-pieces"
            )

    def _in_order(self, futures: Sequence[Any], sources: Sequence[Any], places: Sequence[str]) -> Iterator[Any]:
        """The answers, some at a time; what nobody waits for any longer is not done."""
        from dask.distributed import KilledWorker

        try:
            for start in range(0, len(futures), _AT_ONCE):
                yield from map(pickle.loads, self._client.gather(futures[start : start + _AT_ONCE]))
        except KilledWorker as error:
            pairs = (*zip(futures, places, strict=True), *zip(sources, places, strict=True))
            place_of = {future.key: place for future, place in pairs}
            raise _lost(place_of.get(error.task, "the data"), error.allowed_failures + 1) from None
        except CancelledError:
            raise LostCluster(
                "The cluster has dropped what was asked of it: its scheduler has ended, or can't be reached any longer."
            ) from None
        finally:
            if not all(future.done() for future in futures):
                self._cancel(futures)

    def _cancel(self, futures: Sequence[Any]) -> None:
        if self._client.status == "running":
            self._client.cancel(futures)

    def _refuse_what_stays(self, items: Sequence[Any]) -> None:
        """Refuse sources that no other process can read."""
        try:
            pickle.dumps(items[:1])
        except (TypeError, AttributeError, ValueError, pickle.PicklingError):
            raise NotSupported(
                f"Other processes know nothing of {self._stream.parts[0].place}. Workers read files: give a glob, a "
                "folder, or a list of paths."
            ) from None


def _connected(client: Any) -> Any:
    try:
        from dask.distributed import Client
    except ImportError:
        raise MissingDependency.extra("dask", "scale") from None
    if isinstance(client, Client):
        return client
    connect: Any = Client
    try:
        return connect(client, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise LostCluster(f"No scheduler of Dask's answers at {client!r}: {error}") from None


def _together(shares: Sequence[Share]) -> list[list[Share]]:
    """Groups of small parts that are neighbours."""
    groups: list[list[Share]] = []
    for share in shares:
        if not groups or share.first_row - groups[-1][0].first_row >= _ROWS_TOGETHER:
            groups.append([])
        groups[-1].append(share)
    return groups


def _place(group: Sequence[Share]) -> str:
    first, last = (share.stream.parts[0].place for share in (group[0], group[-1]))
    return first if len(group) == 1 else f"{first} to {last}"


def _lost(place: str, number: int) -> TooLarge:
    return TooLarge(
        f"{place}: {number} of the cluster's workers died over these rows, one after the other. Most often they have "
        "too little memory.",
        remedies=[Remedy("give them more, or fewer threads each"), Remedy("write files with smaller row groups")],
    )


# What workers do. Answers come back packed: Dask would send lists of arrays item by item, which takes far longer.


class _Packed(NamedTuple):
    """A function whose answers are packed."""

    function: Callable[[Any], Any]

    def __call__(self, item: Any) -> bytes:
        return pickle.dumps(self.function(item))


def _memory(dask_worker: Any) -> float:
    """How many bytes a worker may take."""
    return float(dask_worker.memory_manager.memory_limit or _SHARE_OF_MEMORY * table_limit())


def _read(shares: Sequence[Share], spare: float) -> list[Piece]:
    """The rows of some parts, counted in one thread each: a worker has several at work.

    What work leaves with a piece may take `spare` times as many bytes as its rows.
    """
    pieces = [piece for share in shares for piece in share.pieces(num_threads=1)]
    for piece in pieces:
        piece.room = spare * piece.__sizeof__()
    return pieces


def _as_it_is(work: Callable[[Piece], Any]) -> Callable[[Piece], Any]:
    return work


def _answers(pieces: Sequence[Piece], work: Callable[[Piece], Any]) -> bytes:
    return pickle.dumps([work(piece) for piece in pieces])
