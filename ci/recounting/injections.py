"""What zeros stand on: handovers, and the injections that they came of. All that was intended for one moment is one injection, and so is
what nobody intended and came within T of the one before."""

from . import excuses, spans
from .numbers import bound_95

# What a stall may have cost is over so many T after it.
FELT_T = 2


class Handover:
    """A change of the lead from one incarnation to another."""

    def __init__(self, cell, loss, injection):
        self.lost, self.next, self.injection = loss.lost, loss.next, injection
        begin = begin_of(loss)
        self.span = (begin, max(self.next.begun, begin))
        self.stalled = is_stalled(cell, self)
        self.has_rival = can_write(cell, self.lost, self.next)


def is_stalled(cell, handover):
    """Whether the loser did not run, or had just woken, when the lead was granted again; or the winner stalled in the 2 T before that,
    and after the loss."""
    begin, granted = handover.span
    since = max(begin, granted - FELT_T * cell.t_ns)
    slept = any(a <= granted <= b for a, b in excuses.stalled(cell, handover.lost, True))
    return slept or any(a <= granted and since <= b for a, b in excuses.stalled(cell, handover.next, False))


def can_write(cell, loser, term):
    """Whether the loser's process ran at any time of the next term: it neither had died nor was stopped for all of it."""
    died = cell.deaths.get((loser.host, loser.life), (None, term.left))[1]
    return bool(spans.minus([(term.begun, min(term.left, died))], cell.surely_stopped[loser.host]))


def find(cell):
    planned, unplanned, _ = cell.losses
    together = of_one_injection(cell, unplanned)
    injections = [(loss, ("planned", loss.fault.event["intended"])) for loss in [*planned, *cell.explained] if loss.next]
    injections += [(loss, ("unplanned", together[begin_of(loss)])) for loss in unplanned]
    return [Handover(cell, loss, injection) for loss, injection in injections if loss.next.life_id != loss.lost.life_id]


def of_one_injection(cell, unplanned):
    """For the moment of each loss that nobody intended, that of the first of those that it belongs to."""
    firsts, before, first = {}, None, None
    for at in sorted({begin_of(loss) for loss in unplanned}):
        first = first if before is not None and at - before <= cell.timeout_ns else at
        firsts[at], before = first, at
    return firsts


def begin_of(loss):
    return loss.since if loss.since is not None else min(loss.lost.leaving, loss.next.begun)


def of_overlap(handovers, overlap):
    """The handover that it came of: that to the later of the two terms, else that to the earlier one."""
    for term in sorted(overlap.terms, key=lambda term: term.asked, reverse=True):
        mine = [handover for handover in handovers if handover.next is term]
        if mine:
            return mine[0]
    return None


def injection_of(handovers, overlap):
    """Of the handover that it came of; None of what came of none."""
    handover = of_overlap(handovers, overlap)
    return handover.injection if handover else None


def rate(handovers, seen):
    """`seen` holds an injection for each time that what was looked for was seen, or None: what came of no handover is an opportunity
    and an injection of its own."""
    return shown(len(seen), handovers, {injection for injection in seen if injection}, seen.count(None))


def shown(seen, handovers, bad, strays):
    """What was seen at these handovers, of whose injections `bad` showed it, and so often at none."""
    behind = {handover.injection for handover in handovers} | bad
    bad_injections, injections = len(bad) + strays, len(behind) + strays
    return {
        "seen": seen,
        "n": len(handovers) + strays,
        "injections": injections,
        "bad_injections": bad_injections,
        "upper_95": bound_95(bad_injections, injections),
    }


def rate_of_writes(handovers, stale, doubtful):
    """Handovers whose loser could still write, those in which one did among them. What no handover is to blame for is a case of
    its own, once a writer. Doubtful writes are not counted, nor are handovers to blame for them."""
    void = [of_write(handovers, write) for write in stale if write["seq"] in doubtful]
    stale = [write for write in stale if write["seq"] not in doubtful]
    blamed = [(of_write(handovers, write), write) for write in stale]
    within = [handover for handover, _ in blamed if handover]
    able = [h for h in handovers if h.has_rival and not h.stalled and not any(h is other for other in void)]
    counted = [h for h in handovers if any(h is other for other in able + within)]
    strays = {(write["group"], write["cand"], write["session"], write["czxid"]) for handover, write in blamed if not handover}
    return shown(len(stale), counted, {h.injection for h in within}, len(strays))


def of_write(handovers, write):
    """The last handover in which the writer lost the lead; else the group's last one that was over by the write."""
    key = (write["group"], write["cand"], write["session"], write["czxid"])
    mine = [handover for handover in handovers if handover.lost.key == key]
    before = [h for h in handovers if h.lost.group == write["group"] and h.span[1] <= write["t"]]
    return max(mine or before, key=lambda handover: handover.span[1], default=None)
