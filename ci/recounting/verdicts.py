"""What the recounted figures force a verdict to be at the least. What else a checker looks at may make it worse, never better."""

from . import leaderless, overlaps
from .cell import MS, UNKNOWN
from .compare import OneOf
from .kinds import ENDS_PROCESSES, LASTS_UNTIL_HEALED

ORDER = ("pass", "inconclusive", "fail")


class AtLeast:
    """A verdict that may be worse than this, and not better."""

    def __init__(self, verdict):
        self.verdict = verdict

    def holds(self, verdict):
        return verdict in ORDER and ORDER.index(verdict) >= ORDER.index(self.verdict)

    def __str__(self):
        return f"{self.verdict} at least"


def of(cell, tree, summary):
    """The verdicts of a cell: of each checker whose rule is known here, and of all together."""
    forced = {name: rule(cell.info["expect"], tree, cell) for name, rule in RULES.items()}
    checks = []
    for check in summary["checks"]:
        mine = {"name": check["name"], "unsafe_as_expected": unsafe(check["name"], cell, tree, check)}
        if check["name"] in forced:
            mine["verdict"] = AtLeast(forced[check["name"]])
        elif check["name"] in OTHERS:
            mine["verdict"] = AtLeast("pass")
        checks.append(mine)
    if cell.info.get("self_test"):
        return {"checks": checks} | self_test(summary, checks)
    return {
        "checks": checks,
        "verdict": worst(check["verdict"] for check in summary["checks"]),
        "unsafe_as_expected": any(check["unsafe_as_expected"] for check in summary["checks"]),
    }


def self_test(summary, checks):
    """A cell whose recipe is broken on purpose is worth what the check *self-test* says: no pass where nobody caught it."""
    others = [check["verdict"] for check in summary["checks"] if check["name"] != "self-test"]
    for mine, theirs in zip(checks, summary["checks"]):
        if theirs["name"] == "self-test":
            mine["verdict"] = AtLeast("pass" if "fail" in others else "inconclusive")
            mine["unsafe_as_expected"] = OneOf([True, False])
            return {"verdict": theirs["verdict"], "unsafe_as_expected": OneOf([True, False])}
    return {"verdict": AtLeast("inconclusive"), "unsafe_as_expected": OneOf([True, False])}


def of_run(summary):
    manifest = summary["manifest"]
    is_whole = manifest["state"] == "completed" and len(summary["cells"]) >= manifest["cells_planned"] and not missed(summary["cells"])
    whole = "pass" if is_whole else "inconclusive"
    judged = [cell["verdict"] for cell in summary["cells"] if not cell["info"].get("self_test")]
    return {"verdict": AtLeast(worst([whole] + judged)), "whole": AtLeast(whole)}


def missed(cells):
    """The broken recipes, by side where two are compared, that none of their own cells caught. One cell of a recipe is enough: not
    every fault lets its bug show. What another recipe's cells caught says nothing of it."""
    caught = {}
    for info, verdict in ((cell["info"], cell["verdict"]) for cell in cells if cell["info"].get("self_test")):
        broken = ((info.get("contest") or {}).get("side"), info["recipe"])
        caught[broken] = caught.get(broken, False) or verdict == "pass"
    return [broken for broken, is_caught in caught.items() if not is_caught]


def worst(verdicts):
    return max(verdicts, key=ORDER.index, default="pass")


def split_brain(expect, tree, cell):
    seen, most = tree["split_brain"]["active"]["seen"], expect["overlap_of_t_max"]
    if expect["overlap"] == "none" and seen:
        return "fail"
    if most is not None and tree["split_brain"]["active_max_ns"] > most * cell.t_ns:
        return "fail" if overlaps.undisturbed(cell) > most * cell.t_ns else "inconclusive"
    return "inconclusive" if expect["overlap"] == "none" and tree["split_brain"]["possible"] else "pass"


def stale_writes(expect, tree, cell):
    ledger = "unfenced" if cell.info["fencing"] == "unfenced" else "past_fence"
    return "fail" if expect["stale_writes"] == "none" and tree["writes"][ledger]["seen"] else "pass"


def handovers(expect, tree, cell):
    # A stall of the harness may excuse one, and then nobody knows.
    seen = tree["handovers"]
    lost = seen["planned"] + seen["explained"] + seen["unplanned"]
    unsound = expect["unplanned"] == "none" and seen["unplanned"] or expect.get("handovers") == "none" and lost
    return "inconclusive" if unsound or seen["unverified"] else "pass"


def liveness(expect, tree, cell):
    if not tree["leaderless"]["groups_at_end"]:
        return "pass"
    # What a long stall of the harness may have brought about is nobody's fault, and who was lost a moment before may be led again a
    # moment later: longer than this no bound is, unless a fault gives the time again.
    end = cell.window[1]
    late = end - 10 * cell.t_ns - 30_000 * MS
    led = (max([term.left for term in cell.terms_of(group)], default=cell.window[0]) for group in range(len(cell.groups)))
    hit = (over(fault, end) >= late for fault in cell.faults)
    return "fail" if min(led, default=end) < late and not any(hit) and not tree["stalls"]["over_limit"] else "inconclusive"


def over(fault, end):
    """When a fault is over: never, where nothing says so."""
    if fault.healed:
        return fault.healed["to"]
    return end if fault.kind in LASTS_UNTIL_HEALED + ENDS_PROCESSES else fault.event["t"]


def effect(expect, tree, cell):
    if not tree["effect"]["mute_terms"]:
        return "pass"
    # A write that is missing, or that bears no token, may be of a term that seems to have none.
    numbers = [write["seq"] for write in cell.writes]
    unknown = any(of.get("czxid") == UNKNOWN for of in cell.writes) or any(term.czxid == UNKNOWN for term in cell.terms)
    missing = any(after > before + 1 for before, after in zip(numbers, numbers[1:]))
    # Many short stalls of the harness add up.
    return "inconclusive" if unknown or missing or not leaderless.was_mute(cell) else "fail"


def failover(expect, tree, cell):
    excess = tree["failover"]["excess"]
    return "inconclusive" if excess and excess["early"] else "pass"


def verifications(expect, tree, cell):
    faults = tree["faults"]
    return "inconclusive" if faults["unverified"] or faults["withheld"] or faults["lost"] else "pass"


# Checkers whose verdict rests on more than the figures that are recounted.
OTHERS = ("fan-out", "servers", "ownership", "sessions", "server-elections", "enrolment", "stalls",
          "record", "stray-writes", "write-tokens", "grant-tokens", "participation", "promptness", "programs", "witness")

RULES = {
    "split-brain": split_brain,
    "stale-writes": stale_writes,
    "handovers": handovers,
    "liveness": liveness,
    "effect": effect,
    "failover": failover,
    "verification": verifications,
}


def unsafe(name, cell, tree, check):
    """Two leaders or stale writes in a cell that is expected to show them, or may."""
    expect = cell.info["expect"]
    seen = {
        "split-brain": (expect["overlap"], tree["split_brain"]["active"]["seen"]),
        "stale-writes": (expect["stale_writes"], stale_in_ledger(cell, tree)),
    }.get(name)
    return bool(seen and seen[0] in ("some", "any") and seen[1] and check["verdict"] != "fail")


def stale_in_ledger(cell, tree):
    return tree["writes"]["unfenced" if cell.info["fencing"] == "unfenced" else "past_fence"]["seen"]
