"""Sets of time: sorted lists of disjoint (from, to)."""


def union(spans):
    merged = []
    for begin, end in sorted(span for span in spans if span[1] > span[0]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def clip(spans, begin, end):
    cut = ((max(a, begin), min(b, end)) for a, b in spans)
    return [(a, b) for a, b in cut if b > a]


def gaps(spans, begin, end):
    """What of begin..end the spans leave."""
    left, at = [], begin
    for a, b in union(clip(spans, begin, end)):
        if a > at:
            left.append((at, a))
        at = max(at, b)
    if end > at:
        left.append((at, end))
    return left


def minus(spans, others):
    return [gap for a, b in union(spans) for gap in gaps(others, a, b)]


def total(spans):
    return sum(b - a for a, b in spans)


def both(first, second):
    return [(max(a, c), min(b, d)) for a, b in union(first) for c, d in union(second) if min(b, d) > max(a, c)]
