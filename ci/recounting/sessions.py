"""Sessions and connections in the measured window."""

from collections import defaultdict

from .kinds import hits_hosts, is_on_servers
from .numbers import Samples


def figures(cell):
    states = [e for e in cell.events("state") if cell.measures(e["t"])]
    lost_at, again, count = {}, Samples(), 0
    for event in sorted(states, key=lambda event: event["t"]):
        if event["state"] == "disconnected" and event["session"] not in lost_at:
            count += 1
            lost_at[event["session"]] = event["t"]
        elif event["state"] == "connected" and event["session"] in lost_at:
            again.add(event["t"] - lost_at.pop(event["session"]))
        elif event["state"] in ("expired", "closed", "auth-failed"):
            lost_at.pop(event["session"], None)
    homes = {event["session"]: segment.host for segment, event in cell.by_kind["session"]}
    killed = {host for host, _ in cell.deaths}
    for session, since in lost_at.items():
        if homes.get(session) not in killed:  # Nobody reconnects from the dead.
            again.add(cell.window[1] - since, ended=False)
    disturbed = is_disturbed(cell)
    return {
        "established": len(there(cell)) if disturbed else 0,
        "disconnected": count,
        "lost": lost(cell, homes) if disturbed else 0,
        "reconnected": len(again.ended),
        "reconnect": again if again.ended or again.open else None,
        "interrupted_terms": interrupted(cell) if disturbed else 0,
        "severed": len(list(cell.events("severed"))) if disturbed else 0,
    }


def there(cell):
    """Sessions that were established before the window's end and were not over before it began."""
    ended = {}
    for event in cell.events("state"):
        if event["state"] in ("expired", "closed", "auth-failed"):
            ended[event["session"]] = min(event["t"], ended.get(event["session"], event["t"]))
    begin, end = cell.window
    sessions = {event["session"] for event in cell.events("session") if event["t"] < end}
    return {session for session in sessions if ended.get(session, begin) >= begin}


def is_disturbed(cell):
    """Whether there is anything to tell: a fault on servers, or a connection lost in the window."""
    gone = (e["state"] == "disconnected" and cell.measures(e["t"]) for e in cell.events("state"))
    return any(is_on_servers(kind) for kind in [cell.info["fault_kind"]] + [f.kind for f in cell.faults]) or any(gone)


def lost(cell, homes):
    """Sessions that ended in the window though no fault on their host, or on a candidate of theirs, explains it."""
    owners = defaultdict(set)
    for event in cell.events("incarnation"):
        owners[event["session"]].add(event["cand"])
    gone = set()
    for event in cell.events("state"):
        session, moment = event["session"], event["t"]
        ended = event["state"] in ("expired", "closed", "auth-failed") and cell.measures(moment)
        if ended and not any(hit(fault, owners[session], homes.get(session), moment) for fault in cell.faults):
            gone.add(session)
    return len(gone)


def hit(fault, cands, host, moment):
    whom = fault.cands & cands or hits_hosts(fault.kind) and host in fault.event["hosts"]
    return whom and fault.event["t"] <= moment <= fault.explains_until


def interrupted(cell):
    """Leads given up for a lost connection, and taken back in the same incarnation."""
    count = 0
    for group in range(len(cell.groups)):
        terms = cell.terms_of(group)
        for term, following in zip(terms, terms[1:]):
            mine = term.reason == "stepped-down" and following.life_id == term.life_id
            count += mine and cell.measures(term.leaving)
    return count
