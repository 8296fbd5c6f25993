"""The tables of tries."""

import dataclasses
import os
import re

from roughing import classes, inputs, surroundings
from roughing.attempt import Attempt
from roughing.lines import Line, Unreached, alone, parsed, reach

FILES, RECORDS, TARGETS, VALUES, SIGNALS, SURROUNDINGS = (
    "1 files", "2 records", "3 targets", "4 values", "5 signals", "6 surroundings",
)  # fmt: skip
WRITTEN = (classes.OUTPUT, classes.LOG, classes.RECORD_OUTPUT)
NUMERIC = (classes.NUMBER, classes.DURATION, classes.ADDRESS)
# The kind of tries that must end as the plain one does.
AS_WITHOUT = "as without"
# Numbers that some of these options take.
NUMBERS = ("-1", "0", "1.5")
# What a command writes besides the values of its arguments.
BESIDES = {"report": ("{RECORD}/report.html", "{RECORD}/summary.json"), "baseline save": ("{--baselines}",)}


def besides(line):
    """What the line has written though no value says so, and even where it is refused: `report` takes away what it made before."""
    named = {"--baselines": "baselines", **{argument.name: value for argument, value in line.values}}
    return tuple(path.format(**named) for path in BESIDES.get(line.command.name, ()))


def outputs_of(line):
    """All paths that the line tells the program to write to."""
    given = {argument: value for argument, value in line.values if value is not None}
    paths = [value for argument, value in given.items() if classes.class_of(argument) in WRITTEN]
    if any(classes.class_of(argument) == classes.RECORD_OUTPUT and argument not in given for argument in line.command.arguments):
        paths.append("runs")
    return tuple(path for path in paths if path not in ("", ".", "-") and not path.startswith("/dev/")) + besides(line)


