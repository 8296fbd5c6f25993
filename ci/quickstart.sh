#!/usr/bin/env bash
# Installs what is missing and runs the quick scenario on a real ensemble; arguments go to `hustings run quick`. The last
# lines say where the report is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ci/setup.sh
echo "quickstart: building; the first time takes some minutes" >&2
exec cargo run --release --locked --package hustings -- run quick "$@"
