"""The folder in which every try begins: records, scenarios, and one good file of each kind."""

import json
import os
import shutil
import subprocess
import zlib

from recounting.record import plainly

SCENARIO = """
name = "small"

[ensemble]
servers = 3
tick_ms = 200

[election]
groups = 1
hosts = 3
candidates_per_group = 3
session_timeout_ms = 2000
work_interval_ms = 50

[phases]
warm_up_ms = 200
drain_ms = 200

[faults.resign]
kind = "resign"
repeat = 6
every_ms = 400

[matrix]
recipe = ["naive", "lock-race"]
"""
# What `tune --record` reads: sessions that met pauses, some of which expired.
PAUSES = """
name = "pauses"

[ensemble]
servers = 3
tick_ms = 500

[election]
recipe = "predecessor-watch"
groups = 5
hosts = 5
candidates_per_group = 5
session_timeout_ms = 2000
work_interval_ms = 100
rejoin_after_ms = 200
resource = "fenced"

[phases]
warm_up_ms = 500
drain_ms = 500

[faults.crash]
kind = "crash"
target = "host-leading-most"
for_ms = 3000
repeat = 2
every_ms = 7000

[faults.pause]
kind = "pause"
target = "host"
hosts = 1
for_t = 0.9
repeat = 12
every_ms = 3200
"""
KEYS = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=rough -days 9 -keyout key.pem -out ca.pem"
    " 2>&1"
)
MAKE = f"""
set -e
seq 200 | sed 's/.*/120/' >pauses.txt
echo 'injections = 4' >limits.toml
echo 'user:password' >secret
hustings simulate small.toml --out record --quiet
hustings simulate small.toml --seed 8 --out other --quiet
hustings simulate pauses.toml --out measured --quiet
hustings baseline save main record
hustings gate record --history history.csv || test $? -eq 3
echo 'read_us = 30' >timing.toml
printf '#!/bin/sh\\nexec sleep 300\\n' >sleeper
chmod +x sleeper
mkdir folder
echo mine >folder/mine
{KEYS}
"""


class Folder:
    """The template or a copy: `work` is where the program starts. `programs` is the folder in which it is called hustings."""

    def __init__(self, programs, path, mark="rough"):
        self.programs, self.path, self.work = programs, path, os.path.join(path, "work")
        inside = {name: os.path.join(path, name) for name in ("home", "tmp", "outside")}
        self.env = {
            "PATH": f"{programs}:{os.environ.get('PATH', os.defpath)}", "LANG": "C.UTF-8", "HOME": inside["home"], "TMPDIR": inside["tmp"],
            "HUSTINGS_TMP": inside["tmp"], "ROUGH": mark, "RES_OPTIONS": "timeout:1 attempts:1",
            "DOCKER_HOST": f"unix://{path}/no-engine",
        }  # fmt: skip

    def copy(self, path, mark="rough"):
        shutil.copytree(self.path, path, symlinks=True)
        return Folder(self.programs, path, mark)

    def make(self):
        for path in (self.work, self.env["HOME"], self.env["TMPDIR"], os.path.join(self.path, "outside")):
            os.makedirs(path)
        for name, text in (("small.toml", SCENARIO), ("pauses.toml", PAUSES)):
            with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.symlink(os.path.join(self.programs, "hustings"), os.path.join(self.work, "hustings"))
        made = subprocess.run(
            ["bash", "-c", MAKE], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if made.returncode:
            raise RuntimeError(f"the folder for the tries cannot be made: {made.stderr}{made.stdout}")
        for record in ("record", "other"):
            claim_real(os.path.join(self.work, record))
        return self


def claim_real(record):
    """Makes a simulated record look like that of a run, for `calibrate`, and seals it again."""
    path = os.path.join(record, "manifest.json")
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    manifest.pop("seal")
    manifest["ensemble_kind"] = "local"
    manifest["seal"] = f"{zlib.crc32(plainly(manifest).encode()):08x}"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2, sort_keys=True)
