"""The commands of the program with their arguments, as its help has them."""

import dataclasses
import re
import subprocess

OPTION = re.compile(r" {2,6}(?:-\w, )?(--[a-z][\w-]*)(?: (?:<([^>]+)>|\[<([^>]+)>\])(?:\.\.\.)?)?(?:  +(.*))?")
POSITIONAL = re.compile(r"  [<\[]([^>\]]+)[>\]](?:\.\.\.)?(?:  +(.*))?")
COMMAND = re.compile(r"  ([a-z][\w-]*)  +\S")


@dataclasses.dataclass(frozen=True)
class Argument:
    """An option or a positional. `value` is the name of its value, and None for a flag."""

    command: str
    name: str
    value: str | None
    about: str
    is_required: bool
    is_last: bool

    @property
    def is_option(self):
        return self.name.startswith("--")

    @property
    def key(self):
        return f"{self.command} {self.name}"


@dataclasses.dataclass(frozen=True)
class Command:
    """A command that does something, so none that only holds others: `name` as it is typed."""

    name: str
    arguments: tuple

    def argument(self, name):
        return next((argument for argument in self.arguments if argument.name == name), None)

    @property
    def positionals(self):
        return [argument for argument in self.arguments if not argument.is_option]


def help_of(exe, words):
    shown = subprocess.run([exe, *words, "--help"], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return shown.stdout.split("\nExamples:\n")[0]


def commands(exe, words=()):
    text = help_of(exe, words)
    section = text.partition("\nCommands:\n")[2].partition("\n\n")[0]
    names = [found[1] for found in map(COMMAND.match, section.splitlines()) if found and found[1] != "help"]
    if not names:
        return [Command(" ".join(words), tuple(arguments(" ".join(words), text)))]
    return [command for name in names for command in commands(exe, (*words, name))]


def arguments(command, text):
    usage = re.search(r"Usage: hustings (.*)", text)[1]
    required = set(re.findall(r"(?<!\[)(--[\w-]+)(?: <)", re.sub(r"\[[^\]]*\]", "", usage)))
    lone = re.sub(r"--[\w-]+ <[^>]+>", "", usage)
    required |= set(re.findall(r"<([^>]+)>", lone))
    found, lines = [], text.splitlines()
    for number, line in enumerate(lines):
        option, positional = OPTION.fullmatch(line), POSITIONAL.fullmatch(line)
        if not option and not positional:
            if re.match(r" {2,6}(-\w, )?--", line):
                raise ValueError(f"hustings {command} --help: this line of an option cannot be read: {line!r}")
            continue
        name, value, about = (option[1], option[2] or option[3], option[4]) if option else (positional[1],) * 2 + (positional[2],)
        if not about and lines[number + 1 :] and lines[number + 1].startswith("    "):
            about = lines[number + 1].strip()
        if name not in ("--help", "--version"):
            is_last = not option and f"-- <{name}>" in usage
            found.append(Argument(command, name, value, about or "", name in required, is_last))
    return found
