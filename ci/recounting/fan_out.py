"""Whom the losses of leaders woke, and how many requests that caused."""

from .losses import stands
from .phases import Told, wakes


def figures(cell):
    woken, requests, promised = [], [], []
    for loss in cell.losses[0]:
        told = Told(cell, loss)
        woken.append(len({notice["cand"] for notice in told.notices}))
        requests.append(sum(caused(cell, notice) for notice in told.notices))
        promised.append(promise(cell, loss))
    promised = [count for count in promised if count is not None]
    return {
        "promised": [min(promised), max(promised)] if promised else None,
        "losses": len(woken),
        "woken": least_median_most(woken),
        "requests": least_median_most(requests)[1:] if requests else None,
    }


def promise(cell, loss):
    """How many others the recipe declares to wake, of those that stood when the lead was lost."""
    others = [
        cand for cand in cell.members[loss.lost.group]
        if cand != loss.lost.cand and cand not in loss.fault.cands and stands(cell, cand, loss.since)
    ]
    return {"one": min(1, len(others)), "all-others": len(others), "none": 0}.get(wakes(cell))


def caused(cell, notice):
    """The requests until the candidate was done with this wake-up."""
    done = [s for s in cell.settled[notice["cand"], notice["session"]] if s["t"] >= notice["t"]]
    return done[0]["requests"] if done else 0


def least_median_most(counts):
    counts = sorted(counts)
    return [counts[0], counts[(len(counts) - 1) // 2], counts[-1]] if counts else None
