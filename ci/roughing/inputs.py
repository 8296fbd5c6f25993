"""What is hostile or clumsy, by the class of the argument that it is given to."""

import dataclasses
import os
import signal

from roughing.lines import quoted

CROOKED = "crooked"
# Clears a line, rings, and turns the direction of writing.
ODD = f"{CROOKED}\x1b[2K\x1b[31m\x07\u202eb\u200f"
IS_ROOT = os.geteuid() == 0


@dataclasses.dataclass(frozen=True)
class BadInput:
    """`prepare` is done by a shell, then the argument has the value. `refused`: it must end in 2 or 4."""

    label: str
    prepare: str
    value: str
    refused: bool = True
    outputs: tuple = ()
    stop: tuple | None = None
    within_s: float = 10


STOPPED = (signal.SIGINT, 0.5)
PLACES = (
    BadInput("missing", "", CROOKED),
    BadInput("missing, and its name holds escape sequences", "", ODD),
    BadInput("its name is empty", "", ""),
    BadInput("its name has 300 bytes", "", CROOKED + "x" * 293),
    BadInput("below a regular file", "", "limits.toml/x"),
    BadInput("a link to itself", f"ln -s {CROOKED} {CROOKED}", CROOKED),
    BadInput("a link to nothing", f"ln -s nowhere {CROOKED}", CROOKED),
)


def files(good):
    """For what reads a file that is like this one."""
    make = {
        "empty": f": >{CROOKED}",
        "NUL bytes": f"head -c 4096 /dev/zero >{CROOKED}",
        "random bytes": f"head -c 65536 /dev/urandom >{CROOKED}",
        "a line of 4 MB": f"head -c 4194304 /dev/zero | tr '\\0' x >{CROOKED}",
        "behind a byte order mark": f"{{ printf '\\357\\273\\277'; cat {good}; }} >{CROOKED}",
        "not UTF-8": f"printf 'a\\377\\376\\303\\n' >{CROOKED}",
        "escape sequences inside": f"printf '\\033[31ma\\007\\342\\200\\256b = \\033]0;x\\007\\n' >{CROOKED}",
        "deeply nested": f"{{ printf 'a = '; head -c 100000 /dev/zero | tr '\\0' '['; }} >{CROOKED}",
    }
    allowed = ("empty", "behind a byte order mark")
    bad = [BadInput(label, prepare, CROOKED, label not in allowed) for label, prepare in make.items()]
    bad += [
        BadInput("a directory", "", "folder"),
        BadInput("escape sequences in its name", f"printf 'nonsense\\377' >{quoted(ODD)}", ODD),
        BadInput("a pipe without a writer", f"mkfifo {CROOKED}", CROOKED, False, stop=STOPPED),
        BadInput("endless zeros", "", "/dev/zero", within_s=20),
        BadInput("endless random bytes", "", "/dev/urandom", within_s=20),
    ]
    if not IS_ROOT:
        bad.append(BadInput("unreadable", f"cp {good} {CROOKED}; chmod 000 {CROOKED}", CROOKED))
    return [*PLACES, *bad]


def programs(is_words):
    """For what starts a program; `is_words`: its value is split as a shell does."""
    odd = f"'./{ODD}'" if is_words else f"./{ODD}"
    bad = [
        BadInput("missing", "", f"./{CROOKED}"),
        BadInput("missing, and its name holds escape sequences", "", odd),
        BadInput("its name is empty", "", ""),
        BadInput("a directory", "", "./folder"),
        BadInput("not executable", f"echo exit >{CROOKED}", f"./{CROOKED}"),
        BadInput("random bytes", f"head -c 65536 /dev/urandom >{CROOKED}; chmod +x {CROOKED}", f"./{CROOKED}", False),
        BadInput("its interpreter is missing", f"echo '#!/nowhere/x' >{CROOKED}; chmod +x {CROOKED}", f"./{CROOKED}", False),
        BadInput("a link to itself", f"ln -s {CROOKED} {CROOKED}", f"./{CROOKED}"),
        BadInput("endless zeros", "", "/dev/zero"),
    ]
    return bad + ([BadInput("blank", "", " "), BadInput("an open quote", "", f"'{CROOKED}")] if is_words else [])


