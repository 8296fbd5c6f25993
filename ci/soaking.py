"""The soak behind ci/soak.sh: one small run after the other, most of them disturbed."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# No run of these takes as long as this; one that does hangs.
ENDS_WITHIN_S = 240
GONE_WITHIN_S = 20
FAULTS = {
    # Handovers of milliseconds: one stall of the machine may cover all of one injection, and hardly of three.
    "resign": "groups = 6\nrepeat = 3\nevery_ms = 900",
    "crash": "",
    "expire": "groups = 6\nrepeat = 3\nevery_ms = 900",
    "partition": "for_t = 1.5",
}
BROKEN = "broken:writes-before-grant"
# Of a machine that is busy otherwise so many undisturbed runs may be inconclusive.
INCONCLUSIVE_SHARE_MAX = 0.1


def scenario(recipes, fault):
    matrix = ", ".join(f'"{recipe}"' for recipe in recipes)
    return f"""
name = "soak"
allow_broken = true

[ensemble]
servers = 3
tick_ms = 200
warm_up_ms = 500

[election]
groups = 6
hosts = 3
candidates_per_group = 3
session_timeout_ms = 2000
work_interval_ms = 20
rejoin_after_ms = 150
poll_interval_ms = 100
links = "always"

[phases]
enrol_max_ms = 30000
warm_up_ms = 200
drain_ms = 200
drain_max_ms = 20000

[faults.{fault}]
kind = "{fault}"
{FAULTS[fault]}

[matrix]
recipe = [{matrix}]