class Tables:
    """All tries. `alone`: the line of each command by itself; `reaches`: the line that takes each argument."""

    def __init__(self, template, commands):
        self.template, self.commands, self.tries = template, commands, []
        self.alone, self.reaches, self.lacking = {}, {}, []

    def find_lines(self, pool):
        known = []
        for argument in (argument for command in self.commands for argument in command.arguments if argument.value is not None):
            if classes.class_of(argument) is None or classes.good_of(argument) is None:
                self.lacking.append(f"{argument.key} <{argument.value}> has no class or no good value: give them in ci/roughing/classes.py")
            else:
                known.append(argument)

        def found(find, *what):
            try:
                return find(self.template, *what)
            except Unreached as lacks:
                return lacks

        commands = {command.name: command for command in self.commands}
        lines = pool.map(lambda argument: found(reach, commands[argument.command], argument), known)
        for table, keys, lines in (
            (self.alone, self.commands, pool.map(lambda command: found(alone, command), self.commands)), (self.reaches, known, lines),
        ):  # fmt: skip
            for key, line in zip(keys, lines):
                if isinstance(line, Line):
                    table[key] = line
                else:
                    self.lacking.append(str(line))

    def make(self):
        for argument, line in self.reaches.items():
            kind = classes.class_of(argument)
            good = classes.good_of(argument)
            record = good if os.path.isdir(os.path.join(self.template.work, good)) else "other"
            for table, bads in {
                classes.FILE: [(FILES, inputs.files(good))],
                classes.LOG: [(FILES, self.of_log(good)), (TARGETS, inputs.targets())],
                classes.PROGRAM: [(FILES, inputs.programs(argument.value == "CMD" and not argument.is_last))],
                classes.FOLDER: [(FILES, inputs.folders(False))],
                classes.RECORD: [(FILES, inputs.PLACES), (RECORDS, inputs.records(record))],
                classes.BASELINE: [(FILES, inputs.PLACES), (RECORDS, inputs.records(record))],
                classes.RECORDS: [(FILES, inputs.folders(True)), (RECORDS, inputs.many_records("record"))],
                classes.BASELINES: [(RECORDS, inputs.baselines())],
                classes.OUTPUT: [(TARGETS, inputs.targets())],
                classes.RECORD_OUTPUT: [(TARGETS, inputs.record_targets())],
            }.get(kind, []):
                self.tries += [self.of(table, argument, line, bad) for bad in bads]
            if kind in (classes.OUTPUT, classes.LOG):
                self.add_twice_written(argument, line)
            self.add_values(argument, line, kind, good)
        for command, line in self.alone.items():
            self.add_clumsy(command, line)
            self.add_signals(command, line)
            self.add_surroundings(command, line)
        return self.tries

    @staticmethod
    def of_log(good):
        """A log that is missing is begun, where it can be."""
        begins = ("missing", "missing, and its name holds escape sequences", "a link to nothing")
        return [bad for bad in inputs.files(good) if bad.label not in begins]

    @staticmethod
    def of(table, argument, line, bad):
        return of_line(table, classes.class_of(argument), argument, line.with_value(argument, bad.value), bad)

    def add_twice_written(self, argument, line):
        """Two outputs in one file, and an output in what is read."""
        kind, before = classes.class_of(argument), True
        for other, other_line in self.reaches.items():
            before = before and other != argument
            if other.command != argument.command or other == argument:
                continue
            good = classes.good_of(other)
            if classes.class_of(other) in (classes.OUTPUT, classes.LOG) and not before:
                both = line.with_value(argument, inputs.CROOKED).with_value(other, f"./{inputs.CROOKED}")
                self.tries.append(of_line(TARGETS, kind, argument, both, inputs.BadInput("two outputs in one file", "", inputs.CROOKED)))
            elif classes.class_of(other) == classes.FILE:
                both = other_line.with_value(argument, good)
                self.tries.append(of_line(TARGETS, kind, argument, both, inputs.BadInput("what is read", "", good)))

    def add_values(self, argument, line, kind, good):
        bads = []
        if kind in (*NUMERIC, classes.LIST, classes.NAME, classes.SETTING):
            for label, value in inputs.VALUES.items():
                bads.append(inputs.BadInput(label, "", value, kind in NUMERIC and label not in NUMBERS))
                if kind == classes.SETTING:
                    bads.append(inputs.BadInput(f"of a key: {label}", "", f"{good.partition('=')[0]}={value}", False))
        self.tries += [self.of(VALUES, argument, line, bad) for bad in bads]
        if argument.is_option:
            twice = line.and_value(argument, good)
            self.tries.append(of_line(VALUES, "an option", argument, twice, inputs.BadInput("given twice", "", good, False)))

    def add_clumsy(self, command, line):
        """What no command has."""
        text, name = line.text(), f"hustings {command.name}"
        for label, word in {"unknown": "--no-such", "unknown, with escape sequences": "--no$'\\e[31m'=x"}.items():
            clumsy = text.replace(name, f"{name} {word}", 1)
            self.tries.append(Attempt(VALUES, ("an option", label), clumsy, names=("--no",), refused=True))
        for argument in command.arguments:
            if argument.value is None:
                clumsy = line.with_value(argument, None).text().replace(argument.name, f"{argument.name}=x", 1)
                self.tries.append(Attempt(VALUES, ("a flag", "with a value"), clumsy, names=(argument.name,), refused=True))

    def add_signals(self, command, line):
        long = [dataclasses.replace(parsed(command, text), lives=True) for text in surroundings.LONG.get(command.name, ())]
        for line in (line, *long):
            for number in surroundings.SIGNALS:
                for moment in surroundings.MOMENTS_S:
                    kind = ("a command", f"{number.name} after {1000 * moment:.0f} ms")
                    self.tries.append(
                        Attempt(
                            SIGNALS, kind, line.text(), redirect="", outputs=outputs_of(line), stop=(number, moment), ends_in=ends_in(line),
                        )  # fmt: skip
                    )

    def add_surroundings(self, command, line):
        for text, stop in ((line.text(), stop_of(line)), (f"hustings {command.name} --help", None)):
            for around in surroundings.ALL:
                kind = (AS_WITHOUT, text) if around.harmless else ("a command", around.label)
                self.tries.append(
                    Attempt(
                        SURROUNDINGS, kind, text, before=around.before, redirect=around.redirect, outputs=outputs_of(line),
                        is_mute=around.is_mute, stop=stop,
                    )  # fmt: skip
                )


def stop_of(line):
    return inputs.STOPPED if line.lives else None


def ends_in(line):
    """The exit code when it is stopped, if it goes on until then."""
    if not line.lives:
        return None
    return 0 if any(argument.key in classes.STOPPED_IN_ORDER for argument, _ in line.values) else 130


def of_line(table, kind, argument, line, bad):
    """The try of a line whose argument has this bad value. One that is refused writes nothing."""
    names = [argument.name, *re.findall(r"[\w./-]+", bad.value[:20])]
    if inputs.CROOKED in bad.prepare:
        names.append(inputs.CROOKED)
    if not bad.value.strip():
        names += ["''", f"'{bad.value}'", f'"{bad.value}"']
    if not bad.refused:
        names += classes.ENDS_AT
    return Attempt(
        table, (kind, bad.label), line.text(), bad.prepare, names=tuple(names), refused=bad.refused, stop=bad.stop or stop_of(line),
        outputs=besides(line) if bad.refused else (*bad.outputs, *outputs_of(line)), ends_in=130 if bad.stop else ends_in(line),
        within_s=bad.within_s,
    )  # fmt: skip
