#!/usr/bin/env bash
# Feeds what reads what others wrote with anything: scenarios, segments of records and their manifests, limits, logs of pauses,
# requests to the embedded proxy's API, streams of ZooKeeper's clients.
# Each target runs for so many seconds; the first input that makes one crash, hang or eat the memory ends it, is named, and
# makes this fail. Needs a C++ compiler, and no other Rust than the usual one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=60
if [[ "${1:-}" =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi
if [[ "${1:-}" == -* ]]; then
  echo "usage: ci/fuzz.sh [SECONDS] [TARGET…]" >&2
  exit 2
fi
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(scenario record manifest limits pauses proxy_api wire)

host=$(rustc -vV | sed -n 's/^host: //p')
work=${CARGO_TARGET_DIR:-target}/fuzz
# Coverage counters for everything that is built for the target; build scripts and macros go without.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
build() {
  local features=()
  case "$1" in proxy_api | wire) features=(--features harness) ;; esac
  CARGO_TARGET_DIR=$work cargo build --locked --quiet --release --target "$host" --manifest-path harness/fuzz/Cargo.toml \
    --bin "$1" "${features[@]}"
}

failed=()
for target in "${targets[@]}"; do
  seeds=harness/fuzz/seeds/$target
  [ "$target" = scenario ] && seeds=workloads/scenarios
  mkdir -p "$work/corpus/$target" "$work/crashes/$target"
  build "$target"
  echo "== $target, $seconds s" >&2
  # What is found is kept in the first folder; the seeds are only read.
  "$work/$host/release/$target" "$work/corpus/$target" "$seeds" -artifact_prefix="$work/crashes/$target/" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
    2>"$work/$target.log" || failed+=("$target")
  grep -E '^stat::(number_of_executed_units|new_units_added|peak_rss_mb)|panicked at|Test unit written|ERROR|SUMMARY' \
    "$work/$target.log" >&2 || true
done
[ "${#failed[@]}" -eq 0 ] || printf 'failed: %s (%s)\n' "${failed[0]}" "$work/${failed[0]}.log"
[ "${#failed[@]}" -eq 0 ]
