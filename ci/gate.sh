#!/usr/bin/env bash
# Compares this build with that of another commit (the one before, if none is named): the candidates of both in turn on one
# ensemble. Ends in 0, 1 (worse) or 3 (cannot be told). Arguments after the commit go to `hustings run gate`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

commit=${1:-HEAD~1}
shift || true
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
before=$target/gate/source
git rev-parse --verify --quiet "$commit^{commit}" >/dev/null || {
  echo "usage: ci/gate.sh [COMMIT] [ARGUMENT…]; there is no commit $commit here" >&2
  exit 2
}
ci/setup.sh
cargo build --release --locked --package hustings >&2
# The other build is kept: its source is checked out anew each time, and would be taken for changed.
built=$target/gate/build
told="$(git rev-parse "$commit^{commit}"), $(rustc --version)"
if [ "$(cat "$built/built" 2>/dev/null)" != "$told" ]; then
  rm -rf "$before" "$built/built"
  git worktree prune
  git worktree add --force --detach "$before" "$commit" >&2
  trap 'git worktree remove --force "$before"' EXIT
  cargo build --release --locked --package hustings --manifest-path "$before/Cargo.toml" --target-dir "$built" >&2
  echo "$told" >"$built/built"
fi

record=$target/gate/record
rm -rf "$record"
code=0
"$target/release/hustings" run gate --out "$record" --against-exe "$built/release/hustings" "$@" || code=$?
# What a run that broke off has is not gated. Where the run cannot tell, the gate may: what is no worse for certain goes through.
if [ "$code" -le 1 ] || [ "$code" -eq 3 ]; then
  [ "$code" -eq 1 ] || code=0
  github=()
  [ -z "${GITHUB_ACTIONS:-}" ] || github=(--github)
  "$target/release/hustings" gate "$record" --junit "$target/gate/gate.xml" "${github[@]}" || code=$?
fi
exit "$code"
