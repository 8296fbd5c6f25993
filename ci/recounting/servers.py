"""The ensemble's own elections, by what its servers said that they were. A server is certainly in a state from the first look
that showed it to the last one; between two looks it may be in either."""

from . import spans
from .compare import OneOf, Part
from .elections import election, unavailable
from .kinds import is_on_servers

SERVING = ("leading", "following", "standalone")
LEADING = ("leading", "standalone")


class Spell:
    """A server in one state: certainly within `sure`, possibly within `at_most`."""

    def __init__(self, event, following, end):
        self.server, self.state, self.zxid = event["server"], event["state"], event["zxid"]
        self.sure = (event["to"], following["from"] if following else end)
        self.at_most = (event["from"], following["to"] if following else end)
        self.begin, self.end = (event["from"], event["to"]), (self.sure[1], self.at_most[1]) if following else None

    def covers(self, begin, end):
        return self.sure[0] <= begin and end <= self.sure[1]

    def touches(self, begin, end):
        return self.at_most[0] < end and begin < self.at_most[1]


class Watch:
    def __init__(self, cell):
        watched = cell.events("server_watched")
        self.gap = max((event["longest_gap_ns"] for event in watched), default=0)
        self.begun = min((event["t"] for event in cell.events("server_watch")), default=0)
        self.begin = min((event["to"] for event in cell.events("server_state")), default=0)
        self.end = max((event["t"] for event in watched), default=cell.last)
        self.spells = {}
        for event in cell.events("server_state"):
            self.spells.setdefault(event["server"], []).append(event)
        for server, events in self.spells.items():
            events.sort(key=lambda event: event["to"])
            after = events[1:] + [None]
            self.spells[server] = [Spell(event, following, self.end) for event, following in zip(events, after)]
        self.size = cell.info["servers"]

    def stretches(self):
        """(begin, end, who led, whether certainly not served) between neighbouring moments of change; leader None: not certain."""
        marks = {self.begin, self.end}
        for spells in self.spells.values():
            for spell in spells:
                marks.update(spell.begin + spell.sure)
        marks = sorted(mark for mark in marks if self.begin <= mark <= self.end)
        return [(a, b) + self._served(a, b) for a, b in zip(marks, marks[1:])]

    def _served(self, begin, end):
        here = {server: [s for s in spells if s.touches(begin, end)] for server, spells in self.spells.items()}
        sure = [spell for spells in here.values() for spell in spells if spell.covers(begin, end) and spell.state in SERVING]
        heads = [spell for spells in here.values() for spell in spells if spell.state in LEADING]
        # Who leads is followed by nobody who leads himself.
        may_follow = {server for server, spells in here.items() if any(spell.state == "following" for spell in spells)}
        most = max((1 + len(may_follow - {head.server}) for head in heads), default=0)
        if 2 * most <= self.size:
            return None, True
        newest = max(heads, key=lambda spell: (epoch(spell) or -1, spell.sure[0]))
        rivals = [spell for spell in heads if spell.server != newest.server]
        if newest not in sure or any((epoch(rival) or -1) >= (epoch(newest) or -1) for rival in rivals):
            return None, False
        with_it = self._loyal(newest, sure) if rivals else [spell for spell in sure if spell is not newest]
        return (newest, False) if 2 * (len(with_it) + 1) > self.size else (None, False)

    def _loyal(self, lead, sure):
        """Beside an older epoch's leader: those that have followed without a break since this one was seen to lead; nobody
        if one that may have followed then has not."""
        rise, loyal = lead.sure[0], []
        for spells in self.spells.values():
            then = [s for s in spells if s.state == "following" and s.at_most[0] <= rise < s.at_most[1]]
            if then and (len(then) > 1 or then[0] not in sure):
                return []
            loyal += then
        return loyal


def interruptions(watch):
    """(the lead before, the lead after, begin, end, times certainly without): between two times at which a quorum was served."""
    found, before, since, without = [], None, watch.begin, []
    for begin, end, lead, no in watch.stretches():
        if lead is None:
            without += [(begin, end)] if no else []
        else:
            if begin > since or before and before.server != lead.server:
                found.append((before, lead, since, begin, without))
            before, since, without = lead, end, []
    if watch.end > since:
        found.append((before, None, since, watch.end, without))
    return [gap for gap in found if gap[0] is not None or gap[1] is not None]


