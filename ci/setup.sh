#!/usr/bin/env bash
# Installs what building and running need and this machine lacks: a Java runtime, ZooKeeper's jars, what OpenSSL bindings
# are built with; with --tests also a browser, other clients with their recipes, a wall clock that can be set, Redis, and openssl; with
# --images what ci/images/build.sh needs.
# Asks nothing, starts nothing, does nothing when nothing is missing.
set -euo pipefail

tests=no
images=no
for argument in "$@"; do
  case $argument in
    --tests) tests=yes ;;
    --images) images=yes ;;
    *)
      echo "usage: ci/setup.sh [--tests] [--images]" >&2
      exit 2
      ;;
  esac
done

have() { command -v "$1" >/dev/null 2>&1; }

have_java() { if [ -n "${JAVA_HOME:-}" ]; then [ -x "$JAVA_HOME/bin/java" ]; else have java; fi; }

# The package libzookeeper-java has the jars alone: no user, no service.
have_zookeeper() {
  [ -n "${ZOOKEEPER_HOME:-}" ] && return 0
  local jar
  for jar in zookeeper zookeeper-jute slf4j-api slf4j-simple metrics-core snappy-java; do
    [ -e "/usr/share/java/$jar.jar" ] || return 1
  done
}

have_engine() { docker version >/dev/null 2>&1; }

have_browser() { have chromium || have chromium-browser || have google-chrome; }

have_kazoo() { [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import kazoo' >/dev/null 2>&1; }

have_json_schema() { [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import jsonschema' >/dev/null 2>&1; }

# Plain python3 and zstd are all that the recount of records needs.
have_recount() { have python3 && have zstd; }

have_curator() { [ -e /usr/share/java/curator-recipes.jar ]; }

# Java runs a file of source only with its compiler, which a runtime alone lacks.
have_java_compiler() {
  case $(java --list-modules 2>/dev/null) in *jdk.compiler*) ;; *) return 1 ;; esac
}

have_c_client() { have cc && printf '#include <zookeeper/zookeeper.h>\n' | cc -DTHREADED -E - >/dev/null 2>&1; }

have_go_client() { have go && [ -d /usr/share/gocode/src/github.com/samuel/go-zookeeper/zk ]; }

# The package redis-tools has the server under another name; redis-server would start a service.
have_redis() { have redis-server || have redis-check-rdb; }

have_faketime() { ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1; }

# Prints the packages for all that is missing.
missing() {
  have_java || echo default-jre-headless
  have_zookeeper || echo libzookeeper-java libslf4j-java
  have cc || echo gcc libc6-dev
  have pkg-config || echo pkg-config
  { have pkg-config && pkg-config --exists openssl; } || echo libssl-dev
  if [ "$tests" = yes ]; then
    have_browser || echo chromium
    have_kazoo || echo python3-kazoo
    have_recount || echo python3 zstd
    have_json_schema || echo python3-jsonschema
    have_curator || echo libcurator-recipes-java
    have_java_compiler || echo default-jdk-headless
    have openssl || echo openssl
    have_c_client || echo libzookeeper-mt-dev
    have_go_client || echo golang-go golang-github-samuel-go-zookeeper-dev
    have_faketime || echo libfaketime
    have_redis || echo redis-tools
  fi
  if [ "$images" = yes ]; then
    have mmdebstrap || echo mmdebstrap
    have docker || echo docker.io
    have docker-compose || docker compose version >/dev/null 2>&1 || echo docker-compose
  fi
}

# Whoever asks for images needs an engine, and no package can promise that one runs.
check_engine() {
  [ "$images" = no ] || have_engine && return
  echo "error: no Docker engine answers: start one (the service docker, or dockerd as root), or name one by DOCKER_HOST" >&2
  exit 4
}

if [ -n "${JAVA_HOME:-}" ] && ! have_java; then
  echo "error: JAVA_HOME is $JAVA_HOME and has no executable bin/java; correct it, or unset it" >&2
  exit 4
fi

if ! have cargo; then
  [ -x "$HOME/.cargo/bin/cargo" ] && hint=" (it is in $HOME/.cargo/bin: add that to PATH)" || hint=""
  echo "error: cargo is not in PATH$hint; install stable Rust with rustup, then run this again" >&2
  exit 4
fi

# shellcheck disable=SC2207
packages=($(missing))
if [ "${#packages[@]}" -eq 0 ]; then
  check_engine
  echo "setup: nothing is missing" >&2
  exit 0
fi

by_hand="install these packages, or what your system calls them, then run this again: ${packages[*]}"
if ! have apt-get; then
  echo "error: there is no apt-get here; $by_hand (or set JAVA_HOME and ZOOKEEPER_HOME)" >&2
  exit 4
elif [ "$(id -u)" -eq 0 ]; then
  as_root=(env)
elif have sudo && sudo -n true 2>/dev/null; then
  as_root=(sudo -n env)
else
  echo "error: neither root nor sudo without a password; $by_hand" >&2
  exit 4
fi

apt() { "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq "$@"; }

echo "setup: installing ${packages[*]}" >&2
# An old list of packages may do: what cannot be installed with it fails below.
apt update || echo "setup: the list of packages could not be updated" >&2
apt install -y --no-install-recommends "${packages[@]}" >&2

left=$(missing)
if [ -n "$left" ]; then
  echo "error: still missing after the installation: ${left//$'\n'/ }" >&2
  exit 4
fi
check_engine
