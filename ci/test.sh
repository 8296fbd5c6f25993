#!/usr/bin/env bash
# Everything that must hold: format, lints, all tests, doc tests, every benchmark once; and the records that the tests leave
# behind: another program recounts their figures, and their checks are asked whether they could have failed. The last line is "<n> passed, <n> failed", counted from what the
# test runners say. Exits with 0 only if every step succeeded and tests were run. --no-docker leaves the tests out that need
# a Docker engine, and says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

docker=yes
case "${1:-}" in
  "") ;;
  --no-docker) docker=no ;;
  *)
    echo "usage: ci/test.sh [--no-docker]" >&2
    exit 2
    ;;
esac

if [ "$docker" = yes ]; then
  ci/setup.sh --tests --images || {
    echo "ci/test.sh --no-docker does without the tests that need Docker" >&2
    exit 4
  }
else
  ci/setup.sh --tests
fi

export CARGO_TERM_COLOR=never NO_COLOR=1
# Servers of tests live for seconds: what Java compiles further for them is not worth the time.
export JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS:+$JDK_JAVA_OPTIONS }-XX:TieredStopAtLevel=1"
log=$(mktemp)
trap 'rm -f "$log" "$log".*' EXIT
broken=()
passed=0
failed=0
flaky=()

# Runs a step with its output in $log too, and goes on when it fails.
step() {
  local name=$1
  shift
  echo "== $name" >&2
  local since=$SECONDS
  "$@" 2>&1 | tee "$log" || broken+=("$name")
  echo "== $name: $((SECONDS - since)) s" >&2
}

# Begins a step that needs nothing of those after it, and ends it: its output is shown then.
declare -A begun=()
begin() {
  local name=$1
  shift
  "$@" >"$log.$name" 2>&1 &
  begun[$name]=$!
}
end() {
  echo "== $1" >&2
  wait "${begun[$1]}" || broken+=("$1")
  cat "$log.$1"
}

# "Summary [ 9.1s] 40 tests run: 38 passed (1 slow), 1 failed, 1 timed out, 2 skipped", or "30/40 tests run" when cut off:
# all that ran and did not pass failed.
count_nextest() {
  awk '
    $1 == "Summary" && match($0, /[0-9]+(\/[0-9]+)? tests? run: /) {
      split(substr($0, RSTART, RLENGTH), run, /[\/ ]/)
      good = match($0, /[0-9]+ passed/) ? substr($0, RSTART, RLENGTH) + 0 : 0
      bad = run[1] - good
    }
    END { print good + 0, bad + 0 }
  ' "$log"
}

# "test result: ok. 3 passed; 0 failed; 1 ignored; …", once a test program.
count_libtest() {
  awk '
    /^test result: .* filtered out/ {
      if (match($0, /[0-9]+ passed/)) good += substr($0, RSTART, RLENGTH)
      if (match($0, /[0-9]+ failed/)) bad += substr($0, RSTART, RLENGTH)
    }
    END { print good + 0, bad + 0 }
  ' "$log"
}

add() {
  passed=$((passed + $1))
  failed=$((failed + $2))
}

: "${HUSTINGS_ZOOKEEPER_IMAGE:=hustings/zookeeper:local}" "${HUSTINGS_TOXIPROXY_IMAGE:=hustings/toxiproxy:local}"
export HUSTINGS_ZOOKEEPER_IMAGE HUSTINGS_TOXIPROXY_IMAGE

# The tests' own build is in the image, so that both are of the same source.
images() {
  # What is downloaded for the most part goes beside what is compiled.
  ci/images/build.sh zookeeper &
  # All of it, as the tests' runner does: of one package alone, libraries would be built again with other features.
  local downloads=$! compiled=0
  cargo build --workspace --locked --quiet --lib --bins --tests || compiled=$?
  wait "$downloads" && [ "$compiled" -eq 0 ] || return 1
  HUSTINGS_BINARY=$(realpath "${CARGO_TARGET_DIR:-target}/debug/hustings") ci/images/build.sh toxiproxy
}

# The tests keep their records here, for the recount.
kept=$(realpath -m "${CARGO_TARGET_DIR:-target}/kept-records")
rm -rf "$kept"
export HUSTINGS_KEEP_RECORDS=$kept

recount() {
  local records=("$kept"/*/)
  [ -d "${records[0]}" ] || {
    echo "the tests left no record behind"
    return 1
  }
  ci/recount --quiet "${records[@]}"
}

# Whether the checks that passed on the tests' records of real servers could have failed.
mutations() {
  ci/mutations "${CARGO_TARGET_DIR:-target}/debug/hustings" "$kept"/*/
}

step "format" cargo fmt --all --check -- --color never
step "lints" cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
wanted=()
if [ "$docker" = yes ]; then step "images" images; else wanted=(-E 'not test(/^(ensemble_docker|run_docker|compose)::/)'); fi
if cargo nextest --version >/dev/null 2>&1; then
  # They wait for half of their time: one more at once than there are processors.
  step "tests" cargo nextest run --workspace --locked --no-fail-fast --color never --test-threads $(($(nproc) + 1)) "${wanted[@]}"
  # shellcheck disable=SC2046
  add $(count_nextest)
  mapfile -t flaky < <(awk '$1 == "FLAKY" { print $(NF - 1), $NF }' "$log" | sort -u)
elif [ "$docker" = no ]; then
  broken+=("tests: to leave some out, install cargo-nextest")
else
  # One at a time: some start ensembles of real servers, and a small machine has room for one.
  step "tests" cargo test --workspace --locked --no-fail-fast --lib --bins --tests -- --test-threads=1
  # shellcheck disable=SC2046
  add $(count_libtest)
fi
# From here on no step depends on time.
begin "recount" recount
begin "mutations" mutations
step "doc tests" cargo test --workspace --locked --no-fail-fast --doc
# shellcheck disable=SC2046
add $(count_libtest)

# Each once, and in the tests' own build: that it can be measured, not how long it takes.
step "benchmarks" timeout --kill-after=10 300 cargo test --workspace --locked --benches

end "recount"
end "mutations"

[ "${#flaky[@]}" -eq 0 ] || printf 'passed only when tried again: %s\n' "${flaky[@]}"
[ "$docker" = yes ] || echo "the tests that need Docker were left out"
[ "${#broken[@]}" -eq 0 ] || printf 'failed step: %s\n' "${broken[@]}"
[ "$passed" -gt 0 ] || echo "no tests were run"
echo "$passed passed, $failed failed"
[ "${#broken[@]}" -eq 0 ] && [ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
