"""The excess over the floor: how much later than it could at the earliest a session left to expire was seen to be gone."""

from functools import lru_cache

from .cell import MS, reconnects
from .kinds import HITS_CANDIDATES, LETS_SESSIONS_EXPIRE
from .numbers import Samples
from .phases import Taker, Told, wakes
from .servers import new_leaders


# Cells are looked at one after the other.
_new_leaders = lru_cache(maxsize=1)(new_leaders)


def figures(cell):
    """None where no session was left to expire whose last sign of life is known, and where the recipe watches nothing."""
    return shown(seen_of(cell))


def shown(seen):
    if not seen["over_floor"].shown():
        return None
    return seen | {name: seen[name].shown() for name in ("over_naive_floor", "over_restarted_floor")}


def seen_of(cell, losses=None):
    """The samples, and what is counted of them; those of all losses, or of some."""
    medians = {name: samples.usual() for name, samples in taken(cell, cell.losses[0], None)[0].items()}
    samples, counts = taken(cell, cell.losses[0] if losses is None else losses, medians)
    return samples | counts


def taken(cell, losses, medians):
    """By these medians of all losses; without any, stalls are disregarded."""
    samples = {name: Samples() for name in ("over_floor", "over_naive_floor", "over_restarted_floor")}
    early = restarted = beyond = 0
    window = cell.tick_ns * 3 // 2 + 500 * MS
    for loss in losses if wakes(cell) != "none" else []:
        told = Told(cell, loss).times
        seen = told[0] if told else (loss.next.begun if loss.next else cell.window[1])
        touched, begun_anew, floor = floor_of(cell, loss, seen)
        if touched is None:
            continue
        taker = Taker(cell, loss, medians)

        def take(name, begin):
            return taker.take(samples[name], name, begin, seen, bool(told))

        if begun_anew:
            take("over_naive_floor", touched + cell.t_ns)
            restarted += take("over_restarted_floor", floor) is not None and bool(told)
        early += bool(told) and seen < floor
        over = take("over_floor", floor)
        beyond += over is not None and over > window
    counts = {"early": early, "window_ns": window, "beyond_window": beyond, "restarted": restarted}
    return samples, counts


def floor_of(cell, loss, seen):
    """When the lost session was last heard of, when its clock began anew after that, and when it could expire at the earliest. All
    None where it did not expire, or nothing tells."""
    touched = last_up(cell, loss, seen)
    if touched is None or is_ended_otherwise(cell, loss, seen) or came_back(cell, loss.lost.session, touched, seen):
        return None, None, None
    begun_anew = restart(_new_leaders(cell), touched, seen)
    return touched, begun_anew, (begun_anew or touched) + cell.t_ns


def last_up(cell, loss, seen):
    """When the link last carried something of the lost session towards a server, before the fault; before the last one that
    hit it, where several did."""
    def touches(fault):
        proof = fault.injected if fault.kind in LETS_SESSIONS_EXPIRE else None
        return [t["last_up"] for t in (proof["touches"] if proof else []) if t["session"] == loss.lost.session]

    if not touches(loss.fault):
        return None
    hit = (fault for fault in cell.faults if loss.lost.cand in fault.cands and fault.event["t"] <= seen)
    return max((t for fault in hit for t in touches(fault)), default=None)


def is_ended_otherwise(cell, loss, seen):
    """Whether the znode may have gone before its session could expire: its owner had resigned, or was to lose it by order."""
    ordered = (f.event["t"] for f in cell.faults if f.kind in HITS_CANDIDATES and loss.lost.cand in f.cands)
    return loss.lost.reason == "resigned" or any(loss.since <= t <= seen for t in ordered)


def came_back(cell, session, touched, seen):
    """Whether the client had its connection anew after that sign of life."""
    again = [t for t in reconnects(cell.states[session]) if t <= seen]
    return bool(again) and again[-1] > touched


def restart(begins, touched, seen):
    """When a new leader of the ensemble last began to count all sessions' time anew, at the earliest, after that sign of life and
    before the end was seen: its log says so, or the last look before the quorum was served again."""
    times = [begin for begin in begins if touched < begin < seen]
    return max(times, default=None)
