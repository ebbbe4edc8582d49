"""What commands say of an effect that is not identifiable."""

from __future__ import annotations

import re

from plausible.causal.identification.hedges import Hedge
from plausible.cli.output import print_json, print_line
from plausible.errors import NotIdentifiable

__all__ = ["tell_not_identifiable"]


def tell_not_identifiable(error: NotIdentifiable, *, as_json: bool) -> None:
    """Print why an effect is not identifiable: it is an answer, not a mistake."""
    hedge = error.hedge
    if not isinstance(hedge, Hedge):
        if as_json:
            print_json({"identifiable": False, "hedge": None, "reason": str(error)})
        else:
            print_line(str(error))
        return
    if as_json:
        forests = {"outer": str(hedge.outer), "inner": str(hedge.inner), "roots": list(hedge.roots)}
        reason = " ".join([hedge.explain(), *_missing_columns(error)])
        print_json({"effect": str(hedge.effect), "identifiable": False, "hedge": forests, "reason": reason})
        return
    for line in (hedge.explain(), *_missing_columns(error)):
        print_line(line)
    print_line("What it can be at least and at most: plausible bounds.")


def _missing_columns(error: NotIdentifiable) -> list[str]:
    """What an error says of columns that would help, which a hedge does not know of."""
    return re.findall(r"The data have no column for .*?, which the graph has\.", str(error))
