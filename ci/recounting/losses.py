"""Leads that were lost, what explains each, and who led next."""

from . import excuses
from .kinds import LETS_SESSIONS_EXPIRE, is_on_servers


class Loss:
    """A lead that was lost. `since` is the moment that its failover counts from, `deleted` that of a resigner's deletion, and
    `told_from` and `until` those between which a notice of the lost name is about this loss."""

    def __init__(self, cell, lost, fault, following, since=None):
        self.lost, self.fault, self.next, self.until = lost, fault, following, cell.window[1]
        self.deleted, self.since = None, since
        if fault and since is None and fault.kind == "resign":
            self.deleted, self.answered = cell.deletions.get((lost.cand, lost.session, lost.number), (None, None))
        if fault and since is None:
            self.since = min(lost.leaving, self.deleted) if self.deleted else fault.took_effect
        self.told_from = self.deleted or self.since

    @property
    def retaken(self):
        return self.next is not None and self.next.cand == self.lost.cand


def find(cell):
    """(losses that a verified fault explains, changes of the lead that nothing explains, faults that a leader survived)"""
    planned, kept = [], set()
    for fault in cell.faults:
        if fault.is_seen_to_act:
            for term in met(cell, fault):
                loss = Loss(cell, term, fault, None)
                loss.next = successor(cell, loss)
                planned.append(loss)
                if is_kept(cell, loss):
                    kept.add(loss)
    planned.sort(key=lambda loss: (loss.lost.group, loss.since))
    planned, survived = one_a_term(cell, planned, kept)
    limit(cell, planned)
    found, cell.explained, cell.unverified = unexplained(cell, planned)
    return planned, found, survived


def met(cell, fault):
    """Whoever believed, even only possibly, when the proof began, or else when the fault was ordered; of two the later one."""
    found = {}
    for cand in fault.cands:
        for moment in (fault.took_effect, fault.event["t"]):
            held = [term for term in cell.terms_by_cand[cand] if term.asked <= moment <= term.left]
            if held and is_over(cell, held[-1], fault.took_effect):
                break
            if held and is_hit(fault, held[-1]):
                group = held[-1].group
                found[group] = max(held[-1], found.get(group, held[-1]), key=lambda term: term.asked)
                break
    return [term for _, term in sorted(found.items())]


def is_hit(fault, term):
    """Of the answers that were lost, one has to be to the create of the lead's own znode; what nobody recorded rules nothing out."""
    seen = fault.injected.get("seen") or {}
    replies = seen.get("replies", []) if seen.get("of") == "lost" else []
    return not replies or any(reply["zxid"] == term.czxid for reply in replies)


def is_over(cell, term, moment):
    """Whether ZooKeeper had named this lead's owner, and then another one or none."""
    owned = [owner for owner in cell.owners[term.group] if owner.czxid == term.czxid]
    now = [owner for owner in cell.owners[term.group] if owner.surely[0] < moment <= owner.surely[1]]
    return any(owner.surely[1] < moment for owner in owned) and bool(now) and now[-1].czxid != term.czxid


def successor(cell, loss):
    """The first grant after the loss, before candidates leave by order, but for that of the lost lead once more."""
    for term in cell.granted[loss.lost.group]:
        if term.begun > loss.since and term is not loss.lost and not is_lost_lead(cell, loss, term):
            return term if term.begun < cell.window[1] else None
    return None


def is_lost_lead(cell, loss, again):
    """Whether the loser believes once more in what is lost: under a session that is ended by force, by a znode that is deleted or
    whose deletion is under way, or by one in whose place ZooKeeper had named another, or none, before."""
    lost = loss.lost
    if again.life_id != lost.life_id:
        return False
    if loss.fault.kind == "expire":
        return True
    if is_another_znode(lost, again):
        return False
    same_znode = not loss.deleted and again.czxid == lost.czxid != -1
    is_being_deleted = bool(loss.deleted) and again.asked < loss.answered
    return loss.fault.always_costs and (same_znode or is_being_deleted) or is_over(cell, lost, again.asked)


def is_kept(cell, loss):
    """Whether the same incarnation leads on by the same znode without having deleted it, or the belief outlives the fault."""
    lost, following = loss.lost, loss.next
    outlived = outlived_at(cell, loss.fault, lost)
    if following is None:
        led_on = outlived is not None or lost.reason is None and not lost.killed or lost.leaving >= cell.window[1]
        return led_on and not loss.fault.always_costs and not is_over(cell, lost, cell.window[1])
    given_up = is_another_znode(lost, following) or loss.deleted and following.asked >= loss.answered
    if following.life_id == lost.life_id and not given_up and not loss.fault.always_costs:
        return True
    return outlived is not None and following.begun > outlived


def is_another_znode(one, other):
    """Where both are known."""
    return -1 not in (one.czxid, other.czxid) and one.czxid != other.czxid


