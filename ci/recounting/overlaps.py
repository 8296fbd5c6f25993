"""Two leaders at once: overlaps of belief, those that are proven, those that were asleep, those that nobody can exclude."""

from . import excuses, spans, strikes
from .numbers import Samples


class Overlap:
    """Two terms of one group whose beliefs may have met."""

    def __init__(self, cell, first, second):
        self.terms = (first, second)
        self.fuzz = cell.clock_fuzz
        self.length = self._length("sure", -self.fuzz)
        self.length_at_most = self._length("at_most", self.fuzz)
        asleep = spans.union(cell.stopped[first.host] + cell.stopped[second.host])
        begin, end = self.bounds("sure")
        whole = [(begin, end)] if self.length > 0 else []
        self.awake = spans.minus(whole, asleep)
        self.active = max(0, spans.total(self.awake) - self.fuzz)
        a, b = self.bounds("at_most")
        certain = spans.union(cell.surely_stopped[first.host] + cell.surely_stopped[second.host])
        self.maybe_awake = bool(self.length_at_most) and spans.total(spans.minus([(a, b + self.fuzz)], certain)) > 0
        self.latent = spans.total(spans.both([(begin, end - self.fuzz)] if whole else [], asleep))

    def bounds(self, which):
        (a, b), (c, d) = (getattr(term, which) for term in self.terms)
        return (0, 0) if None in (a, c) else (max(a, c), min(b, d))

    def _length(self, which, fuzz):
        begin, end = self.bounds(which)
        return end - begin + fuzz if end - begin + fuzz > 0 and begin else 0


def find(cell):
    found = []
    for group in range(len(cell.groups)):
        terms = cell.terms_of(group)
        for i, first in enumerate(terms):
            for second in terms[i + 1:]:
                if second.asked - cell.clock_fuzz > first.left:
                    continue
                if first.life_id != second.life_id:
                    overlap = Overlap(cell, first, second)
                    if overlap.length or overlap.length_at_most:
                        found.append(overlap)
    return of_newcomers(found)


def of_newcomers(found):
    """Of each term that began while several others lasted, its longest overlap with one of them: there are as many as grants that
    should not have been. Where one of them slept meanwhile, each is a matter of its own."""
    by_newcomer = {}
    for overlap in found:
        by_newcomer.setdefault(overlap.terms[1].key, []).append(overlap)
    kept = []
    for overlaps in by_newcomer.values():
        awake = all(overlap.latent == 0 for overlap in overlaps)
        kept += [max(overlaps, key=lambda one: (one.length, one.length_at_most))] if awake else overlaps
    return kept


def is_in_stall(cell, overlap):
    """Whether a process of the two stalled in it: then nobody knows what it believed."""
    begin, end = overlap.bounds("sure")
    return any(cell.stalled(term.host, begin, end) for term in overlap.terms)


def figures(cell):
    found = find(cell)
    active = [overlap for overlap in found if overlap.active > 0 and not is_in_stall(cell, overlap)]
    doubtful = [overlap for overlap in found if overlap.active > 0 and is_in_stall(cell, overlap)]
    seen, unsure = ([strikes.of_overlap(cell.handovers, one) for one in overlaps] for overlaps in (active, doubtful))
    void = [handover for handover in cell.handovers if handover.stalled or any(handover is other for other in unsure)]
    handovers = [h for h in cell.handovers if any(h is other for other in seen) or not any(h is other for other in void)]
    causes = [excuses.excuse(cell, overlap.awake, overlap.terms) for overlap in active]
    lengths = lengths_of(active)
    latent = [overlap for overlap in found if overlap.latent > 0]
    return {
        "active": strikes.rate(handovers, [strikes.strike_of(cell.handovers, overlap) for overlap in active]),
        "active_total_ns": sum(overlap.active for overlap in active),
        "active_max_ns": max((overlap.active for overlap in active), default=0),
        "excused.waking": causes.count("waking"),
        "excused.forced": causes.count("forced"),
        "latent": len(latent),
        "latent_max_ns": max((overlap.latent for overlap in latent), default=0),
        "possible": possible(cell, found),
        "lengths": lengths if active else None,
    }


def lengths_of(active):
    lengths = Samples()
    for overlap in active:
        lengths.add(overlap.active)
    return lengths


def possible(cell, found):
    """Those in which both may have been awake, of terms that have no proven part in any."""
    known = {term for overlap in found if overlap.active > 0 for term in overlap.terms}
    return sum(1 for overlap in found if overlap.maybe_awake and not known.intersection(overlap.terms))
