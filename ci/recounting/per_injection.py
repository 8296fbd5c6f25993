"""What each injection cost: the losses of all that was intended for one moment, with one figure of each kind."""

from . import excess, phases


def figures(cell):
    by_moment = {}
    for loss in cell.losses[0]:
        by_moment.setdefault(loss.fault.event["intended"], []).append(loss)
    first = min(by_moment, default=0)
    return [injection(cell, moment - first, by_moment[moment]) for moment in sorted(by_moment)]


def injection(cell, after, losses):
    samples = phases.samples_of(cell, losses)
    woken = sorted(len(phases.Told(cell, loss).first_of) for loss in losses)
    return {
        "after_ns": after,
        "lost": len(losses),
        "censored": sum(loss.next is None for loss in losses),
        "failover": reduced(samples["whole"]),
        "failovers": sorted(samples["whole"].ended),
        "until_write": reduced(samples["until_write"]),
        "until_writes": sorted(samples["until_write"].ended),
        "over_floor": reduced(excess.seen_of(cell, losses)["over_floor"]),
        "woken": None if phases.wakes(cell) == "none" else woken[(len(woken) - 1) // 2],
    }


def reduced(samples):
    if not samples.ended and not samples.open:
        return None
    longest = max(samples.ended, default=0)
    return {
        "n": len(samples.ended),
        "censored": len(samples.open),
        "p50": samples.quantile(0.5),
        "longest": None if samples.open else longest,
    }
