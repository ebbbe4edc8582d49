"""What commands say of an effect that is not identifiable."""

from __future__ import annotations

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
        reason = f"{hedge.explain()} {error.unseen}".rstrip()
        print_json({"effect": str(hedge.effect), "identifiable": False, "hedge": forests, "reason": reason})
        return
    print_line(hedge.explain())
    if error.unseen:
        print_line(error.unseen)
    print_line("What it can be at least and at most: plausible bounds.")
