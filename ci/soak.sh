#!/usr/bin/env bash
# Runs small scenarios for so many hours (fractions will do) while random processes of the harness are stopped and killed, with
# undisturbed runs in between. A sound recipe must never fail, a broken one must where nothing disturbs it; nothing may hang or
# be left behind. Names each run that went wrong, keeps its record, and exits with 1 then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! [[ "${1:-}" =~ ^[0-9]+(\.[0-9]+)?$ ]]; then
  echo "usage: ci/soak.sh HOURS [SEED]" >&2
  exit 2
fi
ci/setup.sh
cargo build --release --locked --package hustings >&2
exec python3 -B ci/soaking.py "${CARGO_TARGET_DIR:-target}/release/hustings" "$@"