def outlived(cell, fault, term, moment):
    """Whether the fault was over by then, and the leader surely believed, had its connection, and was named as the owner at some time
    since the fault was over and nobody else after it."""
    if fault.always_costs or fault.over > moment or not term.begun or not term.begun <= moment <= term.leaving:
        return False
    states = [e for e in cell.states[term.session] if e["t"] <= moment]
    if not is_read(cell, term) or states and states[-1]["state"] != "connected":
        return False
    seen = [o for o in cell.owners[term.group] if o.surely[0] <= moment and fault.over <= o.surely[1]]
    return bool(seen) and seen[-1].czxid == term.czxid


def outlived_at(cell, fault, term):
    """From when on the fault explains no loss of this lead: T/2 after it was over where the leader was seen to outlive it by then, or
    as soon as it was granted, if that was later; else when it can have cost nothing any more, if it led for longer. Never of a fault
    that always costs the lead."""
    if fault.always_costs:
        return None
    if term.begun:
        settled = max(term.begun, fault.over + cell.t_ns // 2)
        if settled < fault.explains_until and outlived(cell, fault, term, settled):
            return settled
    led_on = term.leaving > fault.explains_until and not is_over(cell, term, fault.explains_until)
    return fault.explains_until if led_on else None


def is_read(cell, term):
    """Whether the connections of the term's session are reported."""
    return term.session in cell.established and term.host not in cell.undecoded


def lost_contact(cell, session, begin, end):
    """Whether the client had no connection, or its session had ended without its doing, at some time of the span."""
    states = [(e["t"], e["state"]) for e in cell.states[session] if e["t"] <= end]
    before = [state for state in states if state[0] <= begin][-1:]
    return any(state not in ("connected", "closed") for _, state in before + [state for state in states if state[0] > begin])


def one_a_term(cell, planned, kept):
    """Of several faults on one term the first that was not outlived costs it; those before it were survived, and those after it met
    what was lost already. `kept` are those whose fault cost nothing whatever came later. (losses, how many were survived)"""
    of_term = {}
    for loss in planned:
        of_term.setdefault(loss.lost, []).append(loss)
    costs, survived = [], 0
    for losses in of_term.values():
        lived = [one in kept or any(is_survived(cell, one, later) for later in losses[i + 1:]) for i, one in enumerate(losses)]
        first = lived.index(False) if False in lived else len(losses)
        costs += losses[first:first + 1]
        survived += first
    return sorted(costs, key=lambda loss: (loss.lost.group, loss.since)), survived


def is_survived(cell, loss, later):
    """Whether the leader had outlived one loss's fault when that of the other met it."""
    gone = loss.next is not None and loss.next.begun <= later.since
    if gone or loss.fault.always_costs or is_over(cell, loss.lost, later.since):
        return False
    return bool(later.since > loss.fault.explains_until or later.deleted or outlived(cell, loss.fault, loss.lost, later.since))


def limit(cell, planned):
    """Where the next leader's znode has the same name, notices of it are about this loss only until the next owner's goes, or the
    next leader loses the lead; what came before belongs to the loss before. Where a group was made anew, until the name is taken
    again."""
    for loss, after in zip(planned, planned[1:] + [None]):
        lost = loss.lost
        again = named_again(cell, lost, loss.since)
        if loss.fault.kind == "parent-delete":
            # What goes with its whole group is told at once, and its name may be another znode's soon.
            gone = [(e["how"].get("resigned") or {}).get("delete") or [e["t"]] for e in cell.left[lost.cand] if isinstance(e["how"], dict)]
            owns = [o.surely[0] for o in cell.owners[lost.group] if o.session == lost.session and o.czxid != lost.czxid]
            again += [loss.since + 1_000_000_000] + [t for t in owns + [sent[0] for sent in gone] if t > loss.since]
        loss.until = min([loss.until] + again)
        if not loss.next or loss.next.node != lost.node:
            continue
        after = after if after and after.lost.group == lost.group else None
        gone = next_gone(cell, lost, loss.since)
        if after:
            # A session that is left to expire holds on to its znode.
            until = gone if gone and after.fault.kind in LETS_SESSIONS_EXPIRE else gone + [after.told_from]
        else:
            keeps = loss.next.reason == "stepped-down" or loss.next.killed
            until = gone if gone and keeps else gone + [loss.next.leaving]
        loss.until = max(loss.since, min(until + [cell.window[1]]))
        if after:
            after.told_from = max(after.told_from, loss.until)


def named_again(cell, lost, since):
    """When the loser joined with another znode of the lost one's name."""
    return [e["t"] for e in cell.joined[lost.cand] if e["node"] == lost.node and e["czxid"] != lost.czxid and e["t"] > since]


def next_gone(cell, lost, since):
    """When the znode of the next owner went, as far as it was certainly there until then."""
    after = [o for o in cell.owners[lost.group] if o.surely[1] > since and o.czxid not in (None, lost.czxid)]
    return [max(owner.surely[1] for owner in after if owner.czxid == after[0].czxid)] if after else []


def unexplained(cell, planned):
    """Neighbouring terms of different incarnations that are no planned handover: (unplanned ones, those that a verified fault on the
    loser explains though it did not meet it as the leader, those that only a fault without proof could explain)."""
    known, found, explained, unverified = {loss.next for loss in planned}, [], [], 0
    for terms in cell.granted.values():
        for term, following in zip(terms, terms[1:]):
            at = min(term.leaving, following.begun)
            by_order = term.reason == "election-deleted"
            leads_on = term.life_id == following.life_id and not is_another_znode(term, following)
            if leads_on or following in known or by_order or at >= cell.window[1]:
                continue
            # Who stepped down without a connection has the lead as long as its session lives; when a process died is not known exactly.
            kept = term.reason == "stepped-down" and (
                not is_read(cell, term) or lost_contact(cell, term.session, at, max(following.asked, at))
            )
            until = max(at, following.asked if kept else min(term.left, following.asked))
            faults = [f for f in cell.faults if term.cand in f.cands and may_have_cost(cell, f, term, at, until)]
            verified = [fault for fault in faults if fault.is_seen_to_act]
            if verified:
                explained.append(Loss(cell, term, verified[-1], following, at))
            elif faults:
                unverified += 1
            else:
                found.append(Loss(cell, term, None, following))
    return found, explained, unverified


def may_have_cost(cell, fault, term, begin, end):
    """Whether the fault explains that the lead was lost between these times."""
    if not fault.event["t"] <= end or not begin <= fault.explains_until or is_younger(cell, term, fault):
        return False
    past = outlived_at(cell, fault, term)
    return past is None or begin <= past


def is_younger(cell, term, fault):
    """Whether the lead is younger than a fault that is known to be over: won after it, and under a session that was not there before.
    What costs every lead costs none that was won later; where its victims may not know of it at once, none of a znode that they
    had after it."""
    if not fault.is_seen_to_act or fault.healed and not fault.healed["verified"] or term.asked <= fault.over:
        return False
    begun = cell.established.get(term.session, 0)
    if begun > fault.over or fault.always_costs and fault.kind not in excuses.FORCES:
        return True
    return fault.always_costs and min(joined_with(cell, term), default=0) > fault.over


def joined_with(cell, term):
    """When the candidate joined with the znode of this term."""
    return [e["t"] for e in cell.joined[term.cand] if term.czxid != -1 and czxid_of(cell, e) == term.czxid]


def czxid_of(cell, joined):
    """That of the znode that a candidate joined with; where that is not recorded, that of the only znode of its name and session."""
    return cell.token_of(joined | {"czxid": -1}) if joined["czxid"] is None else joined["czxid"]


def is_late(cell, loss):
    """Completed only after the lost session can have expired, though a candidate stood that no fault hit."""
    if not loss.next or loss.next.begun <= loss.fault.explains_until or loss.fault.kind not in LETS_SESSIONS_EXPIRE:
        return False
    return any(stood_untouched(cell, cand, loss) for cand in cell.members[loss.lost.group] if cand != loss.lost.cand)


def stood_untouched(cell, cand, loss):
    end = loss.fault.explains_until
    hit = any(cand in f.cands and f.event["t"] <= end and loss.since <= f.explains_until for f in cell.faults)
    return not hit and stands(cell, cand, loss.since) and stands(cell, cand, end)


def was_cut_off(cell, lost, following):
    """Whether the loser's client had no connection, since a fault on servers that still explains it, for 7/20 T less half a tick. The
    client of an external program may report so late that its session ends at once."""
    gone = None
    for t, state in ((e["t"], e["state"]) for e in cell.states[lost.session] if e["t"] <= following.asked):
        gone = None if state == "connected" else gone if state == "closed" else gone or t
    leaves = 0 if cell.by_kind["program"] else 7 * cell.t_ns // 20 - cell.tick_ns // 2
    at = min(lost.leaving, following.begun)
    if gone is None or gone + leaves > following.asked or gone > max(at, lost.left) + cell.t_ns // 10:
        return False
    hits = (f for f in cell.faults if is_on_servers(f.kind) and f.verified)
    return any(fault.event["t"] <= gone and at <= fault.explains_until for fault in hits)


def is_echo(cell, change):
    """Whether the lead never moved: who followed believed beside the other, which led on after it, no longer than is excused."""
    held, echo = change.lost, change.next
    return held.leaving >= echo.left and excuses.excuse(cell, [echo.at_most], [echo]) is not None


def stands(cell, cand, moment):
    """Whether a candidate had joined by then, and not left since."""
    joined = [event["t"] for event in cell.joined[cand] if event["t"] <= moment]
    left = [event["t"] for event in cell.left[cand] if event["t"] <= moment]
    return bool(joined) and (not left or max(left) < max(joined))


def figures(cell):
    planned, without_cause, survived = cell.losses
    completed = [loss for loss in planned if loss.next]
    return {
        "planned": len(planned),
        "completed": len(completed),
        "injections": len({loss.fault.event["intended"] for loss in planned}),
        "retaken": sum(loss.retaken for loss in completed),
        "censored": len(planned) - len(completed),
        "unplanned": len(without_cause),
        "explained": len(cell.explained),
        "unverified": cell.unverified,
        "excused": sum(was_cut_off(cell, loss.lost, loss.next) or is_echo(cell, loss) for loss in without_cause),
        "late": sum(is_late(cell, loss) for loss in planned),
        "survived": survived,
    }
