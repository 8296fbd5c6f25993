#!/usr/bin/env bash
# Lets the clients of Toxiproxy that PyPI and crates.io have drive `hustings proxy`, with traffic through it: toxiproxy-python,
# chaostoolkit-toxiproxy and noxious-client; toxiproxy_rust drives it in the tests anyway. Needs both registries, so that it stands
# beside the tests. Everything is installed in a folder that is removed afterwards. Exits with 0 only if all of them got what they
# ask for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --locked --package hustings >&2
hustings=${CARGO_TARGET_DIR:-target}/debug/hustings
work=$(mktemp -d)
proxy=
end() {
  [ -z "$proxy" ] || kill "$proxy" 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$hustings" proxy --listen "127.0.0.1:$port" &
proxy=$!
for _ in $(seq 100); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  sleep 0.05
done

# The registries may need a proxy, and this machine must be reached without one.
for list in NO_PROXY no_proxy; do
  export "$list=${!list:+${!list},}localhost,127.0.0.1,::1"
done

# One of the two calls itself lazy_importer's newest, which the other need not share.
for client in toxiproxy-python==0.1.1 chaostoolkit-toxiproxy==0.3.1; do
  name=${client%%==*}
  python3 -m pip install --quiet --root-user-action ignore --disable-pip-version-check --target "$work/$name" "$client" requests future >&2
  PYTHONPATH="$work/$name" python3 -B "ci/clients/${name//-/_}.py" "$port"
done
CARGO_TARGET_DIR="$work/target" cargo run --quiet --manifest-path ci/clients/rust/Cargo.toml -- "$port"
echo "3 clients passed"
