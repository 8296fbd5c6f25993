"""What is counted as it stands: enrolment, faults, stalls, what the record holds, what the servers hold."""

from . import spans
from .kinds import is_on_servers
from .numbers import Samples


# What a session or a connection left behind is gone 2 T and this much later.
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
        "hosts": len({event["host"] for event in cell.events("host_started")}),
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
    lengths = [own_part(cell, segment, event) for segment, event in cell.by_kind["stall"]]
    lengths = [length for length in lengths if length > 0]
    return {
        "count": len(lengths),
        "longest_ns": max(lengths, default=0),
        "over_limit": sum(length > cell.t_ns // 10 for length in lengths),
    }


def own_part(cell, segment, stall):
    """What of a stall the harness did not order: a process that it stopped does not stall of its own accord."""
    stopped = cell.stopped[segment.host] if segment.host is not None else []
    return spans.total(spans.minus([(stall["from"], stall["to"])], stopped))


def wholeness(cell):
    return {
        "segments": len(cell.segments),
        "candidates": len(cell.group_of),
        "incarnations": len({(e["cand"], e["session"]) for e in cell.events("incarnation")}),
        "terms": len(cell.terms),
    }


def servers_say(cell):
    """Deletion watches that the servers fired in the window, without those of the observer."""
    ends = {event["at"]: event["metrics"] for event in cell.events("servers")}
    if len(ends) < 2 or any(is_on_servers(fault.kind) for fault in cell.faults):
        return None
    name = "sum_node_deleted_watch_count"
    before, after = (sum(m.get(name, 0) for m in ends[at].values()) for at in ("begin", "end"))
    return round(after - before)


def leaks(cell):
    last = [event for event in cell.events("servers") if event["at"] == "end"]
    begun = cell.events("cell")[0]["t"]
    if not last or not cell.info.get("own_servers") or last[-1]["t"] - 2 * cell.t_ns - LEAKS_MARGIN_NS <= begun:
        return {"ephemerals.count": 0, "watches.count": 0}
    servers = last[-1]["metrics"].values()
    return {
        "ephemerals.count": round(max((m.get("ephemerals_count", 0) for m in servers), default=0)),
        "watches.count": round(sum(m.get("watch_count", 0) for m in servers)),
    }
