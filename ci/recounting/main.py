"""The command: recounts each record that is named."""

import os
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor

from . import figures, pools, verdicts, writes
from .cell import Cell
from .compare import Tally
from .record import Record, Unreadable

USAGE = "usage: ci/recount [--quiet] RECORD…   (--quiet: only what does not agree, and the total)"


def main(arguments):
    quiet = arguments[:1] == ["--quiet"]
    folders = arguments[quiet:]
    if not folders or any(folder.startswith("-") for folder in folders):
        print(USAGE, file=sys.stderr)
        return 2
    agree = red = 0
    codes = [0]
    with ProcessPoolExecutor(min(len(folders), os.cpu_count() or 1)) as processes:
        for code, lines, agreed, error in processes.map(outcome, folders):
            codes.append(code)
            agree += agreed
            red += code == 1
            if lines and (code == 1 or not quiet):
                print("\n".join(lines), flush=True)
            if error:
                print(error, file=sys.stderr, flush=True)
    if quiet:
        print(f"{len(folders)} records: {agree} figures recounted and agreed; {red} records have some that do not")
    return max(codes)


def outcome(folder):
    """What becomes of one record: its exit code, what is to be said of it, how many figures agree, and what went wrong."""
    try:
        lines, agreed, is_red = recount(Record(folder))
        return int(is_red), lines, agreed, None
    except Unreadable as error:
        return 4, [], 0, f"error: {folder}: {error}"
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return 4, [], 0, f"{traceback.format_exc()}error: {folder}: the recount does not understand it"


def recount(record):
    """What is to be said of a record, line by line; how many of its figures agree; and whether any does not."""
    how = {"running": "killed", "aborted": "broken off"}.get(record.manifest["state"])
    if how:
        return [f"{record.folder}: LEFT OUT, since the run was {how}: nobody knows how its last moments went"], 0, False
    agree = other = 0
    lines, wrong = [], []
    left_out = {}
    cells = [Cell(segments) for _, segments in record.cells if any(e["e"] == "cell" for s in segments for e in s.events)]
    parts, trees = [], []
    for cell, summary in zip(cells, record.summary["cells"]):
        tree = figures.of(cell)
        trees.append(tree)
        wrong += [f"{cell.info['name']}: write {seq} was judged otherwise than here" for seq in writes.judged_otherwise(cell)[:5]]
        parts.append((cell.info["name"], tree | verdicts.of(cell, tree, summary), summary, figures.NOT_RECOUNTED))
    parts.append(("the run", figures.of_run(record, cells) | verdicts.of_run(record.summary) | pools.of(record, cells, trees), record.summary, figures.NOT_OF_RUN))
    if len(cells) != len(record.summary["cells"]):
        wrong.append(f"{len(cells)} cells are recorded, and {len(record.summary['cells'])} are in the summary")
    for name, mine, theirs, not_recounted in parts:
        tally = Tally(not_recounted)
        tally.hold("", mine, theirs)
        lines += told(name, tally)
        agree, other = agree + tally.agree, other + len(tally.differ) + len(tally.unknown)
        for reason, count in tally.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    lines += [f"  {line}" for line in wrong]
    rest = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
    total = agree + other + sum(left_out.values())
    lines.append(f"{record.folder}: {agree} of {total} figures recounted and agreed, {other} not; left out: {rest}")
    return lines, agree, bool(other or wrong)


def told(name, tally):
    lines = [f"{name}: {tally.agree} figures agree, {len(tally.differ)} do not"]
    for path, mine, theirs in tally.differ:
        lines.append(f"  {path}: recounted {short(mine)}, the summary says {short(theirs)}; {figures.meaning(path)}")
    return lines + [f"  {path}: unknown, so nobody recounts it" for path in tally.unknown]


def short(value):
    text = str(value)
    return text if len(text) <= 200 else text[:200] + "…"
