"""Whom the losses of leaders woke, and how many requests that caused."""

from .losses import joined_with, named_again, next_gone
from .numbers import Samples
from .ownership import blindness
from .phases import Told, heard


def figures(cell):
    woken, spread = [], Samples()
    for loss in cell.losses[0]:
        told = Told(cell, loss)
        if not is_gone(cell, loss, told):
            continue
        woken.append(told.notices)
        if len(told.first_of) > 1:
            spread.add(max(told.first_of.values()) - min(told.first_of.values()))
    others = (told_without_fault(cell, change) for change in lost_without_fault(cell))
    woken += [notices for notices in others if notices is not None]
    requests = [sum(caused(cell, notice) for notice in notices) for notices in woken]
    return {
        "spread": spread.shown(),
        "losses": len(woken),
        "woken": least_median_most([len(notices) for notices in woken]),
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


def lost_without_fault(cell):
    """The last change of each lead that no fault on its leader cost: unplanned ones, and those that a fault explains. A znode goes
    once, so several changes of it are one loss, and none where a fault cost it."""
    planned = {of_znode(loss.lost) for loss in cell.losses[0]}
    changes = sorted([*cell.losses[1], *cell.explained], key=lambda change: change.lost.asked)
    last = {of_znode(change.lost): change for change in changes}
    return [change for znode, change in last.items() if znode not in planned]


def of_znode(term):
    return (term.life_id, term.czxid)


def told_without_fault(cell, change):
    """The notices that the znode of such a lead is gone. None: nobody was told, and ZooKeeper did not name it and then another one,
    or none; or it went outside the measured window."""
    lost, named, other = change.lost, *displaced(cell, change.lost)
    if change.next.node == lost.node:
        times = between_locks(cell, change, named)
        if times is None:
            return None
    else:
        times = min([lost.asked, *joined_with(cell, lost)]), cell.window[1]
    begin, end = times[0], min([times[1], cell.window[1], *named_again(cell, lost, lost.asked)])
    notices, _ = heard(cell, lost, begin, end)
    gone_by = [notice["t"] for notice in notices[:1]] + ([] if other is None else [other])
    return notices if gone_by and cell.measures(min(gone_by)) else None


def displaced(cell, term):
    """(until when ZooKeeper certainly named this lead's znode, from when on another one or none); nothing where it did not do both"""
    owners = [owner for owner in cell.owners[term.group] if term.czxid != -1]
    named = max((owner.surely[1] for owner in owners if owner.is_of(term)), default=None)
    if named is None:
        return None, None
    others = [owner.surely[0] for owner in owners if not owner.is_of(term) and owner.surely[0] >= named]
    return (named, min(others)) if others else (None, None)


def between_locks(cell, change, named):
    """Between which times a notice of a lock's name is about this lock. Nobody but the observer tells locks of one name apart, where
    it saw that of the next leader follow: it was connected, and had an answer to each question."""
    lost = change.lost
    if named is None:
        return None
    after = [owner for owner in cell.owners[lost.group] if owner.surely[0] >= named and owner.czxid is not None]
    if not after or not after[0].is_of(change.next):
        return None
    begun = after[0].surely[0]
    was_blind = any(begin <= begun and named <= end for begin, end in blindness(cell))
    if was_blind or any(named <= event["t"] <= begun for event in cell.events("observer_missed")):
        return None
    # Who steps down, or dies, has its lock until its session ends.
    keeps = lost.reason == "stepped-down" or lost.killed
    gone = next_gone(cell, lost, named)
    return (named if keeps else min(named, lost.leaving), gone[0]) if gone else None


def caused(cell, notice):
    """The requests until the candidate was done with this wake-up."""
    done = [s for s in cell.settled[notice["cand"], notice["session"]] if s["t"] >= notice["t"]]
    return done[0]["requests"] if done else 0


def least_median_most(counts):
    counts = sorted(counts)
    return [counts[0], counts[(len(counts) - 1) // 2], counts[-1]] if counts else None
