"""What is odd around a command: its descriptors, its environment, its folder, its limits; and the signals that it gets."""

import dataclasses
import signal

from roughing.inputs import IS_ROOT


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """`harmless`: the command ends as it does without."""

    label: str
    before: str = ""
    redirect: str = "</dev/null"
    harmless: bool = False
    is_mute: bool = False


def exported(label, text, harmless=True):
    return Surroundings(label, f"export {text}; ", harmless=harmless)


ALL = [
    Surroundings("plain", harmless=True),
    Surroundings("standard input closed", redirect="<&-", harmless=True),
    Surroundings("standard output closed", redirect="</dev/null >&-"),
    Surroundings("standard output full", redirect="</dev/null >/dev/full"),
    Surroundings("standard output without a reader", "exec > >(exec true); wait $!; ", harmless=True),
    Surroundings("standard error closed", redirect="</dev/null 2>&-", harmless=True, is_mute=True),
    Surroundings("standard error full", redirect="</dev/null 2>/dev/full", harmless=True, is_mute=True),
    Surroundings("all three closed", redirect="<&- >&- 2>&-", is_mute=True),
    Surroundings("HOME unset", "unset HOME; ", harmless=True),
    Surroundings("no folder for temporary files", "export HUSTINGS_TMP=$PWD/nowhere TMPDIR=$PWD/nowhere; "),
    Surroundings("temporary files in a regular file", "export HUSTINGS_TMP=$PWD/limits.toml TMPDIR=$PWD/limits.toml; "),
    Surroundings("temporary files where none can be made", "export HUSTINGS_TMP=/proc TMPDIR=/proc; "),
    exported("LANG=C", "LANG=C LC_ALL=C"),
    exported("LANG odd", "LANG=$'\\e[31m' LC_ALL=xx_YY"),
    exported("TERM empty", "TERM="),
    exported("TERM odd", "TERM=$'\\e[31m/../x'"),
    exported("a window of one column", "COLUMNS=1 LINES=1"),
    exported("a window too wide", "COLUMNS=99999999999999999999"),
    exported("a window of no number", "COLUMNS=-x"),
    exported("TZ odd", "TZ=:/nowhere/../x"),
    exported("HUSTINGS_LOG odd", "HUSTINGS_LOG='[[=,'"),
    Surroundings("its folder is gone", "mkdir gone; cd gone; rmdir ../gone; "),
    Surroundings("16 descriptors", "ulimit -n 16; "),
    Surroundings("files of 1 KB", "ulimit -f 1; "),
    Surroundings("a stack of 64 KB", "ulimit -s 64; "),
    # Beside the program itself, whose tables of symbols are not loaded.
    Surroundings("256 MB of addresses", "ulimit -v 262144; "),
]
if not IS_ROOT:
    ALL.append(Surroundings("no further process", "ulimit -u 1; "))

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
MOMENTS_S = (0.0, 0.05, 0.5)
# Lines that go on until they are stopped, beside those that are found to.
LONG = {
    "simulate": ("quick --set=repeat=900 --quiet --out=written", "--known --seeds=0..1000000"),
    "tune": ("--pauses=- --weeks=8 --model",),
    "candidate check": ("./sleeper",),
    "doctor": ("--watch=written",),
}
