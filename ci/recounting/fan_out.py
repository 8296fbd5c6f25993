"""Whom the losses of leaders woke, and how many requests that caused."""

from .numbers import Samples
from .phases import Told


def figures(cell):
    woken, requests, spread = [], [], Samples()
    for loss in cell.losses[0]:
        told = Told(cell, loss)
        if not is_gone(cell, loss, told):
            continue
        woken.append(len(told.notices))
        requests.append(sum(caused(cell, notice) for notice in told.notices))
        if len(told.first_of) > 1:
            spread.add(max(told.first_of.values()) - min(told.first_of.values()))
    return {
        "spread": spread.shown(),
        "losses": len(woken),
        "woken": least_median_most(woken),
        "requests": least_median_most(requests)[1:] if requests else None,
    }


def is_gone(cell, loss, told):
    """Whether the lost znode is known to have gone: somebody was told, the next leader was granted the lead after the end of the
    lost belief, or the servers named that one's own znode, and it is another. One znode at a time owns the lead."""
    if told.notices or loss.next is None:
        return bool(told.notices)
    return loss.lost.leaving <= loss.next.asked or owns_by_another(cell, loss.lost, loss.next)


def owns_by_another(cell, lost, successor):
    named = any(owner.is_of(successor) for owner in cell.owners[lost.group])
    return lost.czxid != successor.czxid and named


def caused(cell, notice):
    """The requests until the candidate was done with this wake-up."""
    done = [s for s in cell.settled[notice["cand"], notice["session"]] if s["t"] >= notice["t"]]
    return done[0]["requests"] if done else 0


def least_median_most(counts):
    counts = sorted(counts)
    return [counts[0], counts[(len(counts) - 1) // 2], counts[-1]] if counts else None
