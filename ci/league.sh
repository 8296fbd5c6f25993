#!/usr/bin/env bash
# Makes the league table: the scenario `league`, so many times over (3 where none is said), on real servers of this machine, and its
# tables as Markdown beside its report. Twenty minutes a time on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -gt 2 ] || ! [[ "${1:-3}" =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: ci/league.sh [TIMES] [FOLDER]" >&2
  exit 2
fi
times=${1:-3}
out=${2:-runs/league-$(date -u +%Y%m%d-%H%M%S)}
ci/setup.sh --tests
cargo build --release --locked --package hustings >&2
hustings=${CARGO_TARGET_DIR:-target}/release/hustings
code=0
"$hustings" run league --ensemble local --require-real --repeat "$times" --out "$out" || code=$?
# What failed or cannot be told is in the tables, too; what was not run is not.
[ "$code" -eq 0 ] || [ "$code" -eq 1 ] || [ "$code" -eq 3 ] || exit "$code"
"$hustings" export "$out" --table "$out/league.md"
cat "$out/league.md"
exit "$code"
