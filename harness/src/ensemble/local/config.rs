//! The files that a local server is started with: zoo.cfg, myid, and a logging configuration for whichever logging
//! library the installation brings.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::super::EnsembleError;
use super::{LocalOptions, ServerPorts};

/// Time that a follower has to join its leader, and that it may lag: those of ZooKeeper's sample configuration (10 and 5
/// ticks of 2 s), kept as times because a small tick must not make the ensemble fall apart on a busy machine.
const INIT_MS: u64 = 20_000;
const SYNC_MS: u64 = 10_000;

/// Makes server `id`'s folder with its configuration: `zoo.cfg`, `conf/` (for the class path), `data/`, `tmp/`.
pub(super) fn write(
    folder: &Path,
    id: u32,
    ports: &[ServerPorts],
    options: &LocalOptions,
) -> Result<(), EnsembleError> {
    let io = |what, path: &Path| {
        let path = path.to_owned();
        move |source| EnsembleError::Io { what, path, source }
    };
    for sub in ["conf", "data", "tmp"] {
        let path = folder.join(sub);
        fs::create_dir_all(&path).map_err(io("make the folder", &path))?;
    }
    let files = [
        ("zoo.cfg", zoo_cfg(folder, id, ports, options)),
        ("data/myid", format!("{id}\n")),
        ("conf/simplelogger.properties", SLF4J_SIMPLE.to_owned()),
        ("conf/logback.xml", LOGBACK.to_owned()),
        ("conf/log4j.properties", LOG4J.to_owned()),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(io("write", &path))?;
    }
    Ok(())
}

fn zoo_cfg(folder: &Path, id: u32, ports: &[ServerPorts], options: &LocalOptions) -> String {
    let tick = options.tick_ms;
    let ticks = |ms: u64, at_least: u64| ms.div_ceil(tick).max(at_least);
    let own = ports[id as usize - 1];
    // Session timeouts keep their default bounds of 2 to 20 ticks: users meet those, so the benchmark does too.
    // Snapshots are rare, so that writing them does not show up in the latencies.
    let mut text = format!(
        "tickTime={tick}\n\
         initLimit={init}\n\
         syncLimit={sync}\n\
         dataDir={data}\n\
         clientPort={client}\n\
         clientPortAddress=127.0.0.1\n\
         clientPortListenBacklog=4096\n\
         maxClientCnxns=0\n\
         4lw.commands.whitelist=*\n\
         admin.enableServer=false\n\
         forceSync={fsync}\n\
         fsync.warningthresholdms=1000\n\
         preAllocSize=4096\n\
         snapCount=10000000\n",
        init = ticks(INIT_MS, 10),
        sync = ticks(SYNC_MS, 5),
        data = folder.join("data").display(),
        client = own.client,
        fsync = if options.fsync { "yes" } else { "no" },
    );
    if ports.len() > 1 {
        for (peer, p) in (1..).zip(ports) {
            let _ = writeln!(text, "server.{peer}=127.0.0.1:{}:{}", p.quorum, p.election);
        }
    }
    if id == 1 {
        text.push_str(&options.extra_config);
    }
    text
}

// Logs go to the standard streams, and from there to the server's one log file, where the JVM's own messages end up too.
// Warnings only, but for the quorum's life: at `info` a server writes a line a refused create, which lock-race provokes by
// the thousand.

const SLF4J_SIMPLE: &str = "\
org.slf4j.simpleLogger.logFile=System.err
org.slf4j.simpleLogger.defaultLogLevel=warn
org.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum=info
org.slf4j.simpleLogger.showDateTime=true
org.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS
";

const LOGBACK: &str = r#"<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{ISO8601} [%t] %p %c - %m%n</pattern></encoder>
  </appender>
  <logger name="org.apache.zookeeper.server.quorum" level="INFO"/>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"#;

const LOG4J: &str = "\
log4j.rootLogger=WARN, OUT
log4j.logger.org.apache.zookeeper.server.quorum=INFO
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d{ISO8601} [%t] %p %c - %m%n
";

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::{LocalOptions, ServerPorts};
    use super::zoo_cfg;

    fn text(servers: u16, tick_ms: u64) -> String {
        let port = |i| ServerPorts { client: 10_000 + i, quorum: 10_100 + i, election: 10_200 + i };
        let ports: Vec<_> = (1..=servers).map(port).collect();
        let options = LocalOptions { tick_ms, ..LocalOptions::new(PathBuf::from("hustings")) };
        zoo_cfg(Path::new("/run/s"), 1, &ports, &options)
    }

    #[test]
    fn a_small_tick_does_not_shorten_the_time_to_join() {
        assert!(text(3, 100).contains("initLimit=200\nsyncLimit=100\n"));
        assert!(text(3, 2000).contains("initLimit=10\nsyncLimit=5\n"));
        assert!(text(3, 60_000).contains("initLimit=10\nsyncLimit=5\n"));
    }

    #[test]
    fn a_single_server_has_no_peers() {
        assert!(!text(1, 500).contains("server."));
        assert!(text(3, 500).contains("server.3=127.0.0.1:10103:10203\n"));
    }
}
