#!/bin/sh
# Runs one of the Java adapters beside it, as in `java.sh CuratorLatch`: compiles it with its helper, from Debian's packages, into a
# folder of its own, and becomes the JVM.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
jars=/usr/share/java
path=
for jar in curator-client curator-framework curator-recipes guava jackson-annotations jackson-core jackson-databind slf4j-api \
  slf4j-simple zookeeper zookeeper-jute netty-all; do
  path=$path:$jars/$jar.jar
done
classes=${XDG_CACHE_HOME:-${TMPDIR:-/tmp}}/hustings-adapters-$(id -u)-$(cat "$here"/*.java | cksum | cut -d ' ' -f 1)
if ! [ -d "$classes" ]; then
  # Of several that compile at once the last one wins, and all have the same.
  fresh=$(mktemp -d "$classes.XXXXXX")
  javac -d "$fresh" -cp "$path" "$here"/*.java
  mv -T "$fresh" "$classes" 2>/dev/null || rm -rf "$fresh"
fi
exec java -Xmx256m -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$classes$path" "$@"
