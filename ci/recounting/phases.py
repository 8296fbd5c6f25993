"""Failover by phase. Every loss is a sample of every phase that its recipe has; what did not happen is longer than was seen."""

from functools import lru_cache

from .numbers import Samples


def wakes(cell):
    """Whom the recipe declares that a leader's loss wakes: "one", "two", "all-others", "none"; None: it declares nothing."""
    declared = cell.info.get("declared") or {}
    return declared.get("leader_wakes", cell.info["expect"]["fan_out"])


class Told:
    """Who was told that the lost znode is gone, until the next grant."""

    def __init__(self, cell, loss):
        begin, end = loss.told_from, loss.next.begun if loss.next else cell.window[1]
        notices = cell.notices.get((loss.lost.group, loss.lost.node), [])
        self.times = sorted(n["t"] for n in notices if n["cand"] != loss.lost.cand and begin <= n["t"] <= end)
        self.notices, self.first_of = heard(cell, loss.lost, begin, min(loss.until, cell.window[1]))


def heard(cell, lost, begin, end):
    """(notices to others of that time that the lost znode is gone, when each of them had the first)"""
    notices, first_of = [], {}
    for notice in sorted(cell.notices.get((lost.group, lost.node), []), key=lambda notice: notice["t"]):
        if notice["cand"] == lost.cand or not begin <= notice["t"] <= end:
            continue
        again = notice["cand"] in first_of
        first_of.setdefault(notice["cand"], notice["t"])
        # Who sets its watch again after a reconnect may have two for a moment.
        if not again or not cell.told_on_reconnect(notice["session"], notice["t"]):
            notices.append(notice)
    return notices, first_of


# One stall may add no more than this part of a phase's median to a sample, and is looked for during so many medians.
VOID_PART, VOID_WINDOW = 4, 2


class Taker:
    """Takes the samples of one loss. Without medians stalls are disregarded. With them, what ended is void where a process that had a
    part in it did not run for more than a quarter of the phase's median, in one stall that touches the first two medians of it;
    a later stall of that length is cut out of what is longer."""

    def __init__(self, cell, loss, medians):
        self.cell, self.medians = cell, medians
        self.hosts = {loss.lost.host, (loss.next or loss.lost).host}

    def take(self, samples, phase, begin, end, ended):
        """For how long it counts; None where it is void."""
        if ended and self.medians is not None:
            limit, looked = self.medians[phase] // VOID_PART, begin + VOID_WINDOW * self.medians[phase]
            if self.cell.did_not_run(self.hosts, begin, looked, None) > limit:
                samples.void += 1
                return None
            later = self.cell.did_not_run(self.hosts, looked, end, end) if end > looked else 0
            end -= later if later > limit else 0
        samples.add(end - begin, ended)
        return max(0, end - begin)


PHASES = ("whole", "from_intended", "release", "detect", "spread", "decide", "act")


def samples_of(cell, losses=None, medians=None):
    """Those of all losses, or of some; by the medians of all, where none are given."""
    medians = medians_of(cell) if medians is None else medians
    return taken(cell, cell.losses[0] if losses is None else losses, medians) | {"floor": floor(cell)}


@lru_cache(maxsize=1)
def medians_of(cell):
    """How long each phase is in the middle, stalls disregarded; what hides its median counts as its longest sample."""
    return {name: samples.usual() for name, samples in taken(cell, cell.losses[0], None).items()}


def taken(cell, losses, medians):
    samples = {name: Samples() for name in (*PHASES, "until_write")}
    for loss in losses:
        taker, done = Taker(cell, loss, medians), loss.next is not None
        end = loss.next.begun if done else cell.window[1]
        whole = taker.take(samples["whole"], "whole", loss.since, end, done)
        if whole is None:
            samples["from_intended"].void += 1
        else:
            samples["from_intended"].add(whole + max(0, loss.since - loss.fault.event["intended"]), done)
        if loss.fault.kind == "resign":
            taker.take(samples["release"], "release", loss.since, loss.deleted or loss.since, True)
        if wakes(cell) != "none":
            watched(cell, loss, taker, samples, end, done)
        act(cell, loss, taker, samples, end)
    return samples


def figures(cell):
    samples = samples_of(cell)
    return {name: samples[name].shown() for name in (*PHASES, "floor")} | {
        "void": samples["whole"].void,
        "beside_pauses": sum(is_beside_pause(cell, loss) for loss in cell.losses[0]),
        "floor_failed": len(cell.events("floor_failed")),
        "floor_pairs": len({tuple(event["sessions"]) for event in cell.events("floor") if event.get("sessions")}),
    }


# Servers sleep for so long again and again, and log by how much they overslept.
PAUSE_SLEEP_NS = 50_000_000


def is_beside_pause(cell, loss):
    """Whether a pause that a server logged may have taken more than a quarter of the median of a failover that is not void."""
    if loss.next is None:
        return False
    begin, end = loss.since, loss.next.begun
    medians = medians_of(cell)
    if Taker(cell, loss, medians).take(Samples(), "whole", begin, end, True) is None:
        return False
    bound = max((event["bound_ns"] for event in cell.events("log_clock")), default=0)
    for event in cell.events("server_log"):
        if event["line"]["says"] == "paused":
            long = event["line"]["ms"] * 1_000_000
            first, last = event["t"] - long - PAUSE_SLEEP_NS - bound, event["t"] + bound
            if min(long, max(0, min(end, last) - max(begin, first))) > medians["whole"] // VOID_PART:
                return True
    return False


def watched(cell, loss, taker, samples, end, done):
    told = Told(cell, loss)
    begin = loss.deleted or loss.since
    first = told.times[0] if told.times else None
    taker.take(samples["detect"], "detect", begin, first or end, first is not None)
    taker.take(samples["decide"], "decide", first or end, end, first is not None and done)
    if wakes(cell) != "one":
        times = sorted(told.first_of.values())
        taker.take(samples["spread"], "spread", times[0] if times else end, times[-1] if times else end, bool(times))


def act(cell, loss, taker, samples, end):
    """From the grant, and from the loss, to the first accepted write of the term."""
    if not loss.next:
        samples["act"].add(0, False)
        samples["until_write"].add(end - loss.since, False)
        return
    first = first_write(cell, loss)
    until = first or loss.next.leaving
    taker.take(samples["act"], "act", end, until, first is not None)
    taker.take(samples["until_write"], "until_write", loss.since, until, first is not None)


def first_write(cell, loss):
    """The first one of the next term that was accepted."""
    writes = cell.writes_of.get(loss.next.key, [])
    in_term = (w["t"] for w in writes if cell.accepts(w) and loss.next.asked <= w["t"] <= loss.next.left)
    return next(in_term, None)


def floor(cell):
    samples = Samples()
    for event in cell.events("floor"):
        samples.add(event["listed"] - event["deleted"])
    for event in cell.events("floor_failed"):
        if event.get("deleted") is not None:
            samples.add(event["t"] - event["deleted"], False)
    return samples
