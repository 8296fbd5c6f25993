"""Stale writes, from the order in which the resource took the writes. Both ledgers are kept anew from the tokens alone."""

from . import excuses, spans, injections

# Of a write whose token nobody knows.
UNKNOWN_CZXID = -1


class Ledger:
    """The accepted writes of one group so far: the highest czxid, and which incarnations wrote with it."""

    def __init__(self):
        self.highest, self.incarnations = None, set()

    def accept(self, czxid, incarnation):
        """Whether the write is stale: an earlier one bore a higher czxid, or the same one from another incarnation."""
        if self.highest is None or czxid > self.highest:
            self.highest, self.incarnations = czxid, set()
        stale = czxid < self.highest or bool(self.incarnations - {incarnation})
        if czxid == self.highest:
            self.incarnations.add(incarnation)
        return stale


class Ledgers:
    """What a resource without a fence, and one with, would have made of the writes of one group so far."""

    def __init__(self):
        self.unfenced, self.fenced = Ledger(), Ledger()
        self.bar = 0

    def write(self, czxid, incarnation):
        """(stale without a fence, refused by the fence, stale past the fence)"""
        stale = self.unfenced.accept(czxid, incarnation)
        refused = czxid < self.bar
        past = not refused and self.fenced.accept(czxid, incarnation)
        self.bar = max(self.bar, czxid)
        return stale, refused, past

    def fence(self, old_czxid):
        """A newcomer had its predecessor's token refused from here on."""
        self.bar = max(self.bar, old_czxid + 1)


def recount(cell):
    """The three judgements of every write, in the order of the resource."""
    ledgers, judged = {}, []
    for event in cell.resource_order:
        ledger = ledgers.setdefault(event["group"], Ledgers())
        if event["e"] == "fence":
            if event["how"] == "resource" and event["done"]:
                ledger.fence(event["old_czxid"])
        elif event["czxid"] == UNKNOWN_CZXID:
            judged.append((event, (False, False, False)))
        else:
            judged.append((event, ledger.write(event["czxid"], (event["session"], event["cand"]))))
    return judged


def figures(cell):
    judged = recount(cell)
    stale = [write for write, (is_stale, _, _) in judged if is_stale]
    past = [write for write, (_, _, is_past) in judged if is_past]
    doubtful = left_out(cell, stale)
    excused = [write for write in stale if write["seq"] not in doubtful and is_excused(cell, write)]
    return {
        "total": len(judged) - len(doubtful),
        "unfenced": injections.rate_of_writes(cell.handovers, stale, doubtful),
        "excused": len(excused),
        "fenced_off": sum(refused for _, (_, refused, _) in judged),
        "past_fence": injections.rate_of_writes(cell.handovers, past, doubtful),
        "misread": len(doubtful),
        "unordered": sum(write["czxid"] == UNKNOWN_CZXID for write, _ in judged),
        "met": met([write for write, _ in judged if write["czxid"] != UNKNOWN_CZXID]),
        "on_waking": sum(is_on_waking(cell, write) for write, _ in judged),
    }


def met(writes):
    """Pairs of leads of different candidates of which each wrote before the other was done, by the order of arrival."""
    leads = {}
    for write in writes:
        key = (write["group"], write["cand"], write["session"], write["czxid"])
        leads.setdefault(key, []).append((write["seq"], write["t"]))
    by_group = {}
    for key, wrote in leads.items():
        by_group.setdefault(key[0], []).append((key[1], min(wrote), max(wrote)))
    pairs, longest = 0, 0
    for of_group in by_group.values():
        of_group.sort(key=lambda lead: lead[1])
        for place, (cand, _, last) in enumerate(of_group):
            for other, first, end in of_group[place + 1:]:
                if first > last:
                    break
                if other != cand:
                    pairs, longest = pairs + 1, max(longest, min(last, end)[1] - first[1])
    return {"pairs": pairs, "longest_ns": longest}


def left_out(cell, stale):
    """Numbers of the stale writes that may be so by a stall of the harness alone."""
    return {write["seq"] for write in stale if stalled_before(cell, write) or is_misread(cell, write)}


def stalled_before(cell, write):
    """Whether its leader's process stalled for long, and went on less than T/5 before."""
    t, soon = write["t"], cell.long_stall_ns * 10 // 5
    return any(begin <= t <= end + soon for begin, end in cell.long_stalls[write["host"]])


def is_misread(cell, write):
    """Sent by the only leader before all that make it stale, while for half of its way or more a process of no host did not run."""
    sent, t, rival = write.get("sent"), write["t"], rival_sent(cell, write)
    if sent is None or rival is None or sent + cell.clock_fuzz >= rival:
        return False
    stalls = spans.union([part for host, part in cell.stall_spans if host is None])
    stalled = spans.total(spans.clip(stalls, sent, t))
    return stalled > 0 and 2 * stalled >= t - sent and led_alone(cell, write, sent)


def rival_sent(cell, write):
    """When the first was sent of the earlier writes that make it stale; None where that is not recorded of all."""
    me, first = (write["czxid"], write["session"], write["cand"]), {}
    for other in cell.writes:
        if other["seq"] < write["seq"] and other["group"] == write["group"]:
            first.setdefault((other["czxid"], other["session"], other["cand"]), other.get("sent"))
    rivals = [sent for key, sent in first.items() if key[:2] > me[:2] or key[0] == me[0] and key != me]
    return None if not rivals or None in rivals else min(rivals)


def led_alone(cell, write, at):
    key, fuzz = (write["group"], write["cand"], write["session"], write["czxid"]), cell.clock_fuzz
    terms = cell.terms_of(write["group"])
    led = any(term.key == key and term.begun and term.begun <= at <= term.leaving for term in terms)
    return led and not any(term.key != key and term.asked <= at + fuzz and at <= term.left + fuzz for term in terms)


def is_on_waking(cell, write):
    """Whether it was sent between the waking of its process and the end of a term of its token that this ended."""
    sent, token = write.get("sent", write["t"]), (write["group"], write["cand"], write["session"], write["czxid"])
    ended = [t for t in cell.terms if t.key == token and t.reason in ("stepped-down", "session-ended", "deposed")]
    return any(
        stop.kind == "pause" and term.cand in stop.cands and stop.injected and stop.healed
        and term.asked <= stop.injected["from"] <= term.left and term.leaving <= stop.explains_until
        and stop.healed["from"] <= sent <= term.left
        for stop in cell.faults for term in ended
    )


def is_excused(cell, write):
    """By what happened to its own candidate, in the very term that it is of."""
    term = cell.term_of(write)
    return bool(term) and excuses.excuse(cell, [(write["t"], write["t"] + 1)], [term]) is not None


def judged_otherwise(cell):
    """Writes that the record says the resource judged in another way."""
    flags = ("unfenced_stale", "fenced_rejected", "fenced_stale")
    return [write["seq"] for write, mine in recount(cell) if tuple(write[flag] for flag in flags) != mine]
