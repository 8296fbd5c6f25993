"""Beliefs against what ZooKeeper says: believers that do not own, owners that do not believe."""

from . import spans


class Owner:
    """Who owned the lead of a group: `surely` from when to when."""

    def __init__(self, event, following, end):
        self.session, self.czxid = event["session"], event["czxid"]
        self.surely = (event["to"], following["from"] if following else end)

    def is_of(self, term):
        return (self.session, self.czxid) == (term.session, term.czxid)


def owners(cell):
    """By group, in order of time. Nobody owned the lead while the observer looked and saw no owner yet."""
    found, named = {}, {}
    looked = min((event["t"] for event in cell.events("observer_state") if event["connected"]), default=None)
    for event in cell.events("owner"):
        named.setdefault(event["group"], []).append(event)
    for group in range(len(cell.groups)):
        events = sorted(named.get(group, []), key=lambda event: (event["from"], event["to"]))
        if events and looked is not None and looked < events[0]["from"]:
            events.insert(0, {"from": looked, "to": looked, "session": None, "czxid": None})
        after = events[1:] + [None]
        found[group] = [Owner(event, following, cell.window[1]) for event, following in zip(events, after)]
    return found


def figures(cell):
    blind = blindness(cell)
    zombies, dead = [], []
    for group in range(len(cell.groups)):
        terms, known = cell.terms_of(group), cell.owners[group]
        for term in terms:
            zombies.append(longest_without(cell, term, known, blind))
        for owner in known:
            if owner.czxid is not None:
                beliefs = [term.at_most for term in terms if owner.is_of(term)]
                dead += [b - a for a, b in spans.minus(spans.minus([owner.surely], blind), beliefs)]
    return {
        "zombie_max_ns": max(zombies, default=0),
        "zombies": sum(length > cell.tick_ns for length in zombies),
        "dead_owner_max_ns": max(dead, default=0),
        "dead_owners": sum(length > cell.tick_ns for length in dead),
        "blind_ns": spans.total(spans.clip(blind, *cell.window)),
    }


def longest_without(cell, term, known, blind):
    """For how long at a stretch a term was certain while others, or nobody, owned the lead. A change from one of these to the
    next leaves a moment open: what is less than a tenth of a tick apart is one stretch."""
    if not term.begun:
        return 0
    others = spans.minus([owner.surely for owner in known if not owner.is_of(term)], blind)
    slack = cell.tick_ns // 10
    joined = [(a, b - slack) for a, b in spans.union([(a, b + slack) for a, b in others])]
    return max((b - a for a, b in spans.clip(joined, *term.sure)), default=0)


def blindness(cell):
    gone, since = [], None
    for event in cell.events("observer_state"):
        if event["connected"] and since is not None:
            gone.append((since, event["t"]))
            since = None
        elif not event["connected"] and since is None:
            since = event["t"]
    return gone + ([(since, cell.window[1])] if since is not None else [])
