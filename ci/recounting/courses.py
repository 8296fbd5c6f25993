"""The failover in the middle, moment by moment: of those that are as long as the median, the first in the order of their moments."""

from .excess import floor_of
from .numbers import Samples
from .phases import Taker, Told, first_write, medians_of, wakes

# In this order two of the same length are told apart.
MOMENTS = ("granted", "touched_before", "due", "released", "told", "last_told", "written")


def of(cell):
    """Those of all failovers that ended and are not void."""
    courses = []
    for loss in cell.losses[0]:
        taker = Taker(cell, loss, medians_of(cell))
        if loss.next and taker.take(Samples(), "whole", loss.since, loss.next.begun, True) is not None:
            courses.append(course(cell, loss))
    return courses


def course(cell, loss):
    end, told, last = loss.next.begun, None, None
    if wakes(cell) != "none":
        heard = Told(cell, loss)
        told = heard.times[0] if heard.times else None
        last = max(heard.first_of.values()) if told and wakes(cell) != "one" else None
    touched, _, due = floor_of(cell, loss, told or end)
    released = (loss.deleted or loss.since) if loss.fault.kind == "resign" else None

    def after(moment):
        return None if moment is None else max(0, moment - loss.since)

    before = None if touched is None else max(0, loss.since - touched)
    values = (after(end), before, *map(after, (due, released, told, last, first_write(cell, loss))))
    return dict(zip(MOMENTS, values))


def middle(courses, whole):
    """The one that is as long as the median of the whole failovers; None where that is hidden."""
    median = whole.quantile(0.5) if whole else None
    of_it = [course for course in courses if median is not None and course["granted"] == median]
    return min(of_it, key=lambda course: [-1 if course[name] is None else course[name] for name in MOMENTS], default=None)
