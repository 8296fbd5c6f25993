"""Repetitions of one configuration together: figures of all their samples and of all their injections, and what did not enter."""

from . import courses, excess, phases
from .numbers import Samples, bound_95
from .verdicts import worst

# What tells a repetition from the others of its configuration.
OWN = ("index", "name", "repetition")


class Member:
    """A cell that is a repetition, with its figures as they were recounted and as the summary has them."""

    def __init__(self, cell, tree, summary, is_whole):
        self.cell, self.tree, self.summary, self.is_whole = cell, tree, summary, is_whole
        self.repetition = cell.info["repetition"]
        self.t_ms = tree["timeout_ms"]
        plain = {key: value for key, value in cell.info.items() if key not in OWN}
        self.configuration = (self.repetition["of"], self.repetition["count"], plain)


def of(record, cells, trees):
    """Nothing where no cell is a repetition."""
    named = [entry for entry, segments in record.cells if any(e["e"] == "cell" for s in segments for e in s.events)]
    read = {entry["index"]: len(segments) for entry, segments in record.cells}
    members = []
    for cell, tree, entry, summary in zip(cells, trees, named, record.summary["cells"]):
        if cell.info.get("repetition"):
            is_whole = entry["complete"] and read[entry["index"]] == len(entry["segments"])
            members.append(Member(cell, tree, summary, is_whole))
    return {"pools": [pool(group) for group in grouped(members)]} if members else {}


def grouped(members):
    groups = []
    for member in members:
        for group in groups:
            known = [other.t_ms for other in group if other.t_ms is not None]
            if group[0].configuration == member.configuration and (not known or member.t_ms in (known[0], None)):
                group.append(member)
                break
        else:
            groups.append([member])
    return groups


def pool(members):
    entered = [member for member in members if member.is_whole]
    planned = max(members[0].repetition["count"], len(members))
    verdicts = [member.summary["verdict"] for member in members]
    missing = ["inconclusive"] if len(entered) < planned else []
    return {
        "name": members[0].repetition["of"],
        "verdict": worst(verdicts + missing),
        "unsafe_as_expected": any(member.summary["unsafe_as_expected"] for member in members),
        "timeout_ms": next((member.t_ms for member in members if member.t_ms is not None), None),
        "planned": planned,
        "pooled": len(entered),
        "failed": verdicts.count("fail"),
        "inconclusive": verdicts.count("inconclusive"),
        "repetitions": [repetition(member) for member in members],
        "medians": medians(entered),
        "handovers": sums([member.tree["handovers"] for member in entered], members[0].tree["handovers"]),
        "failover": failover(entered),
        "split_brain": split_brain(entered),
        "writes": writes(entered),
        "without_leader": without(entered, "leaderless", "share"),
        "without_write": without(entered, "effect", "without_write"),
    }


def median(member):
    whole = member.tree["failover"]["whole"]
    return whole.quantile(0.5) if whole else None


def repetition(member):
    return {
        "cell": member.cell.info["name"],
        "number": member.repetition["number"],
        "verdict": member.summary["verdict"],
        "unsafe_as_expected": member.summary["unsafe_as_expected"],
        "pooled": member.is_whole,
        "p50": median(member),
    }


def medians(members):
    """The smallest and the largest of those that had a failover; one that is hidden is longer than all that are known."""
    wholes = [member.tree["failover"]["whole"] for member in members]
    found = [whole.quantile(0.5) for whole in wholes if whole and (whole.ended or whole.open)]
    known = [ns for ns in found if ns is not None]
    if not found:
        return None
    return {"of": len(found), "least": min(known, default=None), "most": None if None in found else max(known)}


def union(parts):
    return Samples().union(parts).shown()


def failover(members):
    samples = [phases.samples_of(member.cell) for member in members]
    together = {name: union(part[name] for part in samples) for name in (*phases.PHASES, "floor")}
    sections = [member.tree["failover"] for member in members]
    counts = sums(sections, ("void", "beside_pauses", "floor_failed", "floor_pairs"))
    every = [course for member in members for course in courses.of(member.cell)]
    middle = courses.middle(every, together["whole"])
    return together | counts | {"excess": over_the_floor(members), "course": middle}


def over_the_floor(members):
    seen = [excess.seen_of(member.cell) for member in members]
    if not seen:
        return None
    together = {name: Samples().union(part[name] for part in seen) for name in ("over_floor", "over_naive_floor", "over_restarted_floor")}
    counts = sums(seen, ("early", "beyond_window", "restarted"))
    return excess.shown(together | counts | {"window_ns": seen[0]["window_ns"]})


def rate(rates):
    """Bounds are those of all injections together: no two cells share one."""
    together = sums(rates, ("seen", "n", "injections", "bad_injections"))
    return together | {"upper_95": bound_95(together["bad_injections"], together["injections"])}


def sums(sections, names):
    return {name: sum(section[name] for section in sections) for name in names}


def split_brain(members):
    parts = [member.tree["split_brain"] for member in members]
    most = ("active_max_ns", "latent_max_ns")
    return sums(parts, ("active_total_ns", "latent", "possible")) | {
        "active": rate([part["active"] for part in parts]),
        "excused": sums([part["excused"] for part in parts], ("waking", "forced")),
        "lengths": union(part["lengths"] for part in parts if part["lengths"]),
    } | {name: max((part[name] for part in parts), default=0) for name in most}


def writes(members):
    parts = [member.tree["writes"] for member in members]
    counts = sums(parts, ("total", "excused", "fenced_off", "misread", "on_waking", "unordered"))
    leads = [part["met"] for part in parts]
    met = sums(leads, ("pairs",)) | {"longest_ns": max((one["longest_ns"] for one in leads), default=0)}
    return counts | {"met": met} | {name: rate([part[name] for part in parts]) for name in ("unfenced", "past_fence")}


def without(members, section, share):
    """Of all groups' time in all of them that were measured."""
    measured = [member for member in members if member.cell.was_measured]
    whole = [len(m.cell.groups) * (m.cell.window[1] - m.cell.window[0]) for m in measured]
    if not sum(whole):
        return None
    part = sum(m.tree[section][share] * time for m, time in zip(measured, whole))
    return {"share": part / sum(whole), "longest_ns": max(m.tree[section]["longest_ns"] for m in measured)}
