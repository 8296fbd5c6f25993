"""Time without a leader, and time without an accepted write."""

from . import spans
from .cell import MS
from .numbers import Tallied

# A term is expected to write when it lasts for so many intervals of work, and so much longer.
INTERVALS, MARGIN_NS = 10, 1000 * MS
# A stall of more than this is no time to write in.
LONG_STALL_NS = MARGIN_NS // 10

# A cell without its measured window has neither.
NO_TIME = {"share": 0.0, "led_ns": 0, "longest_ns": 0, "longest_group": None, "groups_at_end": 0}
NO_EFFECT = {"without_write": 0.0, "longest_ns": 0, "longest_group": None, "between": None, "refused": 0, "refused_terms": 0, "mute_terms": 0,
             "hung_leads": 0, "hung_longest_ns": 0, "terms": 0}


def leaderless(cell):
    """Of the measured window, per group: what no certain belief covers."""
    if not cell.was_measured:
        return NO_TIME
    begin, end = cell.window
    without, longest = 0, (0, None)
    for group, name in enumerate(cell.groups):
        gaps = spans.gaps([term.sure for term in cell.terms_of(group) if term.begun], begin, end)
        without += spans.total(gaps)
        longest = max([longest] + [(b - a, name) for a, b in gaps], key=lambda gap: gap[0])
    return {
        "share": share(without, cell),
        "led_ns": len(cell.groups) * (end - begin) - without,
        "longest_ns": longest[0],
        "longest_group": longest[1],
        "groups_at_end": sum(not led_at(cell, group, end) for group in range(len(cell.groups))),
    }


def led_at(cell, group, moment):
    return any(term.asked <= moment <= term.left for term in cell.terms_of(group))


def share(ns, cell):
    whole = len(cell.groups) * (cell.window[1] - cell.window[0])
    return ns / whole if whole else 0.0


def effect(cell):
    """Of each time between two accepted writes, or one and an end of the window: what is longer than the interval of work."""
    if not cell.was_measured:
        return NO_EFFECT
    begin, end = cell.window
    interval = cell.info["work_interval_ms"] * MS
    times = {group: [begin] for group in range(len(cell.groups))}
    for write in cell.writes:
        if cell.accepts(write) and begin <= write["t"] <= end:
            times[write["group"]].append(write["t"])
    between = [b - a for moments in times.values() for a, b in zip(moments[1:], moments[2:])]
    without, longest = 0, (0, None)
    for group, moments in times.items():
        for a, b in zip(moments, moments[1:] + [end]):
            without += max(0, b - a - interval)
            longest = max(longest, (b - a, cell.groups[group]), key=lambda gap: gap[0])
    long = long_terms(cell, LONG_STALL_NS)
    refused = refused_owners(cell)
    hung = kept_through_hangs(cell)
    return {
        "without_write": share(without, cell),
        "longest_ns": longest[0],
        "longest_group": longest[1],
        "between": Tallied(between) if between else None,
        "refused": len(refused),
        "refused_terms": len({cell.term_of(write) for write in refused}),
        "mute_terms": sum(not has_written(cell, term) for term in long),
        "terms": len(long),
        "hung_leads": len(hung),
        "hung_longest_ns": max(hung, default=0),
    }


def long_terms(cell, stall_ns):
    """Those in which nothing kept their leader from writing for long enough, stalls of more than `stall_ns` among it."""
    enough = INTERVALS * cell.info["work_interval_ms"] * MS + MARGIN_NS
    # What of a stall the harness ordered is none.
    own = [(host, parts) for host, parts, _ in cell.own_stalls if spans.total(parts) > stall_ns]
    hosts = {term.host for term in cell.terms}
    stalls = {at: spans.union([part for host, parts in own if host in (None, at) for part in parts]) for at in hosts}
    return [term for term in cell.terms if term.begun and able(cell, term, stalls) >= enough]


def was_mute(cell):
    """Whether a leader never wrote in a term in which it had the time, short stalls counted as well."""
    return any(not has_written(cell, term) for term in long_terms(cell, 0))


def has_written(cell, term):
    """Whether a write with its token was sent while it certainly led."""
    sent = (write["t"] if write.get("sent") is None else write["sent"] for write in cell.writes_of.get(term.key, []))
    return any(term.begun <= t <= term.leaving for t in sent)


def able(cell, term, stalls):
    """For how long the leader could write: not while its process was stopped or its work hung, nor while it, or what is no host,
    stalled for long."""
    led = [(term.begun, min(term.leaving, cell.window[1]))]
    hung = [(f.effective[0], f.ended(term.host, "to", cell.last)) for f in cell.hangs if term.host in f.event["hosts"]]
    return spans.total(spans.minus(spans.minus(spans.minus(led, cell.stopped[term.host]), stalls[term.host]), spans.union(hung)))


def kept_through_hangs(cell):
    """How long each verified hang was through which somebody surely led on its host, for each such lead."""
    through = []
    for fault in (fault for fault in cell.hangs if fault.is_seen_to_act):
        begin = fault.injected["to"]
        led = [term for term in cell.terms if term.begun and term.host in fault.event["hosts"]]
        ended = ((term, fault.ended(term.host, "from", cell.last)) for term in led)
        through += [end - begin for term, end in ended if begin < end and term.begun <= begin and end <= term.leaving]
    return through


def refused_owners(cell):
    """Writes that were refused while ZooKeeper said all along that their leader owns the lead, and it surely led."""
    refused = []
    for write in cell.writes:
        term = cell.term_of(write)
        if cell.accepts(write) or term is None or not term.begun:
            continue
        mine = [o for o in cell.owners[write["group"]] if o.czxid == write["czxid"] and o.session == write["session"]]
        if term.begun <= write["t"] <= term.leaving and any(o.surely[0] <= write["t"] <= o.surely[1] for o in mine):
            refused.append(write)
    return refused
