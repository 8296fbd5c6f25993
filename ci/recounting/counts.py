"""What is counted as it stands: enrolment, faults, stalls, what the record holds, what the servers hold."""

from . import spans
from .kinds import is_on_servers
from .numbers import Samples
from .ownership import blindness


# What a session or a connection left behind is gone 2 T, two ticks and this much later; longer after an outage of the quorum.
LEAKS_MARGIN_NS = 1_000_000_000


def enrolment(cell):
    sessions = cell.events("session")
    connect, anew = Samples(), Samples()
    for session in sessions:
        early = session["t"] < cell.phases.get("warm-up", cell.last + 1)
        (connect if early else anew).add(session["connect_ns"])
    first = {}
    for term in cell.terms:
        if term.begun:
            first.setdefault(term.group, term.begun)
    started = min((s["t"] - s["connect_ns"] for s in sessions), default=None)
    led = max(first.values()) - started if len(first) == len(cell.groups) and first else None
    memory = cell.events("host_memory")
    return {
        "candidates": len(cell.group_of),
        "sessions": len(sessions),
        "all_led_ns": led,
        "connect": connect if connect.ended else None,
        "connect_anew": anew if anew.ended else None,
        "rss_kb": sum(event["rss_kb"] for event in memory) if memory else None,
        "hosts": len(cell.info["hosts"]),
    }


def faults(cell):
    lateness = Samples()
    for fault in cell.faults:
        lateness.add(max(0, fault.event["t"] - fault.event["intended"]))
    return {
        "verified": sum(fault.verified for fault in cell.faults),
        "unverified": sum(not fault.verified for fault in cell.faults),
        "lateness": lateness if lateness.ended else None,
        "receipts": [receipt(cell, fault) for fault in cell.faults],
    }


def receipt(cell, fault):
    def span(proof):
        return [proof["from"], proof["to"]] if proof else None

    return {
        "fault": fault.id,
        "kind": fault.kind,
        "intended": fault.event["intended"],
        "injected": span(fault.injected),
        "healed": span(fault.healed),
        "verified": fault.verified,
        "hosts": [cell.info["hosts"][host] for host in fault.event["hosts"]],
        "servers": fault.event.get("servers", []),
        "groups": len(fault.event["groups"]),
    }


def stalls(cell):
    lengths = [spans.total(own) for _, own, _ in cell.own_stalls]
    lengths = [length for length in lengths if length > 0]
    return {
        "count": len(lengths),
        "longest_ns": max(lengths, default=0),
        "over_limit": sum(length > cell.long_stall_ns for length in lengths),
        "servers_ms": servers_pauses(cell),
    }


def servers_pauses(cell):
    """By server that counts its own pauses and was not started anew: none in the window was longer than the longest since it
    started, or than all of the window's together."""
    ends = {event["at"]: event["metrics"] for event in cell.events("servers")}
    if len(ends) < 2:
        return {}
    found = {}
    for server, after in ends["end"].items():
        before, names = ends["begin"].get(server, {}), ("sum_jvm_pause_time_ms", "max_jvm_pause_time_ms", "uptime")
        if any(name not in after for name in names[:2]) or names[0] not in before or after.get("uptime", 0) < before.get("uptime", 0):
            continue
        gained = after[names[0]] - before[names[0]]
        if gained >= 0:
            found[server] = min(after[names[1]], gained)
    return found


def wholeness(cell):
    return {
        "segments": len(cell.segments),
        "candidates": len(cell.group_of),
        "incarnations": len({(e["cand"], e["session"]) for e in cell.events("incarnation")}),
        "terms": len(cell.terms),
    }


def servers_say(cell):
    """Deletion watches that the servers fired in the window, without those of the observer; none while that saw nothing."""
    ends = {event["at"]: event for event in cell.events("servers")}
    if len(ends) < 2 or any(is_on_servers(fault.kind) for fault in cell.faults):
        return None
    if spans.clip(blindness(cell), ends["begin"]["t"], ends["end"]["t"]):
        return None
    name = "sum_node_deleted_watch_count"
    before, after = (sum(m.get(name, 0) for m in ends[at]["metrics"].values()) for at in ("begin", "end"))
    return round(after - before)


def leaks(cell):
    """What the servers held at the end: nothing is told where the cell is so young that what an earlier one left may be there."""
    last = [event for event in cell.events("servers") if event["at"] == "end"]
    none = {"ephemerals.count": 0, "watches.count": 0}
    if not last or not cell.info.get("own_servers"):
        return none
    limit = 2 * (cell.t_ns + cell.tick_ns) + LEAKS_MARGIN_NS
    since = last[-1]["t"] - limit
    for begin, end in reversed(spans.union(cell.outages)):
        if end >= since:
            since = min(since, begin - limit)
    held = last[-1]["metrics"].values()
    ephemerals = [m["ephemerals_count"] for m in held if "ephemerals_count" in m]
    watches = [m["watch_count"] for m in held if "watch_count" in m]
    if since <= cell.first or not ephemerals or not watches:
        return none
    return {"ephemerals.count": round(max(ephemerals)), "watches.count": round(sum(watches))}
