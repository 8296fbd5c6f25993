#!/bin/sh
# Configures a server by the environment variables of the official ZooKeeper image, and becomes it.
set -eu

# Mounted folders may belong to root: give them to the unprivileged user, then go on as that one.
if [ "$(id -u)" -eq 0 ]; then
  mkdir -p "$ZOO_CONF_DIR" "$ZOO_DATA_DIR" "$ZOO_DATA_LOG_DIR"
  chown -R zookeeper:zookeeper "$ZOO_CONF_DIR" "$ZOO_DATA_DIR" "$ZOO_DATA_LOG_DIR"
  exec setpriv --reuid=zookeeper --regid=zookeeper --clear-groups --inh-caps=-all -- "$0" "$@"
fi

# A command of the user's own takes the place of the server.
[ "$#" -eq 0 ] || exec "$@"

config=$ZOO_CONF_DIR/zoo.cfg
# One that is there already, from a mount or an earlier start, stays.
if [ ! -f "$config" ]; then
  {
    echo "dataDir=$ZOO_DATA_DIR"
    echo "dataLogDir=$ZOO_DATA_LOG_DIR"
    echo "tickTime=$ZOO_TICK_TIME"
    echo "initLimit=$ZOO_INIT_LIMIT"
    echo "syncLimit=$ZOO_SYNC_LIMIT"
    echo "autopurge.snapRetainCount=$ZOO_AUTOPURGE_SNAPRETAINCOUNT"
    echo "autopurge.purgeInterval=$ZOO_AUTOPURGE_PURGEINTERVAL"
    echo "maxClientCnxns=$ZOO_MAX_CLIENT_CNXNS"
    echo "standaloneEnabled=$ZOO_STANDALONE_ENABLED"
    echo "admin.enableServer=$ZOO_ADMINSERVER_ENABLED"
    if [ -n "${ZOO_4LW_COMMANDS_WHITELIST:-}" ]; then
      echo "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST"
    fi
    # Lists of words; an asterisk in one is not a pattern.
    set -f
    for line in ${ZOO_SERVERS:-server.1=localhost:2888:3888;2181} ${ZOO_CFG_EXTRA:-}; do
      echo "$line"
    done
    set +f
  } >"$config.new"
  mv "$config.new" "$config"
fi
[ -f "$ZOO_DATA_DIR/myid" ] || echo "${ZOO_MY_ID:-1}" >"$ZOO_DATA_DIR/myid"

jars=
for jar in zookeeper zookeeper-jute slf4j-api slf4j-simple metrics-core snappy-java commons-cli commons-io \
  netty-buffer netty-codec netty-common netty-handler netty-resolver netty-transport \
  jackson-core jackson-databind jackson-annotations servlet-api; do
  [ ! -e "/usr/share/java/$jar.jar" ] || jars=$jars:/usr/share/java/$jar.jar
done

# A server out of memory ends instead of half answering. The flags are lists of words too.
# shellcheck disable=SC2086
exec java "-Xmx${ZK_SERVER_HEAP:-1000}m" -XX:+ExitOnOutOfMemoryError -Dzookeeper.jmx.log4j.disable=true \
  -cp "$ZOO_CONF_DIR:/etc/zookeeper-image$jars" ${SERVER_JVMFLAGS:-} ${JVMFLAGS:-} \
  org.apache.zookeeper.server.quorum.QuorumPeerMain "$config"
