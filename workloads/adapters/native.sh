#!/bin/sh
# Runs one of the adapters in C or Go beside it, as in `native.sh zoo_election.c`: builds it with its helper, against Debian's
# packages, unless that was done before, and becomes it. With --build it only builds.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
only=
if [ "$1" = --build ]; then
  only=yes
  shift
fi
build=${HUSTINGS_ADAPTERS_BUILD:-${XDG_CACHE_HOME:-$HOME/.cache}/hustings-adapters}
program=$build/${1%.*}-$(cat "$here"/*.[ch] "$here"/*.go | cksum | cut -d ' ' -f 1)
if ! [ -x "$program" ]; then
  mkdir -p "$build"
  # Of many that start at once, one builds and the others wait for it.
  (
    flock 9
    [ ! -x "$program" ] || exit 0
    fresh=$(mktemp "$program.XXXXXX")
    case $1 in
      *.c) cc -O2 -DTHREADED -o "$fresh" "$here/$1" "$here/hustings_candidate.c" -lzookeeper_mt -lpthread ;;
      *.go)
        GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$build/go-cache \
          go build -o "$fresh" "$here/$1" "$here/hustings_candidate.go"
        ;;
    esac
    mv "$fresh" "$program"
  ) 9>"$build/lock"
fi
[ -z "$only" ] || exit 0
# The C client tells its version itself.
case $1 in
  *.go)
    HUSTINGS_LIBRARY_VERSION=$(dpkg-query -W -f '${Version}' golang-github-samuel-go-zookeeper-dev 2>/dev/null || true)
    export HUSTINGS_LIBRARY_VERSION
    ;;
esac
exec "$program"
