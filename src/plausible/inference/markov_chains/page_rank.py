"""Ranking pages by the links between them, and a small search engine that does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.inference.info import QueryInfo
from plausible.inference.markov_chains.markov_chain import MarkovChain
from plausible.variables import State, Variable

__all__ = ["SearchEngine", "pagerank"]

_TOLERANCE = 1e-14


def pagerank(links: Mapping[State, Iterable[State]], damping: float = 0.85) -> Factor:
    """The long-run share of a surfer's time on each page (Brin & Page 1998).

    With probability `damping` the surfer follows a link of the page, each equally likely; else, and from a page that
    has none, she goes to any page at all. For damping below one the answer is unique whatever the links.

    Parameters
    ----------
    links
        For each page those that it links to. Links said twice count once.
    damping
        At most one; with one the links alone must make the answer unique.

    Returns
    -------
    Factor
        Over one variable, "page".

    Notes
    -----
    A sparse product for each of at most log(1e-14) / log(damping) steps; nothing dense is built.

    Examples
    --------
    >>> print(pagerank({"home": ["news", "help"], "news": ["home"], "help": []}))
    page |    value
    -----+---------
    home | 0.393617
    news | 0.303191
    help | 0.303191
    """
    from scipy.sparse import coo_array

    if not 0 <= damping <= 1:
        raise InvalidArgument(f"damping={damping} is a probability.")
    rows = {page: dict.fromkeys(found) for page, found in links.items()}
    pages = list(dict.fromkeys([*rows, *(target for row in rows.values() for target in row)]))
    if not pages:
        raise InvalidArgument("There are no pages to rank.")
    places = {page: place for place, page in enumerate(pages)}
    sources = np.array([places[page] for page, row in rows.items() for _ in row], dtype=np.int64)
    targets = np.array([places[target] for row in rows.values() for target in row], dtype=np.int64)
    degrees = np.bincount(sources, minlength=len(pages))
    follow = coo_array((1.0 / degrees[sources], (sources, targets)), shape=(len(pages), len(pages))).tocsr()
    if damping == 1:
        ranks = MarkovChain(_with_jumps(follow, degrees)).stationary().flat
        return Factor((Variable("page", pages),), ranks).with_info(QueryInfo("page rank"))
    backwards = follow.T.tocsr()
    dangling = degrees == 0
    vector = np.full(len(pages), 1.0 / len(pages))
    change, steps = np.inf, 0
    while change > _TOLERANCE:
        jumps = 1.0 - damping + damping * vector[dangling].sum()
        after = damping * (backwards @ vector) + jumps / len(pages)
        after /= after.sum()
        change, vector, steps = float(np.abs(after - vector).sum()), after, steps + 1
    info = QueryInfo("page rank", iterations=steps, residual=change)
    return Factor((Variable("page", pages),), vector).with_info(info)


def _with_jumps(follow: Any, degrees: np.typing.NDArray[np.int64]) -> Any:
    """The links, and from pages without any a jump to everywhere."""
    from scipy.sparse import csr_array

    size = len(degrees)
    jumps = csr_array(np.where(degrees == 0, 1.0 / size, 0.0)[:, None]) @ csr_array(np.ones((1, size)))
    return (follow + jumps).tocsr()


@dataclass(frozen=True, slots=True, eq=False)
class SearchEngine:
    """Pages found by their words and ordered by page rank.

    Attributes
    ----------
    ranks
        The page rank of every page.
    index
        For each word, in small letters, the pages that have it: an inverted index.

    Examples
    --------
    >>> texts = {"a": "Markov chains", "b": "Markov fields", "c": "chains and fields"}
    >>> engine = SearchEngine.of(texts, {"a": ["b"], "b": ["c"], "c": ["b"]})
    >>> engine.search("markov"), engine.search("fields chains")
    (('b', 'a'), ('c',))
    """

    ranks: Mapping[State, float]
    index: Mapping[str, frozenset[State]]

    @classmethod
    def of(
        cls, texts: Mapping[State, str], links: Mapping[State, Iterable[State]], damping: float = 0.85
    ) -> SearchEngine:
        """From the text of each page and the links between pages; see `pagerank`."""
        everything: dict[State, Iterable[State]] = {**dict.fromkeys(texts, ()), **links}
        ranked = pagerank(everything, damping)
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
