"""Two leaders at once: overlaps of belief, those that are definite, those that were asleep, those that nobody can exclude."""

from . import excuses, spans, injections
from .numbers import Samples


class Overlap:
    """Two terms of one group whose beliefs may have met. `awake` is when both surely believed and ran, `left` what stalls of the
    harness leave of that."""

    def __init__(self, cell, first, second):
        self.terms = (first, second)
        self.fuzz = cell.clock_fuzz
        asleep = spans.union(cell.stopped[first.host] + cell.stopped[second.host])
        begin, end = self.bounds("sure")
        self.awake = self.shortened(spans.minus([(begin, end)], asleep))
        self.left = spans.minus(self.awake, stalled_parts(cell, first, second))
        self.active = spans.total(self.left)
        a, b = self.bounds("at_most")
        certain = spans.union(cell.surely_stopped[first.host] + cell.surely_stopped[second.host])
        self.maybe_awake = bool(a) and spans.total(spans.minus([(a, b + self.fuzz)], certain)) > 0
        self.latent = spans.total(spans.both(self.shortened([(begin, end)]), asleep))

    def bounds(self, which):
        (a, b), (c, d) = (getattr(term, which) for term in self.terms)
        return (0, 0) if None in (a, c) else (max(a, c), min(b, d))

    def shortened(self, parts):
        """Less the clock's uncertainty, each."""
        return [(a, b - self.fuzz) for a, b in parts if b - self.fuzz > a]


def stalled_parts(cell, first, second):
    """When a process of the two stalled for longer than T/10; and how long the one that should have stepped down, by its token, may
    have gone on after it woke."""
    def is_newer(one, other):
        return -1 not in (one.czxid, other.czxid) and one.czxid > other.czxid

    parts = excuses.stalled(cell, first, not is_newer(first, second)) + excuses.stalled(cell, second, not is_newer(second, first))
    return spans.union(parts)


def find(cell):
    """All pairs."""
    found = []
    for group in range(len(cell.groups)):
        terms = cell.terms_of(group)
        for i, first in enumerate(terms):
            for second in terms[i + 1:]:
                if second.asked - cell.clock_fuzz > first.left:
                    continue
                if first.life_id != second.life_id:
                    overlap = Overlap(cell, first, second)
                    if overlap.awake or overlap.latent or overlap.maybe_awake:
                        found.append(overlap)
    return found


def figures(cell):
    found = find(cell)
    active = [overlap for overlap in found if overlap.active > 0]
    doubtful = [overlap for overlap in found if overlap.awake and not overlap.left]
    seen, unsure = ([injections.of_overlap(cell.handovers, one) for one in overlaps] for overlaps in (active, doubtful))
    void = [h for h in cell.handovers if h.stalled or not h.has_rival or any(h is other for other in unsure)]
    handovers = [h for h in cell.handovers if any(h is other for other in seen) or not any(h is other for other in void)]
    causes = [excuses.excuse(cell, overlap.left, overlap.terms) for overlap in active]
    lengths = lengths_of(active)
    latent = [overlap for overlap in found if overlap.latent > 0]
    return {
        "active": injections.rate(handovers, [injections.injection_of(cell.handovers, overlap) for overlap in active]),
        "active_total_ns": sum(overlap.active for overlap in active),
        "active_max_ns": max((overlap.active for overlap in active), default=0),
        "excused.waking": causes.count("waking"),
        "excused.forced": causes.count("forced"),
        "latent": len(latent),
        "latent_max_ns": max((overlap.latent for overlap in latent), default=0),
        "possible": sum(overlap.maybe_awake and not overlap.awake for overlap in found),
        "lengths": lengths if active else None,
    }


def undisturbed(cell):
    """The longest active overlap, each without the stalls of its two processes, or of one of no host, that did not run for the most of
    them; and without the times in which a server did not run."""
    stalls, servers = list(zip(cell.own_stalls, cell.stall_spans, strict=True)), servers_halted(cell)

    def left(overlap):
        hosts = {None} | {term.host for term in overlap.terms}
        kept = [span for (host, parts, waited), (_, span) in stalls if host in hosts and 2 * waited > spans.total(parts)]
        return spans.total(spans.minus(overlap.left, spans.union(kept + servers)))

    return max((left(overlap) for overlap in find(cell) if overlap.active > 0), default=0)


def servers_halted(cell):
    """When a thread of a server waited for a processor, or a server's log says that it had paused until then."""
    waited = [(event["from"], event["to"]) for event in cell.events("server_wait")]
    logged = [(event["t"], event["line"]) for event in cell.events("server_log")]
    return waited + [(max(0, t - line["ms"] * 1_000_000), t) for t, line in logged if line["says"] == "paused"]


def lengths_of(active):
    lengths = Samples()
    for overlap in active:
        lengths.add(overlap.active)
    return lengths

