"""All that is recounted of a cell, laid out as its summary is; and what is not, with the reason."""

import re

from . import counts, courses, excess, fan_out, leaderless, losses, overlaps, ownership, per_injection, phases, servers
from . import sessions, stray, tokens, writes
from .definitions import DEFINITIONS

# Of who stood, and of what the servers list, what is not recounted.
STANDING = ("candidates", "dead", "at_end", "dropped_out", "kept_by_a_server", "late", "hung", "sessions_lost")
LISTED = ("judged", "matching", "znodes_left", "watches_left")

# Figures of a cell's summary that are not recounted. `[]` stands for any place in a list.
NOT_RECOUNTED = {
    "timelines": "pictures",
    "correlated_expiries": "pictures",
    "load": "pictures",
    "exceptions": "pictures",
    "ensemble.states": "pictures",
    "checks[].headline": "words",
    "checks[].details": "words",
    "checks[].rests_on": "words",
    "checks[].by_stalls": "words",
    "checks[].testability": "mutations of the record",
    "faults.verifications[].evidence": "words",
    "ensemble.elections[].votes": "words",
    "fan_out.promised": "bounds on who stood and could be told",
    "deletion_watches.clients_saw": "bounds on what nobody can have heard of",
    "ensemble.elections[].roles[].log_ns": "bounds that rest on how late servers tell",
    "ensemble.watch.unavailable[].times.polls": "bounds that rest on how late servers tell",
    "ensemble.watch.unavailable[].times.log_ns": "bounds that rest on how late servers tell",
    "ensemble.elections[].not_predicted": "words",
    "ensemble.watch.unavailable[].not_compared": "words",
} | dict.fromkeys((
    "effect.late_terms", "effect.fallen_silent",
    "fan_out.followers", "fan_out.of_other_kinds", "fan_out.without_loss", "fan_out.requests_per_wake",
    "fan_out.requests_promised", "deletion_watches.others", "leaderless.late", "leaderless.flaps", "promptness", "programs", "witness",
    *(f"standing.{name}" for name in STANDING), *(f"standing.{edge}.{name}" for edge in ("begin", "end") for name in LISTED),
), "not recounted yet")

# The same of a run's summary.
NOT_OF_RUN = {"cells": None, "notes": "words", "replays": "pictures"}


def of_run(record, cells):
    phases = [event["t"] for cell in cells for event in cell.events("phase")]
    return {"manifest": record.manifest, "recorded_ns": max(phases) - min(phases) if phases else None}


def meaning(path):
    """The definition that was used: that of the longest path that this one begins with."""
    path = re.sub(r"\[\d+\]", "[]", path)
    known = [prefix for prefix in DEFINITIONS if path == prefix or path.startswith(prefix + ".")]
    return DEFINITIONS[max(known, key=len)] if known else "as the events say it"


def of(cell):
    """A tree like the summary of the cell."""
    handovers, phase = losses.figures(cell), phases.figures(cell)
    tree = {
        "info": cell.info,
        "timeout_ms": cell.t_ns // 1_000_000 or None,
        "split_brain": overlaps.figures(cell),
        "writes": writes.figures(cell),
        "stray_writes": stray.figures(cell),
        "write_tokens": tokens.writes(cell),
        "grant_tokens": tokens.grants(cell),
        "handovers": handovers,
        "leaderless": leaderless.leaderless(cell),
        "effect": leaderless.effect(cell),
        "failover": phase | {
            "excess": excess.figures(cell),
            "course": courses.middle(courses.of(cell), phase["whole"]),
        },
        "fan_out": fan_out.figures(cell),
        "deletion_watches": {"servers_say": counts.servers_say(cell)},
        "ownership": ownership.figures(cell),
        "sessions": sessions.figures(cell),
        "ensemble": servers.figures(cell),
        "faults": counts.faults(cell),
        "enrolment": counts.enrolment(cell),
        "standing": counts.standing(cell),
        "stalls": counts.stalls(cell),
        "wholeness": counts.wholeness(cell),
        "injections": per_injection.figures(cell),
    }
    return {name: nested(section) if name != "info" and isinstance(section, dict) else section for name, section in tree.items()}


def nested(section):
    """`{"a.b": 1}` as `{"a": {"b": 1}}`."""
    tree = {}
    for path, value in section.items():
        here = tree
        *parents, last = path.split(".")
        for parent in parents:
            here = here.setdefault(parent, {})
        here[last] = value
    return tree
