#!/usr/bin/env bash
# Builds, from what Debian's archive and this workspace have, stand-ins for the images of ZooKeeper and Toxiproxy, for
# machines that can pull nothing: hustings/zookeeper:local, hustings/toxiproxy:local. Images that are there and up to date
# stay; --force builds them anew. Prints the names of the images.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

zookeeper=hustings/zookeeper:local
toxiproxy=hustings/toxiproxy:local
label=org.hustings.checksum

force=no
wanted=()
for argument in "$@"; do
  case $argument in
    --force) force=yes ;;
    zookeeper | toxiproxy) wanted+=("$argument") ;;
    *)
      echo "usage: ci/images/build.sh [--force] [zookeeper] [toxiproxy]" >&2
      exit 2
      ;;
  esac
done
[ "${#wanted[@]}" -gt 0 ] || wanted=(zookeeper toxiproxy)

fail() {
  echo "error: $1" >&2
  exit 4
}

command -v docker >/dev/null 2>&1 || fail "there is no docker command; run ci/setup.sh --images"
why=$(docker version --format '{{.Server.Version}}' 2>&1) ||
  fail "no Docker engine answers (${why##*$'\n'}); start one, or name it by DOCKER_HOST"

# On the disk, and not in a temp directory that may be memory: a root file system takes some hundred megabytes.
scratch=$(mktemp -d "${HUSTINGS_TMP:-/var/tmp}/hustings-images.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# Whether image $1 was made from what $2 is the checksum of.
up_to_date() {
  [ "$force" = no ] || return 1
  [ "$(docker image inspect --format "{{index .Config.Labels \"$label\"}}" "$1" 2>/dev/null)" = "$2" ]
}

# docker import takes no labels but by --change, and keeps no layer of an older image. An older image that lost its
# name would be left over: it is removed, unless a container still uses it.
import() {
  local name=$1 archive=$2
  shift 2
  local old
  old=$(docker image inspect --format '{{.Id}}' "$name" 2>/dev/null) || old=
  local changes=()
  for change in "$@"; do changes+=(--change "$change"); done
  docker import "${changes[@]}" "$archive" "$name" >/dev/null
  if [ -n "$old" ] && [ "$old" != "$(docker image inspect --format '{{.Id}}' "$name")" ]; then
    docker image rm "$old" >/dev/null 2>&1 || echo "images: the older $name is still in use" >&2
  fi
}

build_zookeeper() {
  local sum
  sum=$(cat build.sh zookeeper/* | sha256sum | cut -d ' ' -f 1)
  if up_to_date "$zookeeper" "$sum"; then return; fi
  command -v mmdebstrap >/dev/null 2>&1 || fail "there is no mmdebstrap; run ci/setup.sh --images"
  echo "images: building $zookeeper; this takes a minute or two" >&2
  # Debian's name of the user would bring its package along, which has services; the jars alone are enough.
  # shellcheck disable=SC2016
  mmdebstrap --variant=minbase --quiet \
    --include=libzookeeper-java,libslf4j-java,default-jre-headless \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='chroot "$1" useradd --no-create-home --home-dir /data --uid 1000 --user-group zookeeper' \
    --customize-hook='mkdir -p "$1/conf" "$1/data" "$1/datalog" "$1/etc/zookeeper-image"' \
    --customize-hook='chroot "$1" chown zookeeper:zookeeper /conf /data /datalog' \
    --customize-hook="install -m 644 '$PWD/zookeeper/simplelogger.properties' \"\$1/etc/zookeeper-image/\"" \
    --customize-hook="install -m 755 '$PWD/zookeeper/entrypoint.sh' \"\$1/entrypoint.sh\"" \
    bookworm "$scratch/zookeeper.tar" >&2
  import "$zookeeper" "$scratch/zookeeper.tar" \
    "LABEL $label=$sum" \
    "ENV ZOO_CONF_DIR=/conf ZOO_DATA_DIR=/data ZOO_DATA_LOG_DIR=/datalog" \
    "ENV ZOO_TICK_TIME=2000 ZOO_INIT_LIMIT=5 ZOO_SYNC_LIMIT=2 ZOO_MAX_CLIENT_CNXNS=60" \
    "ENV ZOO_AUTOPURGE_PURGEINTERVAL=0 ZOO_AUTOPURGE_SNAPRETAINCOUNT=3" \
    "ENV ZOO_STANDALONE_ENABLED=true ZOO_ADMINSERVER_ENABLED=true" \
    "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    "VOLUME /data /datalog" \
    "WORKDIR /" \
    "EXPOSE 2181 2888 3888 8080" \
    'ENTRYPOINT ["/entrypoint.sh"]'
  rm "$scratch/zookeeper.tar"
}

# HUSTINGS_BINARY names one; else a release build of what the workspace is now.
hustings_binary() {
  if [ -n "${HUSTINGS_BINARY:-}" ]; then
    [ -x "$HUSTINGS_BINARY" ] || fail "HUSTINGS_BINARY is $HUSTINGS_BINARY, and that cannot be run"
    echo "$HUSTINGS_BINARY"
  else
    cargo build --release --locked --quiet --package hustings >&2
    echo "${CARGO_TARGET_DIR:-../../target}/release/hustings"
  fi
}

build_toxiproxy() {
  local binary sum
  binary=$(hustings_binary)
  sum=$(cat build.sh "$binary" | sha256sum | cut -d ' ' -f 1)
  if up_to_date "$toxiproxy" "$sum"; then return; fi
  echo "images: building $toxiproxy around $binary" >&2
  local root=$scratch/toxiproxy
  mkdir -p "$root/etc" "$root/tmp"
  install -m 755 "$binary" "$root/hustings"
  # "libc.so.6 => /lib/… (0x…)", and the loader, which has no arrow. The kernel gives the one without a path.
  ldd "$binary" | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^\//) print $i }' | while read -r library; do
    install -D -m 755 "$library" "$root$library"
  done
  # Names of containers stand in the hosts file or in Docker's DNS.
  echo "hosts: files dns" >"$root/etc/nsswitch.conf"
  tar -C "$root" --owner=0 --group=0 --numeric-owner -cf "$scratch/toxiproxy.tar" .
  import "$toxiproxy" "$scratch/toxiproxy.tar" \
    "LABEL $label=$sum" \
    "EXPOSE 8474" \
    'ENTRYPOINT ["/hustings", "proxy"]' \
    'CMD ["--listen", "0.0.0.0:8474"]'
}

for image in "${wanted[@]}"; do
  "build_$image"
  case $image in
    zookeeper) echo "$zookeeper" ;;
    toxiproxy) echo "$toxiproxy" ;;
  esac
done
