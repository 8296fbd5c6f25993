"""Writes outside the terms of those who sent them, by the stamp of their sending."""

from collections import defaultdict

from . import spans, tokens
from .cell import UNKNOWN


def figures(cell):
    """None is left to whoever leads: a write lies within a term of its own candidate, session and token, from before the grant to
    after the revoke, give or take the clock's uncertainty."""
    terms, incarnations = defaultdict(list), defaultdict(list)
    for term in cell.terms:
        terms[term.key].append(term)
        incarnations[term.life_id].append(term)
    early, late, nowhere, under, slowest, unsure = [], [], 0, 0, 0, 0
    recorded = [write for write in cell.writes if write.get("sent") is not None]
    programs = {segment.host for segment, _ in cell.by_kind["program"]}
    for write in cell.writes:
        sent = write.get("sent")
        own = incarnations[write["cand"], write["session"]]
        mine = terms.get((write["group"], write["cand"], write["session"], write["czxid"]), [])
        # Where a token is not known, nothing tells its terms from the sender's others.
        if write["czxid"] == UNKNOWN:
            mine = own
        elif not mine:
            mine = [term for term in own if term.czxid == UNKNOWN]
        if sent is None:
            # It was sent before it came: after its leader's revoke perhaps, if it was hardly on its way for so long.
            came = write["t"]
            if not mine:
                nowhere += 1
            elif came + cell.clock_fuzz < mine[0].asked:
                early.append(mine[0].asked - came)
            elif is_late(cell, mine, came):
                unsure += 1
            continue
        slowest = max(slowest, write["t"] - sent)
        around = [term for term in mine if term.asked - cell.clock_fuzz <= sent <= term.left + cell.clock_fuzz]
        if not mine:
            nowhere += 1
        elif around:
            if any(is_after_deletion(cell, term, write) for term in around):
                under += 1
            elif write["host"] in programs and is_late(cell, mine, write["t"]):
                # A program stamps its writes itself, as early as it likes: this one may have been sent after the revoke.
                unsure += unexplained(cell, write) > on_the_way(cell)
        elif sent < mine[0].asked:
            early.append(mine[0].asked - sent)
        else:
            late.append(min(sent - term.left for term in mine if term.left < sent))
    return {
        "outside": len(early) + len(late) + nowhere + under,
        "recorded": len(recorded),
        "terms": len(cell.terms),
        "before_grant": len(early),
        "earliest_ns": max(early, default=0),
        "after_revoke": len(late),
        "latest_ns": max(late, default=0),
        "without_term": nowhere,
        "under_release": under,
        "slowest_ns": slowest,
        "not_recorded": len(cell.writes) - len(recorded),
        "late_unknown": unsure,
    }


def on_the_way(cell):
    """No write takes longer from its sender to the resource, if nothing keeps it."""
    return cell.timeout_ns // 20 + cell.clock_fuzz


def is_late(cell, terms, came):
    """Whether it came longer after the end of all terms that had begun than a write is on its way."""
    ends = [term.left for term in terms if term.asked <= came]
    return bool(ends) and came > max(ends) + on_the_way(cell)


def unexplained(cell, write):
    """How long it took from its stamp to the resource without the time in which it was withheld, or in which its program, the
    host beside that or the coordinator stood still."""
    host, way = write["host"], (write["sent"], write["t"])
    stalled = [(e["from"], e["to"]) for s, e in cell.by_kind["stall"] if s.host == host or s.writer == "coordinator"]
    kept = spans.union(tokens.hung(cell, host) + cell.stopped[host] + stalled)
    return way[1] - way[0] - spans.total(spans.clip(kept, *way))


def is_after_deletion(cell, term, write):
    """Whether the resource took it after the leader's own deletion of its znode was sent."""
    deletion = cell.deletions.get((term.cand, term.session, term.number))
    return bool(deletion) and write["t"] > deletion[0]
