"""The tries behind ci/rough.sh: makes them of the program's help, performs them side by side, and says which went wrong."""

import collections
import concurrent.futures
import os
import shlex
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from roughing import attempt, classes, tries, usage  # noqa: E402
from roughing.template import Folder  # noqa: E402

PROGRESS_EVERY_S = 5


def made_in(root, exe):
    programs = os.path.join(root, "programs")
    os.makedirs(programs)
    os.symlink(exe, os.path.join(programs, "hustings"))
    return Folder(programs, os.path.join(root, "try")).make()


def label_of(one):
    return f"{one.table}: {', '.join(one.kind)}"


def performed(chosen, template, root, pool):
    """Each try with its outcome and what is wrong with that, as they end."""

    def done(numbered):
        number, one = numbered
        mark = f"{os.getpid()}-{number}"
        try:
            outcome = attempt.perform(one, template, os.path.join(root, mark), mark)
            return one, outcome, attempt.wrong_with(one, outcome)
        except (OSError, ValueError, attempt.subprocess.CalledProcessError) as error:
            return one, None, [f"it could not be tried: {error}"]

    waiting = [pool.submit(done, numbered) for numbered in enumerate(chosen)]
    return (future.result() for future in concurrent.futures.as_completed(waiting))


def differences(codes):
    """The mistakes that have several exit codes, with a line for each code."""
    for (kind, label), lines in sorted(codes.items()):
        reason = classes.DIFFERENT.get((kind, label)) or classes.DIFFERENT.get((kind, None))
        if len(lines) > 1 and not reason:
            yield f"{kind}, {label}: several exit codes\n" + "\n".join(f"  {code}: {line}" for code, line in sorted(lines.items()))


def report(chosen, ended):
    """Prints progress, failures and counts; gives the number of failures."""
    codes, counts, failed = collections.defaultdict(dict), collections.Counter(one.table for one in chosen), 0
    printed = time.monotonic()
    for number, (one, outcome, wrong) in enumerate(ended, 1):
        if wrong:
            failed += 1
            print(f"FAILED {label_of(one)}: {'; '.join(wrong)}\n  {one.text()}", flush=True)
        ended_elsewhere = outcome and any(name in outcome.stderr for name in classes.ENDS_AT)
        if outcome and not ended_elsewhere and (one.kind[0] == tries.AS_WITHOUT or attempt.is_refusal(outcome)):
            codes[one.kind].setdefault(outcome.code, one.text())
        if time.monotonic() - printed > PROGRESS_EVERY_S:
            printed = time.monotonic()
            print(f"{number} of {len(chosen)} tries, {failed} failed", file=sys.stderr, flush=True)
    for difference in differences(codes):
        failed += 1
        print(f"FAILED {difference}")
    for table, count in sorted(counts.items()):
        print(f"{table}: {count} tries")
    return failed


def main(arguments):
    exe, rest = os.path.realpath(arguments[0]), arguments[1:]
    # What a shell ignores would be ignored in all tries too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.default_int_handler)
    if rest[:1] == ["--folder"]:
        place = os.path.realpath(rest[1])
        if os.path.exists(place):
            print(f"error: {rest[1]} is there already; name a new folder", file=sys.stderr)
            return 2
        folder = made_in(place, exe)
        with open(os.path.join(place, "environment"), "w", encoding="utf-8") as file:
            file.writelines(f"export {name}={shlex.quote(value)}\n" for name, value in folder.env.items())
            file.write(f"cd {shlex.quote(folder.work)}\n")
        return 0
    pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix="hustings-rough-") as root:
        try:
            return tried(exe, root, pool, rest[:1] == ["--list"], rest[-1] if rest[-1:] != ["--list"] and rest else "")
        finally:
            pool.shutdown(cancel_futures=True)


def tried(exe, root, pool, only_list, pattern):
    template = made_in(root, exe)
    tables = tries.Tables(template, usage.commands(exe))
    tables.find_lines(pool)
    chosen = [one for one in tables.make() if pattern in f"{label_of(one)}: {one.text()}"]
    if only_list:
        print("".join(f"{label_of(one)}: {one.text()}\n" for one in chosen), end="")
        return 0
    failed = len(tables.lacking)
    for lack in tables.lacking:
        print(f"FAILED {lack}", flush=True)
    failed += report(chosen, performed(chosen, template, root, pool))
    print(f"{len(chosen)} tries, {failed} failures")
    if failed:
        print("to do one again: ci/rough.sh --folder /tmp/again, then in bash `. /tmp/again/environment`, then its line")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
