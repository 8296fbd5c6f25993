"""Command lines: for each argument one that takes it, found by what the program says of lines that lack something."""

import dataclasses
import os
import re
import shlex
import subprocess
import tempfile

from roughing.classes import BASES, BOUND, good_of

# A line that has run for so long goes on until it is stopped.
LIVES_AFTER_S = 3


class Unreached(Exception):
    """No line was found that takes an argument."""


def quoted(value):
    """The word for a shell."""
    if len(value) > 200 and len(set(value)) == 1:
        return f"\"$(head -c {len(value)} /dev/zero | tr '\\0' {value[0]})\""
    if value.isprintable() and value.isascii():
        return shlex.quote(value)
    # A byte behind \\x is one of two digits, whatever follows.
    return "$'" + "".join(_escaped(byte) for byte in os.fsencode(value)) + "'"


def _escaped(byte):
    return chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\x{byte:02x}"


@dataclasses.dataclass(frozen=True)
class Line:
    """A command with values of arguments; None for a flag. `lives`: it goes on until it is stopped."""

    command: object
    values: tuple = ()
    lives: bool = False

    def with_value(self, argument, value):
        others = tuple(pair for pair in self.values if pair[0] != argument)
        return dataclasses.replace(self, values=(*others, (argument, value)))

    def and_value(self, argument, value):
        return dataclasses.replace(self, values=(*self.values, (argument, value)))

    def has(self, argument):
        return any(own == argument for own, _ in self.values)

    def text(self):
        words = ["hustings", self.command.name]
        words += [f"{own.name}={quoted(value)}" if value is not None else own.name for own, value in self.values if own.is_option]
        for positional in self.command.positionals:
            given = [quoted(value) for own, value in self.values if own == positional and value is not None]
            words += (["--"] if positional.is_last and given else []) + given
        return " ".join(words)


def parsed(command, text):
    """The line of a text in which options have their values behind `=`."""
    line, positionals = Line(command), iter(command.positionals)
    for word in text.split():
        name, _, value = word.partition("=")
        argument = command.argument(name) if name.startswith("--") else next(positionals)
        if argument is None:
            raise Unreached(f"{command.name} has no {name} any more: correct BASES in ci/roughing/classes.py")
        line = line.with_value(argument, (value or None) if name.startswith("--") else word)
    return line


def bases(command, key):
    """The lines to which an argument of this key can be added."""
    texts = BASES.get(key) or BASES.get(command.name)
    if texts:
        return [parsed(command, text) for text in texts]
    line = Line(command)
    for argument in command.arguments:
        if argument.is_required:
            line = line.with_value(argument, good_of(argument))
    return [line]


def probe(template, line):
    """Code and standard error of a line; the code None if it goes on."""
    with tempfile.TemporaryDirectory() as place:
        return probe_in(template.copy(os.path.join(place, "probe")), line)


def probe_in(folder, line):
    try:
        ran = subprocess.run(
            ["bash", "-c", f"exec {line.text()}"], cwd=folder.work, env=folder.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LIVES_AFTER_S, check=False,
        )  # fmt: skip
        return ran.returncode, ran.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None, ""


def alone(template, command):
    """The line of a command by itself."""
    line = bases(command, command.name)[0]
    code, stderr = probe(template, line)
    if code == 2:
        raise Unreached(f"{line.text()}: it is refused, give another in BASES in ci/roughing/classes.py: {stderr.strip()}")
    return dataclasses.replace(line, lives=code is None)


def reach(template, command, argument):
    """A line that takes the argument. What the program asks for besides is added, by its own words."""
    last = ""
    for line in bases(command, argument.key):
        line = line.with_value(argument, good_of(argument))
        for _ in range(5):
            code, last = probe(template, line)
            if code != 2 or BOUND in last:
                return dataclasses.replace(line, lives=code is None)
            named = map(command.argument, re.findall(r"--[a-z][\w-]*|(?<=<)[A-Z]+(?=>)", last.split("\nUsage:")[0]))
            missing = next((other for other in named if other and not line.has(other)), None)
            if missing is None or "cannot be used with" in last:
                break
            line = line.with_value(missing, good_of(missing))
    raise Unreached(f"{argument.key}={good_of(argument)}: no line takes it, give one in BASES in ci/roughing/classes.py: {last.strip()}")
