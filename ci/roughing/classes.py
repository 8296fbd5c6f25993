"""What each argument is: by the name of its value, or by a line here where that does not tell."""

from roughing.usage import Argument

FILE, PROGRAM, FOLDER, RECORD = "file", "program", "folder", "record"
RECORDS, BASELINES, BASELINE = "folder of records", "folder of baselines", "record or name of a baseline"
OUTPUT, RECORD_OUTPUT, LOG = "output", "folder for a record", "file that is added to"
NUMBER, DURATION, LIST, NAME, ADDRESS, SETTING = "number", "duration", "list", "name", "address", "setting"

VALUES = {
    "SCENARIO": FILE, "FILE.pem": FILE, "CMD": PROGRAM, "RECORD": RECORD, "BASE": RECORD, "NEW": RECORD, "BASELINE": BASELINE,
    "N": NUMBER, "SEED": NUMBER, "WEEKS": NUMBER, "NUMBER": NUMBER, "MS": NUMBER, "PORT": NUMBER, "PID": NUMBER, "SHARE": NUMBER,
    "POLL_INTERVAL_MS": NUMBER, "TIME": DURATION, "A..B": LIST, "N,N…": LIST, "FIRST-LAST": LIST,
    "CELL": NAME, "NAME": NAME, "BUG": NAME, "RECIPE": NAME, "POLICY": NAME, "STEP_DOWN": NAME, "ENSEMBLE": NAME, "IMAGE": NAME,
    "COMMIT": NAME, "SHELL": NAME, "COMMAND": NAME, "HOST:PORT": ADDRESS, "URL": ADDRESS, "ADDR": ADDRESS, "KEY=VALUE": SETTING,
}  # fmt: skip
# A FILE is written where the help of the option begins with "Write". Of all others, and of each DIR:
ARGUMENTS = {
    "--against-exe": PROGRAM, "--auth-file": FILE, "--sasl-file": FILE, "--timing": FILE, "--pauses": FILE, "--limits": FILE,
    "--history": LOG, "--watch": OUTPUT, "calibrate --out": OUTPUT, "init FILE": OUTPUT,
    "run --out": RECORD_OUTPUT, "simulate --out": RECORD_OUTPUT, "tune --out": RECORD_OUTPUT,
    "--in": RECORDS, "--baselines": BASELINES, "--zookeeper-home": FOLDER,
}  # fmt: skip


def class_of(argument: Argument):
    """Its class, or None."""
    for name in (argument.key, argument.name):
        if name in ARGUMENTS:
            return ARGUMENTS[name]
    if argument.value == "FILE" and argument.about.startswith("Write"):
        return OUTPUT
    return VALUES.get(argument.value)


# Values that are accepted, by the key of the argument, its name, or the name of its value; all in the folder of the template.
GOOD = {
    "SCENARIO": "small.toml", "FILE": "written", "RECORD": "record", "BASE": "record", "NEW": "other", "BASELINE": "main",
    "DIR": "written", "CMD": "/bin/true", "N": "2", "SEED": "1", "WEEKS": "8", "NUMBER": "1", "MS": "4000", "PORT": "20000",
    "PID": "1", "SHARE": "5%", "POLL_INTERVAL_MS": "100", "TIME": "1s", "A..B": "0..2", "N,N…": "0", "FIRST-LAST": "21000-21029",
    "CELL": "*", "NAME": "main", "BUG": "no-guid", "RECIPE": "naive", "POLICY": "on-expiry", "STEP_DOWN": "on-expiry",
    "ENSEMBLE": "embedded", "IMAGE": "image", "COMMIT": "abc", "SHELL": "bash", "COMMAND": "run", "HOST:PORT": "127.0.0.1:1",
    "URL": "127.0.0.1:1", "ADDR": "127.0.0.1:0", "KEY=VALUE": "election.work_interval_ms=20",
    "--auth-file": "secret", "--sasl-file": "secret", "--tls-ca": "ca.pem", "--tls-cert": "ca.pem", "--tls-key": "key.pem",
    "--timing": "timing.toml", "--pauses": "pauses.txt", "--limits": "limits.toml", "--history": "history.csv",
    "--baselines": "baselines", "--in": ".", "--against-exe": "./hustings", "--zookeeper-home": "nowhere", "--candidate-set": "step_down=on-expiry",
    "--against-candidate-set": "step_down=on-expiry", "--config": "key=value", "--client": "java", "--cell": "naive-resign",
    "explain NAME": "herd", "tune --record": "measured", "init FILE": "my.toml",
}  # fmt: skip


def good_of(argument: Argument):
    return next((GOOD[name] for name in (argument.key, argument.name, argument.value) if name in GOOD), None)


# What a command is given besides the argument that is tried, where the arguments that it requires are not enough: for the first of
# these it takes the argument. What would start servers ends at a release that is missing, or at a record that is there already.
BASES = {
    "run": ("small.toml --dry-run",),
    "run --out": ("small.toml --ensemble=local --zookeeper-home=no-release",),
    "simulate": ("small.toml --quiet --out=written", "small.toml --quiet", "--quiet"),
    "calibrate": ("record --as-is --quiet", "record --quiet"),
    "tune": (
        "--pauses=pauses.txt --weeks=8 --model",
        "--pauses=pauses.txt --weeks=8 --ensemble=local --zookeeper-home=no-release --out=written",
        "--pauses=pauses.txt --weeks=8 --out=record",
    ),
    **dict.fromkeys(
        ("tune --auth-file", "tune --sasl-file", "tune --tls-ca", "tune --tls-cert", "tune --tls-key"),
        ("--pauses=pauses.txt --weeks=8 --connect=127.0.0.1:1 --out=written",),
    ),
    "tune --record": ("--pauses=pauses.txt --weeks=8",),
    "tune --out": ("--pauses=pauses.txt --weeks=8 --ensemble=local --zookeeper-home=no-release",),
    "compare": ("record other",),
    "list --page": ("--runs --in=.",),
    "gate": ("record",),
    "gate --baselines": ("record --baseline=main",),
    "init": ("my.toml",),
    "proxy": ("--listen=127.0.0.1:0",),
    "clean": ("--dry-run",),
}

# What a signal ends as it is meant to end.
STOPPED_IN_ORDER = ("doctor --watch",)
# Where one mistake has several exit codes, by class and label, and why. Else a mistake has one code in all commands.
DIFFERENT = {
    ("a command", "its folder is gone"): "a scenario that cannot be read ends in 2, and a record in 4",
    ("record", "a summary that is a pipe"): "`tune --record` reads no summary",
    ("record", "no scenario"): "`tune --record` reads no scenario",
}
# What an error names where a line ended as it does without the mistake.
BOUND = "holds a record already"
ENDS_AT = (BOUND, "no-release", "127.0.0.1:1")
