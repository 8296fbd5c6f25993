"""Reads a record: the manifest, then every segment that it names. Nothing is taken on trust: lengths, checksums, order."""

import json
import os
import subprocess
import zlib

SCHEMA = 3


class Unreadable(Exception):
    """The record is not one, or was changed after it was written."""


class Segment:
    """What one writer wrote about one cell. `cut` means that its writer did not end in order."""

    def __init__(self, file, events):
        head = events[0]
        self.file, self.events = file, events
        self.writer, self.host, self.life = head["writer"], head["host"], head["life"]
        self.clock_ns = head["clock_uncertainty_ns"]
        self.cut = all(event["e"] != "end" for event in events)


class Record:
    """The manifest, the segments by cell, and the summary that is to be recounted."""

    def __init__(self, folder):
        self.folder = folder
        self.manifest = self._json("manifest.json")
        if self.manifest.get("schema") != SCHEMA:
            raise Unreadable(f"schema {self.manifest.get('schema')}: only {SCHEMA} is recounted")
        seal = self.manifest.pop("seal", None)
        if seal is not None and seal != f"{zlib.crc32(plainly(self.manifest).encode()):08x}":
            raise Unreadable("manifest.json: its seal does not fit what it says")
        self.summary = self._json("summary.json")
        self.cells = [(entry, self._segments(entry)) for entry in self.manifest["cells"]]

    def _json(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise Unreadable(f"{name}: {error}") from error

    def _segments(self, entry):
        segments = []
        for named in entry["segments"]:
            path = os.path.join(self.folder, "events", named["file"])
            if not os.path.exists(path) and not entry["complete"]:
                continue
            events = _events(named["file"], _content(path, named))
            if events:
                segments.append(Segment(named["file"], events))
        return segments


def plainly(value):
    """The form in which a manifest is sealed: keys in order, and a comma behind every member."""
    if isinstance(value, dict):
        return "{" + "".join(f"{plainly(key)}:{plainly(value[key])}," for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + "".join(f"{plainly(item)}," for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _content(path, named):
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as error:
        raise Unreadable(str(error)) from error
    if named["sealed"] is None:
        return raw, False
    if [len(raw), zlib.crc32(raw)] != list(named["sealed"]):
        raise Unreadable(f"{named['file']}: length or checksum is not the manifest's")
    plain = subprocess.run(["zstd", "-dcq"], input=raw, capture_output=True, check=False)
    if plain.returncode != 0:
        raise Unreadable(f"{named['file']}: zstd: {plain.stderr.decode().strip()}")
    return plain.stdout, True


def _events(file, content):
    """All events of whole blocks. A block is lines of JSON, then `#number bytes events crc32`."""
    data, sealed = content
    events, block, begin, at = [], 0, 0, 0
    while at < len(data):
        end = data.find(b"\n", at)
        if end < 0:
            break
        if data[at:at + 1] == b"#":
            body = data[begin:at]
            lines = body.splitlines()
            if data[at:end].decode() != f"#{block} {len(body)} {len(lines)} {zlib.crc32(body):08x}":
                raise Unreadable(f"{file}: block {block} is not what its closing line says")
            events.extend(json.loads(line) for line in lines)
            block, begin = block + 1, end + 1
        at = end + 1
    if sealed and begin != len(data):
        raise Unreadable(f"{file}: sealed, and its last block has no closing line")
    if events and events[0]["e"] != "segment":
        raise Unreadable(f"{file}: does not begin with its own name")
    return events