def kind(size, before, after, without):
    """What a time between two at which the quorum was served is: an election where another server leads after it, or the same one in a
    new epoch; where nobody is known to have led before it or after it, if the quorum was certainly not served meanwhile. Else a lull of
    the one that led before. A single server leads without an election."""
    if size < 2:
        return "lull" if before else None
    if before and after:
        return "lull" if (before.server, epoch(before)) == (after.server, epoch(after)) else "election"
    return "election" if without else "lull" if before else None


def figures(cell):
    watch = Watch(cell)
    gaps = [gap_of(cell, gap) for gap in cell.events("write_gap")]
    elections, lulls = [], 0
    for before, after, since, until, without in interruptions(watch):
        without = spans.union(without)
        what = kind(watch.size, before, after, without)
        lulls += what == "lull"
        if what == "election":
            elections.append(election(cell, watch, gaps, before, after, since, until, without))
    if not watch.spells:
        return {"elections": [], "watch": None}
    return {
        "elections": elections,
        "watch.from": watch.begun,
        "watch.to": watch.end,
        "watch.faults": faults(cell, gaps),
        "watch.lulls": lulls,
        "watch.longest_gap_ns": watch.gap,
        "watch.every_ns": cell.events("server_watch")[0]["every_ns"],
        "watch.unavailable": unavailable(cell, watch),
        "watch.writes": probes(cell),
        "watch.led": Part(led(cell)),
    }


def without_quorum(cell):
    """Times in which the quorum may not have been served: elections and lulls."""
    watch = Watch(cell)
    found = interruptions(watch)
    return [
        (since, until) for before, after, since, until, without in found
        if since < until and kind(watch.size, before, after, without)
    ]


def new_leaders(cell):
    """When each new leader of the ensemble can have begun to serve at the earliest."""
    found = []
    for _, after, since, until, without in interruptions(Watch(cell)):
        if after and without:
            logged = [
                event["t"] for event in cell.events("server_log")
                if event["line"]["says"] == "supported" and event["server"] == after.server and since <= event["t"] <= until
            ]
            found.append(min(logged[-1], after.begin[1]) if logged else without[-1][1])
    return found


def faults(cell, gaps):
    """Faults on servers, from their taking effect to their end."""
    return [
        {
            "id": fault.id,
            "kind": fault.kind,
            "servers": fault.event.get("servers", []),
            "from": (fault.injected or {"from": fault.event["t"]})["from"],
            "to": fault.acts_until,
            "verified": fault.is_seen_to_act,
            "writes": OneOf([None] + gaps),
        }
        for fault in cell.faults if is_on_servers(fault.kind)
    ]


def epoch(spell):
    return spell.zxid >> 32 if spell.zxid is not None else None


def probes(cell):
    """How long no write was acknowledged: at least without the interval in which nobody tried."""
    begun = cell.events("write_probe")
    if not begun:
        return None
    ended = cell.events("write_probed")
    gaps = [gap_of(cell, gap) for gap in cell.events("write_gap")]
    return {
        "from": begun[0]["t"],
        "every_ns": begun[0]["every_ns"],
        "acknowledged": ended[0]["acknowledged"] if ended else None,
        "longest": max(gaps, key=lambda gap: gap["least_ns"], default=None),
        "gaps": [[gap["from"], gap["to"]] for gap in gaps],
    }


def gap_of(cell, event):
    length = event["to"] - event["from"]
    least = max(0, length - cell.events("write_probe")[0]["every_ns"])
    return {"from": event["from"], "to": event["to"], "least_ns": least, "most_ns": None if event["ended"] else length}


def led(cell):
    """How many groups somebody certainly led, from each time on at which that changes."""
    steps = {}
    for group in range(len(cell.groups)):
        for begin, end in spans.union([term.sure for term in cell.terms_of(group) if term.begun]):
            steps[begin] = steps.get(begin, 0) + 1
            steps[end] = steps.get(end, 0) - 1
    found, count = [], 0
    for moment, change in sorted(steps.items()):
        count += change
        if change:
            found.append([moment, count])
    return found
