"""One try: a command line in a copy of the template, what comes of it, and what is wrong with that."""

import dataclasses
import os
import re
import shutil
import signal
import stat
import subprocess
import time
import zlib

CODES = (0, 1, 2, 3, 4, 130)
STDERR_BYTES_MAX = 8 << 10
MEMORY_KB = 4 << 20
# A process that was stderr to end is given so long; after this long it must take signals.
GONE_WITHIN_S = 3
TAKES_SIGNALS_WITHIN_S = 5
DEBUG_FORMS = re.compile(r"panicked|RUST_BACKTRACE|this is a bug|\b(?:Some|Err|Ok|None)\(|\b(?:Os|Custom|Error|Kind) ?\{|overflowed its stack")
# Controls but tab and line feed, C1 controls, marks of direction, and what was no UTF-8.
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\udc80-\udcff]")
ERROR = re.compile(r"^error: ", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Attempt:
    """`prepare` is done first; `before` and `redirect` stand around the line. `names`: one of them is in what an error says.
    `ends_in`: the exit code of a line that goes on until it is stopped."""

    table: str
    kind: tuple
    line: str
    prepare: str = ""
    before: str = ""
    redirect: str = "</dev/null"
    names: tuple = ()
    outputs: tuple = ()
    refused: bool = False
    stop: tuple | None = None
    ends_in: int | None = None
    within_s: float = 10
    is_mute: bool = False

    def script(self):
        return f"{self.before}exec {self.line} {self.redirect}"

    def text(self):
        """As it is printed and typed."""
        prepare = f"{self.prepare}; " if self.prepare else ""
        stop = f"  # {signal.Signals(self.stop[0]).name} after {1000 * self.stop[1]:.0f} ms" if self.stop else ""
        shown = self.redirect or "< <(sleep 60)"
        return f"{prepare}({self.before}exec {self.line} {shown}){stop}"


@dataclasses.dataclass
class Outcome:
    """`sent`: whether a signal was sent, and whether the program took it."""

    code: int | None
    stderr: str
    stderr_bytes: int
    changed: list
    left: list
    sent: tuple = (False, False)


def listing(folder):
    """Path to kind, rights and content, of all below it."""
    found, below = {}, [folder]
    while below:
        for entry in os.scandir(below.pop()):
            mode = entry.stat(follow_symlinks=False).st_mode
            content = None
            if stat.S_ISLNK(mode):
                content = os.readlink(entry.path)
            elif stat.S_ISREG(mode) and os.access(entry.path, os.R_OK):
                with open(entry.path, "rb") as file:
                    content = zlib.crc32(file.read())
            elif stat.S_ISDIR(mode) and os.access(entry.path, os.R_OK | os.X_OK):
                below.append(entry.path)
            found[os.path.relpath(entry.path, folder)] = (stat.S_IFMT(mode), stat.S_IMODE(mode), content)
    return found


def marked(mark):
    """Pids of what has the mark in its environment."""
    wanted, found = f"ROUGH={mark}".encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return found


def takes(pid, number):
    """Whether the process handles or ignores the signal."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            masks = [int(line.split()[1], 16) for line in file if line.startswith(("SigCgt", "SigIgn"))]
    except OSError:
        return False
    return any(mask >> (number - 1) & 1 for mask in masks)


def has_begun(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def wait(process, seconds):
    try:
        process.wait(max(0.0, seconds))
        return True
    except subprocess.TimeoutExpired:
        return False


def stop(process, program, number, moment_s):
    """Sends the signal so long after the program has begun. Gives whether it was sent, and whether the program took it."""
    until = time.monotonic() + TAKES_SIGNALS_WITHIN_S
    while process.poll() is None and not has_begun(process.pid, program) and time.monotonic() < until:
        time.sleep(0.001)
    if wait(process, moment_s):
        return False, False
    # A busy machine is no reason to die: only what comes in the first moments may find a program that has not begun.
    while moment_s >= 0.5 and not takes(process.pid, number) and time.monotonic() < until and not wait(process, 0.01):
        pass
    was_taken = takes(process.pid, number)
    if process.poll() is not None:
        return False, False
    process.send_signal(number)
    if number == signal.SIGPIPE and not wait(process, 0.3):
        was_taken = was_taken and takes(process.pid, signal.SIGINT)
        process.send_signal(signal.SIGINT)
    return True, was_taken


def perform(attempt, template, place, mark):
    """Does it in a folder of its own, at this place, and removes that."""
    folder = template.copy(place, mark)
    streams = [f"{place}.out", f"{place}.err"]
    try:
        subprocess.run(["bash", "-c", attempt.prepare], cwd=folder.work, env=folder.env, check=True, stdin=subprocess.DEVNULL)
        before = listing(folder.path)
        script = f"ulimit -c 0; ulimit -v {MEMORY_KB}; {attempt.script()}"
        with open(streams[0], "wb") as out, open(streams[1], "wb") as err:
            stdin = subprocess.DEVNULL if attempt.redirect else subprocess.PIPE
            process = subprocess.Popen(
                ["bash", "-c", script], cwd=folder.work, env=folder.env, stdin=stdin, stdout=out, stderr=err, start_new_session=True
            )
        sent = (False, False)
        try:
            if attempt.stop:
                sent = stop(process, os.path.join(template.programs, "hustings"), *attempt.stop)
            code = process.returncode if wait(process, attempt.within_s) else None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.stdin:
                process.stdin.close()
        until = time.monotonic() + GONE_WITHIN_S
        while (left := marked(mark)) and time.monotonic() < until:
            time.sleep(0.02)
        after = listing(folder.path)
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        with open(streams[1], "rb") as file:
            stderr = file.read(16 * STDERR_BYTES_MAX)
        return Outcome(code, stderr.decode(errors="surrogateescape"), len(stderr), changed, left, sent)
    finally:
        for pid in marked(mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        subprocess.run(["chmod", "-R", "u+rwX", place], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(place, ignore_errors=True)
        for path in streams:
            if os.path.exists(path):
                os.remove(path)


def is_refusal(outcome):
    return outcome.code not in (0, 130, None) and bool(ERROR.search(outcome.stderr))


def wrong_with(attempt, outcome):
    """All that does not hold."""
    return [*_wrong_end(attempt, outcome), *_wrong_words(attempt, outcome), *_wrong_remains(attempt, outcome)]


def _wrong_end(attempt, outcome):
    code, (was_sent, was_taken) = outcome.code, outcome.sent
    if code is None:
        yield f"it still ran after {attempt.within_s} s"
    elif code < 0:
        # Before a program has begun, nothing in it can take a signal.
        if not (was_sent and not was_taken and code == -attempt.stop[0]):
            yield f"it died of {signal.Signals(-code).name}"
    elif code not in CODES:
        yield f"exit code {code}, which is not documented"
    elif was_sent and attempt.ends_in not in (None, code):
        yield f"exit code {code} after a signal, and not {attempt.ends_in}"
    if attempt.refused and code not in (2, 4, None):
        yield f"exit code {code}: it was not refused"


def _is_named(name, stderr):
    """Whether it stands there as a word; what is long may be cut off."""
    return re.search(rf"(?<!\w){re.escape(name)}" + (r"(?!\w)" if len(name) < 3 else ""), stderr)


def _wrong_words(attempt, outcome):
    stderr = outcome.stderr
    if outcome.stderr_bytes > STDERR_BYTES_MAX:
        yield f"{outcome.stderr_bytes} bytes on standard error"
    if found := ACTIVE.search(stderr):
        yield f"standard error holds {found[0]!r}"
    if found := DEBUG_FORMS.search(stderr):
        yield f"standard error holds {found[0]!r}"
    if attempt.is_mute or outcome.code in (0, 130, None) or outcome.code < 0:
        return
    if not stderr.strip():
        yield f"exit code {outcome.code} without a word"
    elif outcome.code in (2, 4) and attempt.names and not any(_is_named(name, stderr) for name in attempt.names):
        yield f"it names none of {', '.join(map(ascii, attempt.names))}"


def _wrong_remains(attempt, outcome):
    if outcome.left:
        yield f"{len(outcome.left)} processes are left"
    allowed = [os.path.normpath(os.path.join("work", path)) for path in attempt.outputs]
    for path in outcome.changed:
        is_draft = any(part.startswith(".hustings-") for part in path.split("/"))
        is_output = any(path == own or path.startswith(f"{own}/") or own.startswith(f"{path}/") for own in allowed)
        if is_draft or not is_output:
            yield f"{path!a} is new, changed or gone"