def folders(may_be_empty):
    """For what reads a folder."""
    return [
        *PLACES,
        BadInput("a regular file", "", "limits.toml"),
        BadInput("a device", "", "/dev/null"),
        BadInput("an empty folder", f"mkdir {CROOKED}", CROOKED, not may_be_empty),
    ]


SEGMENT = "s=$(ls -d crooked/events/*/coordinator* | head -n 1); "
MANIFEST = "crooked/manifest.json"
DAMAGE = {
    "an empty folder": "rm -r crooked; mkdir crooked",
    "a regular file": "rm -r crooked; echo x >crooked",
    "no manifest": f"rm {MANIFEST}",
    "an empty manifest": f": >{MANIFEST}",
    "a manifest cut off": f"truncate -s 1000 {MANIFEST}",
    "a manifest of random bytes": f"head -c 4096 /dev/urandom >{MANIFEST}",
    "a manifest of another schema": f"sed -i 's/\"schema\": [0-9]*/\"schema\": 99/' {MANIFEST}",
    "a manifest of another program": f"echo '{{\"schema\": 3, \"lockfileVersion\": 2}}' >{MANIFEST}",
    "a manifest that is deeply nested": f"head -c 100000 /dev/zero | tr '\\0' '[' >{MANIFEST}",
    "a manifest that is a pipe": f"rm {MANIFEST}; mkfifo {MANIFEST}",
    "a manifest without end": f"ln -sf /dev/zero {MANIFEST}",
    "no seal": f"sed -i '/\"seal\"/d' {MANIFEST}",
    "a wrong seal": f"sed -i 's/\"seal\": \"[0-9a-f]*\"/\"seal\": \"00000000\"/' {MANIFEST}",
    "a manifest edited under its seal": f"sed -i 's/\"scenario\": \"/&x/' {MANIFEST}",
    "a manifest with escape sequences": f"sed -i 's/\"scenario\": \"/&\\\\u001b[31m\\\\u202e/; /\"seal\"/d' {MANIFEST}",
    "no segment": SEGMENT + 'rm "$s"',
    "a segment cut off": SEGMENT + 'truncate -s 200 "$s"',
    "a segment of random bytes": SEGMENT + 'head -c 4096 /dev/urandom >"$s"',
    "a segment that is a pipe": SEGMENT + 'rm "$s"; mkfifo "$s"',
    "a segment that is a folder": SEGMENT + 'rm "$s"; mkdir "$s"',
    "a segment that is a link out of the record": SEGMENT + 'mv "$s" ../outside/segment; ln -s "$PWD/../outside/segment" "$s"',
    "a segment without end": SEGMENT + 'ln -sf /dev/zero "$s"',
    "a segment too many": SEGMENT + 'cp "$s" "$(dirname "$s")/host-099.0.jsonl.zst"',
    "no folder of a cell": SEGMENT + 'rm -r "$(dirname "$s")"',
    "no scenario": "rm crooked/scenario.toml",
    "a summary edited": 'sed -i \'s/"verdict": "pass"/"verdict": "fail"/\' crooked/summary.json',
    "a summary of random bytes": "head -c 4096 /dev/urandom >crooked/summary.json",
    "a summary that is a pipe": "rm crooked/summary.json; mkfifo crooked/summary.json",
}
# With these a record can still be read, or must not even be taken for worse.
READABLE = (
    "no seal", "a wrong seal", "a manifest edited under its seal", "a manifest with escape sequences", "a segment too many", "no scenario",
    "a segment that is a link out of the record", "a summary edited", "a summary of random bytes", "a summary that is a pipe",
)  # fmt: skip


def records(good):
    return [BadInput(label, f"cp -r {good} crooked; {damage}", CROOKED, label not in READABLE) for label, damage in DAMAGE.items()]


def many_records(good):
    """The same in a folder of records, which says of each what is wrong with it."""
    return [BadInput(bad.label, f"{bad.prepare}; mkdir many; mv crooked many || true", "many", False) for bad in records(good)]