[[expect]]
overlap = "any"
stale_writes = "any"
"""


class Run:
    """One run in a folder of its own."""

    def __init__(self, exe, folder, recipes, fault, ensemble):
        self.exe, self.folder, self.tmp = exe, folder, os.path.join(folder, "tmp")
        os.mkdir(self.tmp)
        with open(os.path.join(folder, "soak.toml"), "w", encoding="utf-8") as file:
            file.write(scenario(recipes, fault))
        self.env = {**os.environ, "HUSTINGS_TMP": self.tmp}
        self.said = open(os.path.join(folder, "said"), "wb")
        command = [exe, "run", "soak.toml", "--out", "record", "--ensemble", ensemble]
        self.process = subprocess.Popen(
            command, cwd=folder, env=self.env, stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said
        )

    def others(self):
        """Pids and command lines of what the run has started."""
        mark, found = f"HUSTINGS_TMP={self.tmp}".encode(), []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == self.process.pid:
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    ours = mark in file.read().split(b"\0")
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if ours and line:
                found.append((int(name), line))
        return sorted(found)

    def cells_done(self):
        events = os.path.join(self.folder, "record", "events")
        cells = sorted(os.listdir(events)) if os.path.isdir(events) else []
        return sum(any("coordinator.jsonl.zst" in name for name in os.listdir(os.path.join(events, c))) for c in cells)

    def is_measuring(self):
        return self.cells_done() > 0 or b'"measure"' in self.coordinator()

    def coordinator(self):
        events = os.path.join(self.folder, "record", "events")
        for cell in sorted(os.listdir(events)) if os.path.isdir(events) else []:
            for name in os.listdir(os.path.join(events, cell)):
                if name == "coordinator.jsonl":
                    with open(os.path.join(events, cell, name), "rb") as file:
                        return file.read()
        return b""

    def until(self, what, at_most=90):
        until = time.monotonic() + at_most
        while time.monotonic() < until and self.process.poll() is None and not what():
            time.sleep(0.02)

    def end(self):
        try:
            return self.process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "hang"
        finally:
            self.said.close()

    def tool(self, *arguments):
        return subprocess.run(
            [self.exe, *arguments], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, check=False
        ).returncode

    def left(self):
        until = time.monotonic() + GONE_WITHIN_S
        while self.others() and time.monotonic() < until:
            time.sleep(0.05)
        return self.others() + os.listdir(self.tmp)


def send(pids, what):
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            pass


def disturb(run, chance):
    """Does something to the run, and tells what, and the codes in which it may end."""
    time.sleep(chance.uniform(0, 3))
    pids = [pid for pid, _ in run.others()]
    main = run.process.pid
    kind = chance.choice(("stop", "stop", "stop all", "stop main", "kill", "kill", "kill main", "interrupt", "hang up"))
    seconds = chance.choice((0.3, 1.0, 3.0, 5.0))
    victims = chance.sample(pids, k=chance.randint(1, max(1, min(3, len(pids))))) if pids else []
    names = [line[:60] for pid, line in run.others() if pid in victims]
    if kind.startswith("stop"):
        victims = {"stop": victims, "stop all": pids + [main], "stop main": [main]}[kind]
        send(victims, signal.SIGSTOP)
        time.sleep(seconds)
        send(victims, signal.SIGCONT)
        return f"{kind} {seconds} s {names if kind == 'stop' else ''}", (0, 3)
    if kind == "kill":
        send(victims, signal.SIGKILL)
        # A host that the fault has killed already, or one whose run is over, is missed by nobody.
        return f"kill {names}", (0, 3, 4)
    what = {"kill main": signal.SIGKILL, "interrupt": signal.SIGINT, "hang up": signal.SIGHUP}[kind]
    send([main], what)
    return kind, (-9, 0, 3) if kind == "kill main" else (130, 0, 3)


def sound_recipes(exe):
    """The recipes without a known bug, in the program's order."""
    listed = subprocess.run([exe, "list", "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return json.loads(listed.stdout)["recipes"]


def one(exe, sound, number, chance, folder):
    """Gives what was done, and what is wrong with what came of it, if anything."""
    broken, disturbed = chance.random() < 0.25, chance.random() < 0.7
    recipes = [BROKEN, chance.choice(sound)] if broken else [chance.choice(sound)]
    fault = chance.choice(tuple(FAULTS))
    ensemble = chance.choice(("local", "embedded"))
    run = Run(exe, folder, recipes, fault, ensemble)
    try:
        return watched(run, chance, (number, broken, disturbed, recipes, fault, ensemble))
    except KeyboardInterrupt:
        # The soak is ended by hand: its run ends in order, and what was stopped in it goes on.
        send([run.process.pid] + [pid for pid, _ in run.others()], signal.SIGCONT)
        send([run.process.pid], signal.SIGTERM)
        run.end()
        shutil.rmtree(folder, ignore_errors=True)
        raise


def watched(run, chance, asked):
    """What is done to a run, what comes of it, and what is wrong with that."""
    number, broken, disturbed, recipes, fault, ensemble = asked
    folder = run.folder
    told, allowed = "undisturbed", (0,)
    if disturbed:
        # The broken recipe has its cell to itself.
        run.until((lambda: run.cells_done() > 0) if broken else run.is_measuring)
        if run.process.poll() is None:
            told, allowed = disturb(run, chance)
    if broken:
        allowed = tuple({code: code if code in (-9, 130) else 1 for code in allowed}.values())
    code = run.end()
    if code == -9:
        run.tool("clean")
    wrong = []
    if code not in allowed:
        wrong.append(f"it ended in {code}, and may in {sorted(set(allowed))}")
    left = run.left()
    if left:
        wrong.append(f"left behind: {left}")
    if os.path.exists(os.path.join(folder, "record", "manifest.json")):
        # What was interrupted is inconclusive to whoever reads it; a broken recipe's cell was whole.
        expected = {130: (1,) if broken else (3,), -9: (1,) if broken else (3,)}.get(code, (code,))
        codes = {command: run.tool(command, "record") for command in ("check", "report")}
        wrong += [f"{command} ends in {c}, and the run in {code}" for command, c in codes.items() if c not in expected]
        if code in (0, 1, 3):
            wrong += recounted(folder)
    what = f"{number}: {ensemble}, {' + '.join(recipes)}, {fault}, {told}: {code}"
    if told == "undisturbed" and code == 3:
        what += "".join(f"\n  {line}" for line in doubts(folder))
    return what, wrong, (told == "undisturbed" and not broken, code)


def recounted(folder):
    """What of the record's figures another program finds to be otherwise."""
    recount = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recount")
    told = subprocess.run(
        [sys.executable, recount, "--quiet", "record"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return [f"the recount ends in {told.returncode}: {told.stdout}{told.stderr}"] if told.returncode else []


def doubts(folder):
    """What an inconclusive run says that it lacks."""
    with open(os.path.join(folder, "said"), encoding="utf-8", errors="replace") as said:
        return [line.rstrip() for line in said if line.startswith("? ") and "INCONCLUSIVE" not in line]


def main():
    exe, hours = os.path.abspath(sys.argv[1]), float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    chance, until = random.Random(seed), time.monotonic() + 3600 * hours
    sound = sound_recipes(exe)
    kept = os.path.join(os.path.dirname(os.path.dirname(exe)), "soak")
    print(f"seed {seed}", flush=True)
    runs, bad, calm = 0, 0, []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    while time.monotonic() < until:
        runs += 1
        folder = tempfile.mkdtemp(prefix="hustings-soak-")
        try:
            what, wrong, (is_calm, code) = one(exe, sound, runs, chance, folder)
        except KeyboardInterrupt:
            print(f"ended by hand in run {runs}; {bad} went wrong before", flush=True)
            return 130
        if is_calm:
            calm.append(code)
            # Told at the end: a machine may be busy now and then.
            wrong = [w for w in wrong if code != 3 or "may in [0]" not in w]
        print(what, flush=True)
        if wrong:
            bad += 1
            os.makedirs(kept, exist_ok=True)
            place = os.path.join(kept, f"{seed}-{runs}")
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(folder, place)
            print("  WRONG: " + "; ".join(wrong) + f"; kept in {place}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    inconclusive = calm.count(3)
    print(f"{runs} runs, {bad} went wrong; of {len(calm)} undisturbed ones {inconclusive} were inconclusive")
    if inconclusive > INCONCLUSIVE_SHARE_MAX * len(calm):
        print("too many of the undisturbed ones: is the machine busy otherwise?")
        return 1
    return 1 if bad or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
