"""Tokens: of writes, beside those of their senders' leads; of grants, beside what is told of their znodes."""

from . import spans
from .cell import MS, UNKNOWN


def writes(cell):
    """The token of the lead that its sender had begun last when it was sent, give or take the clock's uncertainty. One whose sending is
    not recorded may have been under way for a second, and longer where its sender's work hung or a process did not run."""
    compared, unknown, foreign = 0, 0, []
    for write in cell.writes:
        led = [term.czxid for term in leads(cell, write)]
        if write["czxid"] == UNKNOWN or not led or UNKNOWN in led:
            unknown += 1
            continue
        compared += 1
        if write["czxid"] not in led:
            foreign.append(write["cand"])
    return {"compared": compared, "foreign": len(foreign), "senders": len(set(foreign)), "unknown": unknown}


def leads(cell, write):
    sent = write.get("sent")
    at = write["t"] if sent is None else sent
    first = write["t"] - under_way(cell, write) if sent is None else sent - cell.clock_fuzz
    begun = sorted((t for t in cell.terms_by_cand[write["cand"]] if t.asked <= at + cell.clock_fuzz), key=lambda t: t.asked)
    before = [term for term in begun if term.asked <= first]
    return before[-1:] + [term for term in begun if term.asked > first]


def under_way(cell, write):
    second, host, t = 1_000 * MS, write["host"], write["t"]
    stalled = [part for of, parts, _ in cell.own_stalls if of in (None, host) for part in parts]
    kept = [span for span in hung(cell, host) + stalled + cell.stopped[host] if span[0] <= t and t - second <= span[1]]
    return t - min([t - second] + [span[0] - second for span in kept])


def hung(cell, host):
    """When the work of a host hung, or may have."""
    return [(f.effective[0], f.ended(host, "to", cell.last)) for f in cell.hangs if host in f.event["hosts"]]


def grants(cell):
    compared = wrong = unknown = 0
    for term in cell.terms:
        known, named = cell.znodes.get(term.czxid), cell.named.get((term.session, term.node), set()) if term.node else set()
        name = next(iter(named)) if len(named) == 1 else None
        if term.czxid == UNKNOWN:
            unknown += 1
            continue
        differs = (
            known and known[0] != term.session
            or known and term.node and known[1] != term.node
            or name is not None and name != term.czxid
            or led_by_another(cell, term)
        )
        wrong += bool(differs)
        compared += bool(known or name is not None or differs)
        unknown += not (known or name is not None or differs)
    return {"compared": compared, "wrong": wrong, "unknown": unknown}


def led_by_another(cell, term):
    """Whether ZooKeeper named its session as the owner while it believed, for half a second and more, and never by this znode."""
    if not term.begun or term.begun >= term.leaving:
        return False
    owners = cell.owners[term.group]
    if any(owner.czxid == term.czxid and spans.clip([owner.surely], *term.at_most) for owner in owners):
        return False
    others = [owner.surely for owner in owners if owner.session == term.session and owner.czxid is not None]
    return any(b - a > 500 * MS for a, b in spans.clip(others, *term.sure))
