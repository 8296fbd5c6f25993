"""Stale writes, from the order in which the resource took the writes. Both ledgers are kept anew from the tokens alone."""

from . import excuses, strikes


class Ledgers:
    """What a resource without a fence, and one with, would have made of the writes of one group so far."""

    def __init__(self):
        self.taken = {"unfenced": (0, None), "fenced": (0, None)}
        self.bar = 0

    def _is_stale(self, ledger, token):
        """An earlier accepted write bore a higher czxid, or the same one under another session."""
        czxid, session = self.taken[ledger]
        return token[0] < czxid or (token[0] == czxid and token[1] != session)

    def _accept(self, ledger, token):
        if token[0] > self.taken[ledger][0]:
            self.taken[ledger] = token

    def write(self, token):
        """(stale without a fence, refused by the fence, stale past the fence)"""
        stale = self._is_stale("unfenced", token)
        self._accept("unfenced", token)
        refused = token[0] < max(self.bar, self.taken["fenced"][0])
        past = not refused and self._is_stale("fenced", token)
        if not refused:
            self._accept("fenced", token)
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
        else:
            judged.append((event, ledger.write((event["czxid"], event["session"]))))
    return judged


def figures(cell):
    judged = recount(cell)
    stale = [write for write, (is_stale, _, _) in judged if is_stale]
    past = [write for write, (_, _, is_past) in judged if is_past]
    excused = [write for write in stale if is_excused(cell, write)]
    return {
        "total": len(judged),
        "unfenced": strikes.rate_of_writes(cell.handovers, stale),
        "excused": len(excused),
        "fenced_off": sum(refused for _, (_, refused, _) in judged),
        "past_fence": strikes.rate_of_writes(cell.handovers, past),
        "on_waking": sum(is_on_waking(cell, write) for write, _ in judged),
    }


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
