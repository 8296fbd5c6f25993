"""One election of the ensemble: when, who, what it was for each server, and what servers said of it themselves."""

from . import spans
from .compare import OneOf
from .kinds import is_on_servers

MS = 1_000_000

SERVING = ("leading", "following", "standalone")
COUNTS_ANEW = ("server-kill", "server-restart-all", "server-pause")


def election(cell, watch, gaps, before, after, since, until, without):
    # Where the quorum was only possibly not served, it may have been at any time of it.
    lost = (since, without[0][0] if without else until)
    ended = (without[-1][1] if without else since, until) if after else None
    fault = under_way(cell, lost)
    return {
        "fault": fault.id if fault else None,
        "old": before.server if before else None,
        "winner": after.server if after else None,
        "epoch": after.zxid >> 32 if after and after.zxid is not None else None,
        "lost": list(lost),
        "ended": list(ended) if ended else None,
        "outage": [spans.total(without), until - since],
        "writes": OneOf([None] + gaps),
        "roles": roles(cell, watch, after and after.server, lost, ended or (until, until)),
        "predicted": predicted(cell, after.server, until) if after else None,
    }


def under_way(cell, lost):
    """The last fault on servers that was ordered before the quorum was certainly lost, and was not over by then."""
    found = [
        fault for fault in cell.faults
        if is_on_servers(fault.kind) and fault.is_seen_to_act and fault.injected["from"] <= lost[1]
        and fault.acts_until >= lost[0]
    ]
    return found[-1] if found else None


def roles(cell, watch, winner, lost, ended):
    """Of each server that was away meanwhile: the brackets of its leaving, of its first not serving, of its serving again."""
    found = []
    for server, spells in sorted(watch.spells.items()):
        away = [spell for spell in spells if spell.state not in SERVING]
        mine = [spell for spell in away if spell.touches(lost[0], ended[1])]
        if not mine:
            continue
        i = spells.index(mine[-1])
        last, first = i, i
        while first > 0 and spells[first - 1].state not in SERVING:
            first -= 1
        while last + 1 < len(spells) and spells[last + 1].state not in SERVING:
            last += 1
        looking = next((spell for spell in spells[first:last + 1] if spell.state == "not-serving"), None)
        back = spells[last + 1] if last + 1 < len(spells) else None
        found.append({
            "server": server,
            "left": list(spells[first].begin),
            "looking": list(looking.begin) if looking else None,
            "back": list(back.begin) if back else None,
            "leads": back is not None and server == winner,
            "took_ms": OneOf([None] + [line["took_ms"] for line in said(cell, server) if line["says"] == "elected"]),
        })
    return found


def said(cell, server):
    return [event["line"] for event in cell.events("server_log") if event["server"] == server]


def predicted(cell, winner, until):
    """Who is first by epoch, then zxid, then id, among the votes that the winner was told before it was elected."""
    votes, elected = {}, False
    for segment, event in cell.by_kind["server_log"]:
        line = event["line"]
        if event["server"] == winner and event["t"] <= until:
            if line["says"] == "looking":
                votes, elected = {}, False
            elif line["says"] == "elected":
                elected = True
            elif line["says"] == "vote" and not elected:
                votes[line["from"]] = (line["epoch"], line["zxid"], line["from"])
    return max(votes.values())[2] if votes and elected else None


def unavailable(cell, watch):
    """Per server, between the two readings of its counters: what it counted, and what it was seen to be."""
    ends = {event["at"]: event for event in cell.events("servers")}
    found = []
    for server, spells in sorted(watch.spells.items()):
        entry = {"server": server, "times": None}
        anew = any(f.kind in COUNTS_ANEW and server in f.event.get("servers", [server]) for f in cell.faults)
        if len(ends) == 2 and not anew:
            begin, end = ends["begin"], ends["end"]
            told, count = (
                end["metrics"].get(str(server), {}).get(name, 0) - begin["metrics"].get(str(server), {}).get(name, 0)
                for name in ("sum_unavailable_time", "cnt_unavailable_time")
            )
            entry["times"] = {"told_ns": round(told * MS), "count": round(count)}
        found.append(entry)
    return found