def baselines():
    """For what reads a baseline: the file is called main.json."""
    make = {
        "an empty baseline": ": >$b", "a baseline cut off": "truncate -s 1000 $b", "a baseline of random bytes": "head -c 4096 /dev/urandom >$b",
        "a baseline that is a pipe": "rm $b; mkfifo $b", "a baseline without end": "ln -sf /dev/zero $b",
        "a baseline that is a folder": "rm $b; mkdir $b", "a baseline of another program": "echo '{\"version\": 1}' >$b",
        "a baseline that is deeply nested": "head -c 100000 /dev/zero | tr '\\0' '[' >$b",
    }  # fmt: skip
    return [BadInput(label, f"cp -r baselines crooked; b=crooked/main.json; {damage}", CROOKED, False) for label, damage in make.items()]


def _names_of_targets():
    """For what writes a file or a folder."""
    bad = [
        BadInput("its name is empty", "", ""),
        BadInput("below a regular file", "", "limits.toml/x"),
        BadInput("a link to itself", f"ln -s {CROOKED} {CROOKED}", CROOKED),
        BadInput("a link to nothing", f"ln -s made {CROOKED}", CROOKED, False, ("made",)),
        BadInput("escape sequences in its name", "", ODD, False, (ODD,)),
        BadInput("its name has 300 bytes", "", CROOKED + "x" * 293),
    ]
    if not IS_ROOT:
        bad.append(BadInput("in a folder that is read-only", f"mkdir -m 500 {CROOKED}", f"{CROOKED}/x"))
    return bad


def targets():
    """For what writes a file."""
    bad = [
        *_names_of_targets(),
        BadInput("in a missing folder", "", "nowhere/x"),
        BadInput("a directory", "", "folder"),
        BadInput("the folder itself", "", "."),
        # Only a write shows that it is full, and a signal may come before.
        BadInput("a full device", "", "/dev/full", False),
        BadInput("a link into a missing folder", f"ln -s nowhere/x {CROOKED}", CROOKED),
        BadInput("a link to a file outside", f"echo mine >../outside/mine; ln -s ../outside/mine {CROOKED}", CROOKED, False, ("../outside/mine",)),
        BadInput("standard output", "", "-", False),
        BadInput("a pipe without a reader", f"mkfifo {CROOKED}", CROOKED, False, stop=STOPPED),
        BadInput("in a record", "", "record/events/x"),
        BadInput("a record's manifest", "", "record/manifest.json"),
    ]
    if not IS_ROOT:
        bad.append(BadInput("a file that is read-only", f"echo mine >{CROOKED}; chmod 400 {CROOKED}", CROOKED))
    return bad


def record_targets():
    """For what writes a record into a folder."""
    bad = [
        *_names_of_targets(),
        BadInput("a regular file", "", "limits.toml"),
        BadInput("a full device", "", "/dev/full"),
        BadInput("a record", "", "record"),
        BadInput("in a record", "", "record/x"),
        BadInput("a folder with other files", "", "folder"),
        BadInput("a link to a folder outside", f"echo mine >../outside/mine; ln -s ../outside {CROOKED}", CROOKED),
        BadInput("in a missing folder", "", "nowhere/x/y", False, ("nowhere",)),
        BadInput("standard output", "", "-", False, ("-",)),
    ]
    return bad


VALUES = {
    "empty": "", "blank": " ", "-1": "-1", "0": "0", "1e999": "1e999", "99999999999999999999": "99999999999999999999", "NaN": "NaN",
    "inf": "inf", "0x10": "0x10", "1.5": "1.5", "a blank before": " 7", "a blank behind": "7 ", "Arabic digits": "\u0661\u0662",
    "100 KB": "7" * 102_400, "control characters": "\x1b[31m\x07\x01\x7f", "marks of direction": "\u202e7\u2066", "--": "--",
    "a list with empty parts": ",1,,2,", "not UTF-8": "7\udcff", "a line break": "7\n7",
}  # fmt: skip
