"""Failover by phase. Every loss is a sample of every phase that its recipe has; what did not happen is longer than was seen."""

from .numbers import Samples


def wakes(cell):
    """Whom the recipe declares that a leader's loss wakes: "one", "all-others", "none"; None: it declares nothing."""
    declared = cell.info.get("declared") or {}
    return declared.get("leader_wakes", cell.info["expect"]["fan_out"])


class Told:
    """Who was told that the lost znode is gone, until the next grant."""

    def __init__(self, cell, loss):
        begin, end = loss.told_from, loss.next.begun if loss.next else cell.window[1]
        notices = cell.notices.get((loss.lost.group, loss.lost.node), [])
        self.times = sorted(n["t"] for n in notices if n["cand"] != loss.lost.cand and begin <= n["t"] <= end)
        until = min(loss.until, cell.window[1])
        self.first_of = {}
        self.notices = [n for n in notices if n["cand"] != loss.lost.cand and begin <= n["t"] <= until]
        for notice in sorted(self.notices, key=lambda notice: notice["t"]):
            self.first_of.setdefault(notice["cand"], notice["t"])


class Taker:
    """Takes the samples of one loss. One that ended is void where a process that had a part in it did not run for more than a
    quarter of it at a stretch."""

    def __init__(self, cell, loss):
        self.cell = cell
        self.hosts = {loss.lost.host, (loss.next or loss.lost).host}

    def take(self, samples, begin, end, ended):
        """Whether it counts."""
        if ended and 4 * self.cell.did_not_run(self.hosts, begin, end) > max(0, end - begin):
            samples.void += 1
            return False
        samples.add(end - begin, ended)
        return True


PHASES = ("whole", "from_intended", "release", "detect", "spread", "decide", "act")


def samples_of(cell, losses=None):
    """Those of all losses, or of some."""
    samples = {name: Samples() for name in PHASES}
    for loss in cell.losses[0] if losses is None else losses:
        taker, done = Taker(cell, loss), loss.next is not None
        end = loss.next.begun if done else cell.window[1]
        taker.take(samples["whole"], loss.since, end, done)
        taker.take(samples["from_intended"], min(loss.since, loss.fault.event["intended"]), end, done)
        if loss.fault.kind == "resign":
            taker.take(samples["release"], loss.since, loss.deleted or loss.since, True)
        if wakes(cell) != "none":
            watched(cell, loss, taker, samples, end, done)
        act(cell, loss, taker, samples["act"], end)
    return samples | {"floor": floor(cell)}


def figures(cell):
    samples = samples_of(cell)
    return {name: sample.shown() for name, sample in samples.items()} | {
        "void": samples["whole"].void,
        "beside_pauses": sum(is_beside_pause(cell, loss) for loss in cell.losses[0]),
        "floor_failed": len(cell.events("floor_failed")),
        "floor_pairs": len({tuple(event["sessions"]) for event in cell.events("floor") if event.get("sessions")}),
    }


# Servers sleep for so long again and again, and log by how much they overslept.
PAUSE_SLEEP_NS = 50_000_000


def is_beside_pause(cell, loss):
    """Whether a pause that a server logged may have taken more than a quarter of a failover that is not void."""
    if loss.next is None:
        return False
    begin, end = loss.since, loss.next.begun
    if 4 * cell.did_not_run({loss.lost.host, loss.next.host}, begin, end) > end - begin:
        return False
    bound = max((event["bound_ns"] for event in cell.events("log_clock")), default=0)
    for event in cell.events("server_log"):
        if event["line"]["says"] == "paused":
            long = event["line"]["ms"] * 1_000_000
            first, last = event["t"] - long - PAUSE_SLEEP_NS - bound, event["t"] + bound
            if 4 * min(long, max(0, min(end, last) - max(begin, first))) > end - begin:
                return True
    return False


def watched(cell, loss, taker, samples, end, done):
    told = Told(cell, loss)
    begin = loss.deleted or loss.since
    first = told.times[0] if told.times else None
    taker.take(samples["detect"], begin, first or end, first is not None)
    taker.take(samples["decide"], first or end, end, first is not None and done)
    if wakes(cell) != "one":
        times = sorted(told.first_of.values())
        taker.take(samples["spread"], times[0] if times else end, times[-1] if times else end, bool(times))


def act(cell, loss, taker, samples, end):
    """From the grant to the first accepted write of the term."""
    if not loss.next:
        samples.add(0, False)
        return
    first = first_write(cell, loss)
    taker.take(samples, end, first or loss.next.leaving, first is not None)


def first_write(cell, loss):
    """The first one of the next term that was accepted."""
    writes = cell.writes_of.get(loss.next.key, [])
    in_term = (w["t"] for w in writes if cell.accepts(w) and loss.next.asked <= w["t"] <= loss.next.left)
    return next(in_term, None)


def until_write(cell, losses):
    """From the loss to that."""
    samples = Samples()
    for loss in losses:
        if not loss.next:
            samples.add(cell.window[1] - loss.since, False)
            continue
        first = first_write(cell, loss)
        Taker(cell, loss).take(samples, loss.since, first or loss.next.leaving, first is not None)
    return samples


def floor(cell):
    samples = Samples()
    for event in cell.events("floor"):
        samples.add(event["listed"] - event["deleted"])
    for event in cell.events("floor_failed"):
        if event.get("deleted") is not None:
            samples.add(event["t"] - event["deleted"], False)
    return samples
