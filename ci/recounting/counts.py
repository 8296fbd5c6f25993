"""What is counted as it stands: enrolment, faults, stalls, what the record holds, what the servers hold."""

from . import spans
from .kinds import LASTS_UNTIL_HEALED, LIES_IN_WAIT, is_on_servers
from .numbers import Samples
from .ownership import blindness


# What a session or a connection left behind is gone 2 T, two ticks and this much later; longer after an outage of the quorum. A cell
# that is younger is too short to look for it.
LEAKS_MARGIN_NS = 1_000_000_000
MS = 1_000_000


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
        "sessions": len(connect.ended),
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
    return plan(cell) | {
        "verified": sum(fault.verified for fault in cell.faults),
        "unverified": sum(not fault.verified for fault in cell.faults),
        "lateness": lateness if lateness.ended else None,
        "verifications": [verification(cell, fault) for fault in cell.faults],
    }


def plan(cell):
    """A planned fault counts when it was ordered, and not withheld, and every order is verified. Without a plan: every order."""
    plans = cell.events("fault_plan")
    if not plans:
        verified = sum(fault.verified for fault in cell.faults)
        return {"planned": len(cell.faults), "planned_verified": verified, "withheld": [], "lost": 0}
    planned = {fault["id"]: fault for event in plans for fault in event["faults"]}
    reasons = {event["planned"]: event["why"] for event in cell.events("fault_withheld") if event["planned"] in planned}
    orders = {number: [] for number in planned}
    for fault in cell.faults:
        number = fault.event.get("planned")
        if number in planned and planned[number]["kind"] == fault.kind:
            orders[number].append(fault.verified)
    return {
        "planned": len(planned),
        "planned_verified": sum(bool(own) and number not in reasons and all(own) for number, own in orders.items()),
        "withheld": [
            {"planned": number, "kind": planned[number]["kind"], "intended": planned[number]["intended"], "why": reasons[number]}
            for number in sorted(reasons)
        ],
        "lost": sum(not own and number not in reasons for number, own in orders.items()),
    }


def verification(cell, fault):
    def span(proof):
        return [proof["from"], proof["to"]] if proof else None

    return {
        "fault": fault.id,
        "kind": fault.kind,
        "intended": fault.event["intended"],
        "injected": span(fault.injected),
        "healed": span(fault.healed),
        "verified": fault.verified,
    } | overrun(fault) | {
        "hosts": [cell.info["hosts"][host] for host in fault.event["hosts"]],
        "servers": fault.event.get("servers", []),
        "groups": len(fault.event["groups"]),
    }


def overrun(fault):
    """For how long a fault that is healed surely lasted, where that is longer than planned: by a twentieth of it, and by 25 ms."""
    planned_ms = fault.event["for_ms"]
    if not fault.injected or not fault.healed or planned_ms is None or fault.kind not in LASTS_UNTIL_HEALED or fault.kind in LIES_IN_WAIT:
        return {}
    lasted, planned = max(0, fault.healed["from"] - fault.injected["to"]), planned_ms * MS
    return {"overran_ns": lasted} if lasted > planned + max(planned // 20, 25 * MS) else {}


def stalls(cell):
    """Those that share a moment with the measured window, each with its whole length."""
    begin, end = cell.window
    stalls = zip(cell.stall_spans, cell.own_stalls)
    measured = (own for (_, (a, b)), (_, own, _) in stalls if a < end and begin < b)
    lengths = [length for length in map(spans.total, measured) if length > 0]
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


def standing(cell):
    """Of the servers' lists at both ends of the window: whether the cell was old enough to look for all leaks, and how many sessions
    were left of those that their candidates had long given up. Nothing where they were not asked, or the cell did not end its drain."""
    return {edge: leaks(cell, [e for e in cell.events("holdings") if e["at"] == edge]) for edge in ("begin", "end")}


def leaks(cell, lists):
    if not lists or not cell.was_measured:
        return None
    settled = settled_since(cell, min(event["from"] for event in lists))
    listed_by_all = set.intersection(*(set(event["holds"]["sessions"]) for event in lists))
    return {"leaks_judged": settled > cell.first, "sessions_left": len(given_up(cell, settled) & listed_by_all)}


def settled_since(cell, asked):
    """What was out of use before this is gone when the servers are asked."""
    takes = 2 * (cell.timeout_ns + cell.tick_ns) + LEAKS_MARGIN_NS
    since = max(0, asked - takes)
    for begin, end in reversed(spans.union(cell.outages)):
        if end >= since:
            since = min(since, max(0, begin - takes))
    return since


def given_up(cell, settled):
    """Sessions that each of their candidates had replaced, or whose processes had died for good, before this."""
    used, all_sessions = set(), set()
    for cand, host in cell.host_of.items():
        mine = sorted((event["t"], event["session"]) for event in cell.incarnations[cand])
        ends = [t for t, _ in mine[1:]] + [died_for_good(cell, host)]
        all_sessions |= {session for _, session in mine}
        used |= {session for (_, session), end in zip(mine, ends) if end is None or end >= settled}
    return all_sessions - used


def died_for_good(cell, host):
    """From when on the last process of a host may have been dead; None: it ended in order, or not at all."""
    lives = [segment.life for segment in cell.segments if segment.host == host]
    death = cell.deaths.get((host, max(lives))) if lives else None
    return death[0] if death else None


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
