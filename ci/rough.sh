#!/usr/bin/env bash
# Tries the command line with what is hostile or clumsy: bad files, damaged records, bad targets, bad values, signals, and odd
# surroundings, for every command and option that the program's help names. Needs no ensemble. `ci/rough.sh PATTERN` makes the
# tries whose line holds the pattern; --list [PATTERN] only prints them; --folder DIR makes the folder that each of them begins in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -gt 2 ] || { [ $# -eq 2 ] && [ "$1" != --list ] && [ "$1" != --folder ]; } || [ "${*: -1}" = --folder ]; then
  echo "usage: ci/rough.sh [PATTERN | --list [PATTERN] | --folder DIR]" >&2
  exit 2
fi
ci/setup.sh
cargo build --release --locked --package hustings >&2
exec python3 -B ci/roughness.py "${CARGO_TARGET_DIR:-target}/release/hustings" "$@"
