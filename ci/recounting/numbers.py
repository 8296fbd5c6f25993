"""Quantiles where some samples did not end (Kaplan and Meier), and bounds on rates (Clopper and Pearson)."""

import math


def bound_95(seen, n):
    """The rate at which no more than `seen` of `n` would still be seen in one of twenty."""
    if n == 0:
        return None
    if seen >= n:
        return 1.0
    if seen == 0:
        return 1.0 - 0.05 ** (1.0 / n)
    low, high = seen / n, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(seen, n, middle) > 0.05 else (low, middle)
    return (low + high) / 2


def _at_most(seen, n, rate):
    def log_choose(k):
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    logs = (log_choose(k) + k * math.log(rate) + (n - k) * math.log1p(-rate) for k in range(seen + 1))
    return math.fsum(math.exp(value) for value in logs if value > -700)


class Samples:
    """Times that were measured, and times after which nobody had seen the end."""

    def __init__(self):
        self.ended, self.open, self.void = [], [], 0

    def add(self, ns, ended=True):
        (self.ended if ended else self.open).append(max(0, ns))

    def union(self, others):
        """All of these samples, each as it is."""
        for other in others:
            self.ended, self.open, self.void = self.ended + other.ended, self.open + other.open, self.void + other.void
        return self

    def shown(self):
        """None without a sample. Of those that are all void only their number is known."""
        return self if self.ended or self.open or self.void else None

    def curve(self):
        """(value, share of all samples that are no longer), by Kaplan and Meier, at each value that was seen to end. A sample
        that was left at a time outlives one that ended at that time."""
        marks = sorted([(ns, 0) for ns in self.ended] + [(ns, 1) for ns in self.open])
        steps, alive, outlive = [], len(marks), 1.0
        for ns, is_open in marks:
            if not is_open:
                outlive *= (alive - 1) / alive
                if steps and steps[-1][0] == ns:
                    steps.pop()
                steps.append((ns, 1.0 - outlive))
            alive -= 1
        return steps

    def quantile(self, share):
        return next((ns for ns, part in self.curve() if part >= share - 1e-9), None)

    def usual(self):
        """The median, or the longest where what did not end hides it."""
        middle = self.quantile(0.5)
        return max(self.ended + self.open, default=0) if middle is None else middle

    def figures(self):
        """As summaries show them. Below a hundred samples there is no p99."""
        few = len(self.ended) + len(self.open) < 100
        return {
            "n": len(self.ended),
            "censored": len(self.open),
            "void": self.void,
            "min": min(self.ended, default=0),
            "p50": self.quantile(0.5),
            "p90": self.quantile(0.9),
            "p99": None if few else self.quantile(0.99),
            "max": max(self.ended, default=0),
            "mean": sum(self.ended) // len(self.ended) if self.ended else 0,
        }

    def has_curve(self, points):
        """Whether these are points of the curve, at most 200 of them, rising, and its last one among them."""
        steps = self.curve()
        shares = dict(steps)
        near = all(ns in shares and abs(shares[ns] - share) < 1e-9 for ns, share in points)
        last = [point[0] for point in points[-1:]] == [step[0] for step in steps[-1:]]
        return near and last and len(points) <= 200 and points == sorted(points)


class Tallied:
    """Times that were too many to keep: a histogram's quantiles may be a thousandth longer than those of the times."""

    def __init__(self, times):
        self.times = sorted(times)

    def __str__(self):
        return f"n {len(self.times)}, p50 {self._at(0.5)}, p99 {self._at(0.99)}, max {self.times[-1]}"

    def _at(self, share):
        return self.times[max(0, math.ceil(share * len(self.times) - 1e-9) - 1)]

    def holds(self, shown):
        if shown is None:
            return False
        shares = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
        near = all(
            shown[name] is None or self._at(share) <= shown[name] <= self._at(share) * 1.001 + 1
            for name, share in shares.items()
        )
        few = len(self.times) < 1000
        exact = (shown["n"], shown["max"]) == (len(self.times), self.times[-1])
        return near and exact and few == (shown["p999"] is None) and set(shown) == {"n", "max", *shares}
