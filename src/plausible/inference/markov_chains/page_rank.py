"""Ranking pages by the links between them, and a small search engine that does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Flags, Floats, QueryInfo
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.graphs.dag import DAG
from plausible.graphs.nodes import is_networkx
from plausible.inference.markov_chains.chain_limits import SMALL, settled
from plausible.inference.markov_chains.markov_chain import MarkovChain
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import networkx as nx


#: Links between pages.
Links: TypeAlias = "Mapping[State, Iterable[State]] | DAG | nx.Graph[Any] | npt.ArrayLike"

#: Up to this damping steps are few.
_FAST = 0.99
_MAX_STEPS = 10_000


def pagerank(links: Links, damping: float = 0.85) -> Factor:
    """Compute PageRank: the long-run share of a surfer's time on each page, as a factor over "page" (Brin & Page 1998).

    With probability `damping` the surfer follows a random link of the page; otherwise, or if the page has none, she
    jumps to a random page. If damping is below one, the answer is unique. It costs a sparse product for each of at most
    log(1e-14) / log(damping) steps; for few pages, or a damping near one, elimination, if the links allow it, which is
    exact however near. Nothing dense is built.

    Parameters
    ----------
    links
        A mapping from each page to those it links to; a `DAG`, a networkx graph, or a square array, sparse or not, in
        which a non-zero entry (i, j) is a link from i to j. Repeated and weighted links count once.
    damping
        The probability of following a link. If it is one, the links alone must make the answer unique.

    Examples
    --------
    >>> print(pagerank({"home": ["news", "help"], "news": ["home"], "help": []}))
    page |    value
    -----+---------
    home | 0.393617
    news | 0.303191
    help | 0.303191
    """
    if isinstance(damping, bool) or not isinstance(damping, (int, float, np.number)) or not 0 <= damping <= 1:
        raise InvalidArgument(f"damping={damping!r} is to be a probability.")
    follow, pages = _follow(_mapping_of(links))
    is_dangling = np.diff(follow.indptr) == 0
    by_elimination = _eliminated(follow, is_dangling, damping) if damping > _FAST or len(pages) <= SMALL else None
    vector, info = by_elimination or _stepped(follow, is_dangling, damping)
    return Factor((Variable("page", pages),), vector).with_info(info)


def _mapping_of(links: Any) -> Mapping[State, Iterable[State]]:
    """For each page those that it links to, from whatever says so."""
    from scipy.sparse import csr_array

    if isinstance(links, Mapping):
        return links
    if isinstance(links, DAG):
        return {node: links.children(node) for node in links.nodes}
    if is_networkx(links):
        return {node: list(targets) for node, targets in links.adjacency()}
    if not hasattr(links, "tocsr") and not isinstance(links, (list, tuple, np.ndarray)):
        raise InvalidArgument(
            f"links={links!r} is a {type(links).__name__}. Give a mapping from pages to lists of pages, a DAG, a "
            "networkx graph or a square array."
        )
    try:
        table = csr_array(links if hasattr(links, "tocsr") else np.array(links, dtype=float))
    except (TypeError, ValueError):
        raise InvalidArgument("Links in an array are rows of numbers, one for each page.") from None
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.shape[0] or not np.isfinite(table.data).all():
        raise InvalidArgument(
            f"Links in an array are finite numbers, as many rows as columns and one at least; not {table.shape}."
        )
    table.eliminate_zeros()
    return {page: row.tolist() for page, row in enumerate(np.split(table.indices, table.indptr[1:-1]))}


def _follow(links: Mapping[State, Iterable[State]]) -> tuple[Any, list[State]]:
    """The sparse matrix of following a link, with empty rows for pages that have none; and the pages."""
    from scipy.sparse import csr_array

    for page, found in links.items():
        if isinstance(found, str) or not isinstance(found, Iterable):
            raise InvalidArgument(f"The links of {page!r} are a list of pages, not {found!r}: [{found!r}]?")
    rows = {page: dict.fromkeys(found) for page, found in links.items()}
    pages = list(dict.fromkeys([*rows, *(target for row in rows.values() for target in row)]))
    if not pages:
        raise InvalidArgument("There are no pages to rank.")
    places = {page: place for place, page in enumerate(pages)}
    sources = np.array([places[page] for page, row in rows.items() for _ in row], dtype=np.int64)
    targets = np.array([places[target] for row in rows.values() for target in row], dtype=np.int64)
    degrees = np.bincount(sources, minlength=len(pages))
    return csr_array((1.0 / degrees[sources], (sources, targets)), shape=(len(pages), len(pages))), pages


def _eliminated(follow: Any, is_dangling: Flags, damping: float) -> tuple[Floats, QueryInfo] | None:
    """The surfer's chain with a state more, in which she is while she jumps; `None` where there is too much of it."""
    from scipy.sparse import block_array, csr_array

    size = len(is_dangling)
    jumps = np.where(is_dangling, 1.0, 1.0 - damping)
    chain: Any = follow * damping
    if jumps.any():
        spread = csr_array(np.full((1, size), 1.0 / size))
        chain = block_array([[chain, csr_array(jumps[:, None])], [spread, None]]).tocsr()
        chain.eliminate_zeros()
    found = MarkovChain(chain).stationary()
    if not found.info.exact:
        return None
    return found.flat[:size] / found.flat[:size].sum(), QueryInfo("page rank")


