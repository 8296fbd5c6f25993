"""The excess over the floor: how much later than it could at the earliest a session left to expire was seen to be gone."""

from .cell import MS
from .kinds import LETS_SESSIONS_EXPIRE
from .numbers import Samples
from .phases import Taker, Told, wakes
from .servers import new_leaders


def figures(cell):
    """None where no session was left to expire whose last sign of life is known, and where the recipe watches nothing."""
    if wakes(cell) == "none":
        return None
    over, naive, real = Samples(), Samples(), Samples()
    early = restarted = beyond = 0
    begins = new_leaders(cell)
    window = cell.tick_ns * 3 // 2 + 500 * MS
    for loss in cell.losses[0]:
        touched = last_up(loss)
        if loss.fault.kind not in LETS_SESSIONS_EXPIRE or touched is None:
            continue
        told = Told(cell, loss).times
        seen = told[0] if told else (loss.next.begun if loss.next else cell.window[1])
        begun_anew = restart(begins, touched, seen)
        floor = (begun_anew or touched) + cell.t_ns
        taker = Taker(cell, loss)
        if begun_anew:
            taker.take(naive, touched + cell.t_ns, seen, bool(told))
            restarted += taker.take(real, floor, seen, bool(told))
        early += bool(told) and seen < floor
        beyond += taker.take(over, floor, seen, bool(told)) and seen - floor > window
    if not over.shown():
        return None
    return {
        "over_floor": over,
        "early": early,
        "window_ns": window,
        "beyond_window": beyond,
        "restarted": restarted,
        "over_naive_floor": naive.shown(),
        "over_restarted_floor": real.shown(),
    }


def last_up(loss):
    """When the link last carried something of the lost session towards a server, before the fault."""
    touches = [t["last_up"] for t in loss.fault.injected["touches"] if t["session"] == loss.lost.session]
    return touches[0] if touches else None


def restart(begins, touched, seen):
    """When a new leader of the ensemble last began to count all sessions' time anew, at the earliest, after that sign of life and
    before the end was seen: its log says so, or the last look before the quorum was served again."""
    times = [begin for begin in begins if touched < begin < seen]
    return max(times, default=None)
