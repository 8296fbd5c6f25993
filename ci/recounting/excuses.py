"""What no recipe can promise: the moment after a process was woken, and that in which a client cannot have heard that its session
was ended by force."""

from . import spans
from .kinds import is_on_servers

FORCES = ("expire", "parent-delete")
BAD_LINKS = ("partition", "partition-up", "partition-down", "slow", "lost-reply")


def wakings(cell, term):
    """From each stop in this very term, or under its session before it, until its client must have looked around."""
    began = min([term.asked] + [e["t"] for e in cell.incarnations[term.cand] if e["session"] == term.session])
    return [(a, b + unheard(cell, term, b, b)) for a, b in cell.stopped[term.host] if began <= a]


def stalled(cell, term, wakes):
    """When the term's process stalled of its own accord for longer than T/10; if it wakes, until its client must have looked around
    after it."""
    return [(a, b + (unheard(cell, term, b, b) if wakes else 0)) for a, b in cell.long_stalls[term.host] if a <= term.left]


def forced(cell, term):
    """From each order to end this term by force until its client must have heard of it."""
    for fault in cell.faults:
        closed = fault.injected["to"] if fault.injected else fault.event["t"]
        if fault.kind in FORCES and term.cand in fault.cands and is_of(cell, term, fault.event["t"], closed):
            yield fault.event["t"], closed + unheard(cell, term, fault.event["t"], closed)


def is_of(cell, term, ordered, closed):
    """Whether the candidate stood under this term's session when that was ordered, or came to while it was under way."""
    joined = [event for event in cell.joined[term.cand] if event["t"] <= ordered][-1:]
    joined += [event for event in cell.joined[term.cand] if ordered <= event["t"] <= closed]
    return any(event["session"] == term.session for event in joined)


def unheard(cell, term, begin, closed):
    """T/5, and T/2 more behind a bad link or while servers are hit."""
    for fault in cell.faults:
        bad_link = fault.kind in BAD_LINKS and term.host in fault.event["hosts"]
        hits = bad_link or is_on_servers(fault.kind)
        if hits and fault.event["t"] <= closed + cell.t_ns // 2 and begin <= fault.acts_until:
            return cell.t_ns // 5 + cell.t_ns // 2
    return cell.t_ns // 5


def alone_owned(cell, term, times):
    named = [o for o in cell.owners[term.group] if any(o.surely[0] <= b and a <= o.surely[1] for a, b in times)]
    return bool(named) and all(owner.is_of(term) for owner in named)


def excuse(cell, times, terms):
    """What excuses all of these times: "waking", "forced", or nothing. Of two terms one that ZooKeeper alone named as the owner then
    is not at fault."""
    if len(terms) > 1:
        terms = [term for term in terms if not alone_owned(cell, term, times)]
    waking = spans.union([span for term in terms for span in wakings(cell, term)])
    by_force = spans.union(waking + [span for term in terms for span in forced(cell, term)])
    if waking and not spans.minus(times, waking):
        return "waking"
    return "forced" if by_force and not spans.minus(times, by_force) else None
