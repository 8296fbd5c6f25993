"""Compares what was recounted with what the summary says, figure by figure."""

import re

from .numbers import Samples

NEAR = 1e-9


class Tally:
    def __init__(self, not_recounted):
        self.agree, self.differ, self.unknown = 0, [], []
        self.left_out = {}
        self.not_recounted = not_recounted

    def _leave_out(self, reason, value):
        if reason:
            self.left_out[reason] = self.left_out.get(reason, 0) + (1 if reason == "pictures" else figures_in(value))

    def hold(self, path, mine, theirs):
        """Compares a tree, or a figure."""
        if isinstance(mine, Samples):
            self._samples(path, mine, theirs)
        elif hasattr(mine, "holds"):
            self._note(path, mine, theirs, mine.holds(theirs))
        elif isinstance(mine, dict) and isinstance(theirs, dict):
            self._dict(path, mine, theirs)
        elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
            for i, (one, other) in enumerate(zip(mine, theirs)):
                self.hold(f"{path}[{i}]", one, other)
        else:
            self._note(path, mine, theirs, same(mine, theirs))

    def _dict(self, path, mine, theirs):
        for key in list(theirs) + [key for key in mine if key not in theirs]:
            below = f"{path}.{key}" if path else key
            place = re.sub(r"\[\d+\]", "[]", below)
            if place in self.not_recounted and key in theirs:
                self._leave_out(self.not_recounted[place], theirs[key])
            elif key in mine and key in theirs:
                self.hold(below, mine[key], theirs[key])
            elif key in mine:
                self.differ.append((below, mine[key], "(not there)"))
            else:
                self.unknown.append(below)

    def _note(self, path, mine, theirs, is_same):
        if is_same:
            self.agree += figures_in(theirs)
        else:
            self.differ.append((path, mine, theirs))

    def _samples(self, path, mine, theirs):
        if theirs is None:
            self.differ.append((path, f"{len(mine.ended)} samples and {len(mine.open)} censored", None))
            return
        self._dict(path, mine.figures(), {key: value for key, value in theirs.items() if key != "curve"})
        self._note(f"{path}.curve", mine.curve(), theirs["curve"], mine.has_curve(theirs["curve"]))


class Part:
    """A list of which the summary shows a part."""

    def __init__(self, of):
        self.of = of

    def __str__(self):
        return f"some of {self.of}"

    def holds(self, part):
        known = {tuple(item) for item in self.of}
        return isinstance(part, list) and all(tuple(item) in known for item in part)


class OneOf(Part):
    """One of several values: which of them is a matter of attribution."""

    def __str__(self):
        return f"one of {self.of}"

    def holds(self, value):
        return value in self.of


def same(mine, theirs):
    if isinstance(mine, float) or isinstance(theirs, float):
        return None not in (mine, theirs) and abs(mine - theirs) <= NEAR * max(1.0, abs(mine), abs(theirs))
    return mine == theirs and isinstance(mine, bool) == isinstance(theirs, bool)


def figures_in(value):
    if isinstance(value, dict):
        return sum(figures_in(item) for item in value.values())
    if isinstance(value, list):
        return sum(figures_in(item) for item in value) if value else 1
    return 1
