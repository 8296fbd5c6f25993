//! The files of a local server: zoo.cfg, myid, and a logging configuration for each logging library that an
//! installation may contain.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use super::super::EnsembleError;
use super::super::server_options::pauses;
use super::LocalOptions;
use super::ports::Ports;

/// Creates server `id`'s folder with its configuration: `zoo.cfg`, `conf/` (for the class path), `data/`, `tmp/`.
pub(super) fn write(folder: &Path, id: u32, ports: &Ports, options: &LocalOptions) -> Result<(), EnsembleError> {
    for sub in ["conf", "data", "tmp"] {
        let path = folder.join(sub);
        fs::create_dir_all(&path).map_err(io("make the folder", &path))?;
    }
    let files = [
        ("zoo.cfg", zoo_cfg(folder, id, ports, options)),
        ("data/myid", myid(id)),
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

/// Resets server `id` to a state before its first run: removes its data, keeps its id.
pub(super) fn empty(folder: &Path, id: u32) -> Result<(), EnsembleError> {
    let data = folder.join("data");
    fs::remove_dir_all(&data).map_err(io("remove", &data))?;
    fs::create_dir(&data).map_err(io("make the folder", &data))?;
    let path = data.join("myid");
    fs::write(&path, myid(id)).map_err(io("write", &path))
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EnsembleError {
    let path = path.to_owned();
    move |source| EnsembleError::Io { what, path, source }
}

fn myid(id: u32) -> String {
    format!("{id}\n")
}

fn zoo_cfg(folder: &Path, id: u32, ports: &Ports, options: &LocalOptions) -> String {
    let ticks = &options.servers;
    let own = ports.servers[id as usize - 1];
    // Session timeouts keep their default bounds of 2 to 20 ticks, because users have those. Snapshots are rare, so
    // that writing them does not affect the latencies.
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
         snapCount=10000000\n\
         {pauses}\n",
        tick = ticks.tick_ms,
        init = ticks.init(),
        sync = ticks.sync(),
        data = folder.join("data").display(),
        client = own.client,
        pauses = pauses().join("\n"),
        fsync = if options.servers.fsync { "yes" } else { "no" },
    );
    if ports.servers.len() > 1 {
        for (peer, p) in (1..).zip(&ports.servers) {
            let link = ports.links.iter().find(|link| link.from == id && link.to == peer);
            let (quorum, election) = link.map_or((p.quorum, p.election), |link| (link.quorum, link.election));
            let _ = writeln!(text, "server.{peer}=127.0.0.1:{quorum}:{election}");
        }
    }
    if id == 1 {
        text.push_str(&options.extra_config);
    }
    text
}

// Logs go to the standard streams, and from there to the server's one log file, which also has the JVM's own messages.
// Only warnings, except for the quorum's life cycle: at `info` a server logs a line per refused create, which lock-race
// causes by the thousand. Every entry begins with its time, in RFC 3339; the JVM runs in UTC.

const SLF4J_SIMPLE: &str = "\
org.slf4j.simpleLogger.logFile=System.err
org.slf4j.simpleLogger.defaultLogLevel=warn
org.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum=info
org.slf4j.simpleLogger.showDateTime=true
org.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX
";

pub(in crate::ensemble) const LOGBACK: &str = r#"<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} [%t] %p %c - %m%n</pattern></encoder>
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
log4j.appender.OUT.layout.ConversionPattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} [%t] %p %c - %m%n
";

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::LocalOptions;
    use super::super::ports::{LinkPorts, Ports, ServerPorts};
    use super::{io, zoo_cfg};
    use crate::ensemble::server_options::ServerOptions;

    fn text(servers: u16, tick_ms: u64) -> String {
        let port = |i| ServerPorts { client: 10_000 + i, quorum: 10_100 + i, election: 10_200 + i };
        let ports = Ports { servers: (1..=servers).map(port).collect(), links: Vec::new() };
        zoo_cfg(Path::new("/run/s"), 1, &ports, &options(tick_ms))
    }

    fn options(tick_ms: u64) -> LocalOptions {
        LocalOptions::new(ServerOptions { tick_ms, ..ServerOptions::of(3) }, PathBuf::from("hustings"))
    }

    #[test]
    fn a_small_tick_does_not_shorten_the_time_to_join() {
        assert!(text(3, 100).contains("initLimit=200\nsyncLimit=100\n"));
        assert!(text(3, 2000).contains("initLimit=10\nsyncLimit=5\n"));
        assert!(text(3, 60_000).contains("initLimit=10\nsyncLimit=5\n"));
    }

    #[test]
    fn limits_that_are_asked_for_are_in_ticks() {
        let mut options = options(100);
        options.servers = ServerOptions { init_limit: Some(7), sync_limit: Some(3), ..options.servers };
        let server = ServerPorts { client: 1, quorum: 2, election: 3 };
        let ports = Ports { servers: vec![server], links: Vec::new() };
        assert!(zoo_cfg(Path::new("/run/s"), 1, &ports, &options).contains("initLimit=7\nsyncLimit=3\n"));
    }

    #[test]
    fn a_server_knows_itself_by_its_own_ports_and_the_others_by_its_links_to_them() {
        let server = |i: u16| ServerPorts { client: 10 + i, quorum: 20 + i, election: 30 + i };
        let link = |(from, to, port)| LinkPorts { from, to, quorum: port, election: port + 1 };
        let ports = Ports { servers: vec![server(1), server(2)], links: [(1, 2, 40), (2, 1, 50)].map(link).to_vec() };
        let peers = |id| {
            let text = zoo_cfg(Path::new("/run/s"), id, &ports, &options(500));
            text.lines().filter(|line| line.starts_with("server.")).map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(peers(1), ["server.1=127.0.0.1:21:31", "server.2=127.0.0.1:40:41"]);
        assert_eq!(peers(2), ["server.1=127.0.0.1:50:51", "server.2=127.0.0.1:22:32"]);
    }

    #[test]
    fn a_disk_without_room_for_a_server_s_files_is_told_with_its_remedy() {
        let told = io("write", Path::new("/run/s/zoo.cfg"))(std::io::ErrorKind::StorageFull.into()).to_string();
        let remedy = "; free space there, or choose another folder for temporary files by HUSTINGS_TMP";
        assert!(told.starts_with("cannot write /run/s/zoo.cfg: ") && told.ends_with(remedy), "{told}");
    }

    #[test]
    fn a_single_server_has_no_peers() {
        assert!(!text(1, 500).contains("server."));
        assert!(text(3, 500).contains("server.3=127.0.0.1:10103:10203\n"));
    }
}
