#!/bin/sh
# Runs one of the Java adapters beside it, as in `java.sh CuratorLatch`: compiles all of them with their helper, from Debian's
# packages, unless that was done before, and becomes the JVM. With --build it only compiles.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
jars=/usr/share/java
path=
for jar in curator-client curator-framework curator-recipes guava jackson-annotations jackson-core jackson-databind slf4j-api \
  slf4j-simple zookeeper zookeeper-jute netty-buffer netty-codec netty-common netty-handler netty-resolver netty-transport \
  netty-transport-native-epoll netty-transport-native-unix-common; do
  [ -f "$jars/$jar.jar" ] || echo "$jars/$jar.jar is missing: ci/setup.sh --tests installs what it is in" >&2
  path=$path:$jars/$jar.jar
done
build=${HUSTINGS_ADAPTERS_BUILD:-${XDG_CACHE_HOME:-$HOME/.cache}/hustings-adapters}
classes=$build/java-$(cat "$here"/*.java | cksum | cut -d ' ' -f 1)
if ! [ -d "$classes" ]; then
  mkdir -p "$build"
  # Of many that start at once, one compiles and the others wait for it.
  (
    flock 9
    [ ! -d "$classes" ] || exit 0
    fresh=$(mktemp -d "$classes.XXXXXX")
    javac -d "$fresh" -cp "$path" "$here"/*.java || { rm -rf "$fresh"; exit 1; }
    mv -T "$fresh" "$classes"
  ) 9>"$build/lock"
fi
[ "$1" != --build ] || exit 0
HUSTINGS_LIBRARY_VERSION=$(dpkg-query -W -f '${Version}' libcurator-recipes-java 2>/dev/null || true)
export HUSTINGS_LIBRARY_VERSION
exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$classes$path" "$@"
