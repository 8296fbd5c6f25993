"""Beliefs against what ZooKeeper says: believers that do not own, owners that do not believe."""

from . import spans


class Owner:
    """Who owned the lead of a group: `surely` from when to when."""

    def __init__(self, event, surely):
        self.session, self.czxid, self.surely = event["session"], event["czxid"], surely

    def is_of(self, term):
        return self.session == term.session and (self.czxid in (None, term.czxid) or term.czxid == -1)


NOBODY = {"session": None, "czxid": None}


def owners(cell):
    """By group, in order of time. Nobody owned the lead while the observer looked and saw no owner yet."""
    found, named, blind = {}, {}, blindness(cell)
    looked = min((event["t"] for event in cell.events("observer_state") if event["connected"]), default=None)
    for event in cell.events("owner"):
        named.setdefault(event["group"], []).append(event)
    for group in range(len(cell.groups)):
        events = sorted(named.get(group, []), key=lambda event: (event["from"], event["to"]))
        found[group] = []
        unseen = blind + unanswered(cell, group)
        if events and looked is not None and looked < events[0]["from"]:
            found[group] += known(unseen, NOBODY, looked, looked, events[0]["from"])
        runs = same_znode(events)
        for run, after in zip(runs, runs[1:] + [None]):
            end = after[0]["from"] if after else cell.window[1]
            last = run[-1]["to"]
            again = max(min(sighted(cell, last), end), last)
            found[group] += known(unseen, run[0], run[0]["to"], again, max(end, again))
    return found


def same_znode(events):
    """Neighbours that name the same znode: it is made once, so that it was there, and the first, all the time between."""
    runs = []
    for event in events:
        if runs and event["czxid"] is not None and runs[-1][-1]["czxid"] == event["czxid"]:
            runs[-1].append(event)
        else:
            runs.append([event])
    return runs


def known(unseen, event, begin, certain, end):
    """Certain until `certain`, and from there to `end` while the observer saw, and knew the group's owner."""
    sure = spans.union([(begin, certain)] + spans.minus([(certain, end)], unseen))
    return [Owner(event, span) for span in sure]


def sighted(cell, moment):
    """What was read while it was about to see again holds until it said so."""
    states = sorted((event["t"], event["connected"]) for event in cell.events("observer_state"))
    before = [state for state in states if state[0] < moment]
    after = [state for state in states if state[0] >= moment]
    return after[0][0] if before and after and not before[-1][1] and after[0][1] else moment


def unanswered(cell, group):
    """From each question about the group that was not answered until its owner was told again."""
    told = sorted(event["to"] for event in cell.events("owner") if event["group"] == group)
    asked = [event["t"] for event in cell.events("observer_missed") if event.get("group") == group]
    return [(t, next((other for other in told if other > t), cell.last)) for t in asked]


def figures(cell):
    """Of the measured window alone."""
    blind = blindness(cell)
    zombies, dead = [], []
    for group in range(len(cell.groups)):
        terms, intervals = cell.terms_of(group), cell.owners[group]
        for term in terms:
            zombies.append(longest_without(cell, term, intervals))
        for owner in intervals:
            if owner.session is not None:
                beliefs = [term.at_most for term in terms if owner.is_of(term)]
                dead += [b - a for a, b in spans.minus(spans.clip([owner.surely], *cell.window), beliefs)]
    missed = sum(cell.measures(event["t"]) for event in cell.events("observer_missed"))
    return ({"missed": missed} if missed else {}) | {
        "zombie_max_ns": max(zombies, default=0),
        "zombies": sum(length > cell.tick_ns for length in zombies),
        "dead_owner_max_ns": max(dead, default=0),
        "dead_owners": sum(length > cell.tick_ns for length in dead),
        "blind_ns": spans.total(spans.clip(blind, *cell.window)),
    }


def longest_without(cell, term, intervals):
    """For how long at a stretch a term was certain while others, or nobody, owned the lead. A change from one of these to the
    next leaves a moment open: what is less than a tenth of a tick apart is one stretch, unless it owned the lead in between."""
    if not term.begun:
        return 0
    others = [owner.surely for owner in intervals if not owner.is_of(term)]
    begun = [owner for owner in intervals if owner.surely[0] < term.sure[1]]
    own = max((place for place, owner in enumerate(begun) if owner.is_of(term)), default=None)
    if own is not None and own + 1 < len(begun) and begun[own].czxid == term.czxid != -1:
        # Its znode has gone, and none comes back.
        others.append((begun[own + 1].surely[0], begun[-1].surely[1]))
    slack = cell.tick_ns // 10
    joined = [(a, b - slack) for a, b in spans.union([(a, b + slack) for a, b in others])]
    joined = spans.minus(joined, [owner.surely for owner in begun if owner.is_of(term)])
    return max((b - a for a, b in spans.clip(spans.clip(joined, *term.sure), *cell.window)), default=0)


def blindness(cell):
    gone, since = [], None
    for event in cell.events("observer_state"):
        if event["connected"] and since is not None:
            gone.append((since, event["t"]))
            since = None
        elif not event["connected"] and since is None:
            since = event["t"]
    return gone + ([(since, cell.window[1])] if since is not None else [])
