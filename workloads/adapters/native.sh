#!/bin/sh
# Runs one of the C adapters beside it, as in `native.sh zoo_election.c`: compiles it with its helper, against Debian's packages,
# unless that was done before, and becomes it. With --build it only compiles.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
only=
if [ "$1" = --build ]; then
  only=yes
  shift
fi
build=${HUSTINGS_ADAPTERS_BUILD:-${XDG_CACHE_HOME:-$HOME/.cache}/hustings-adapters}
program=$build/${1%.c}-$(cat "$here"/*.[ch] | cksum | cut -d ' ' -f 1)
if ! [ -x "$program" ]; then
  mkdir -p "$build"
  fresh=$(mktemp "$program.XXXXXX")
  cc -O2 -DTHREADED -o "$fresh" "$here/$1" "$here/hustings_candidate.c" -lzookeeper_mt -lpthread
  mv "$fresh" "$program"
fi
[ -z "$only" ] || exit 0
exec "$program"