def _stepped(follow: Any, is_dangling: Flags, damping: float) -> tuple[Floats, QueryInfo]:
    """Step after step, each of which brings any two distributions nearer to each other by the damping."""
    backwards, size = follow.T.tocsr(), len(is_dangling)

    def step(vector: Floats) -> Floats:
        jumps = 1.0 - damping + damping * vector[is_dangling].sum()
        return np.asarray(damping * (backwards @ vector) + jumps / size)

    run = settled(step, size, _MAX_STEPS)
    change = run.trace[-1]
    info = QueryInfo(
        "page rank",
        exact=run.converged and damping <= _FAST,
        converged=run.converged,
        error=min(1.0, change * damping / (1 - damping)) if damping < 1 else None,
        num_steps=run.num_steps,
        residual=change,
        advice="" if run.converged else "With so many pages, take a damping further below one.",
    )
    return run.state, info


@dataclass(frozen=True, slots=True, eq=False)
class SearchEngine:
    """Pages found by their words and ordered by page rank.

    >>> texts = {"a": "Markov chains", "b": "Markov fields", "c": "chains and fields"}
    >>> engine = SearchEngine.of(texts, {"a": ["b"], "b": ["c"], "c": ["b"]})
    >>> engine.search("markov"), engine.search("fields chains")
    (('b', 'a'), ('c',))
    """

    ranks: Mapping[State, float]  # The page rank of every page
    index: Mapping[str, frozenset[State]]  # For each word, in small letters, the pages that have it: an inverted index

    @classmethod
    def of(
        cls, texts: Mapping[State, str], links: Mapping[State, Iterable[State]], damping: float = 0.85
    ) -> SearchEngine:
        """From the text of each page and the links between pages; see `pagerank`."""
        ranked = pagerank({**dict.fromkeys(texts, ()), **links}, damping)
        words: dict[str, set[State]] = {}
        for page, text in texts.items():
            for word in _words(text):
                words.setdefault(word, set()).add(page)
        ranks = dict(zip(ranked.scope[0].states, ranked.flat.tolist(), strict=True))
        return cls(ranks, {word: frozenset(pages) for word, pages in words.items()})

    def search(self, words: str) -> tuple[State, ...]:
        """The pages that have all the words, the highest rank first."""
        wanted = [self.index.get(word, frozenset()) for word in _words(words)]
        found = frozenset.intersection(*wanted) if wanted else frozenset()
        return tuple(sorted(found, key=lambda page: (-self.ranks[page], str(page))))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
