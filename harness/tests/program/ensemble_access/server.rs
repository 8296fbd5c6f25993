//! One external real server, configured as a test needs it.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use hustings::ensemble::four_letter;
use hustings::ensemble::local::{Install, InstallLocations};
use tempfile::TempDir;

use crate::run_support::{ChildGuard, EXE};

const SERVES_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// Libraries that the network library of TLS servers needs beside its main parts.
const NETTY: [&str; 2] = ["netty-transport-native-epoll.jar", "netty-transport-native-unix-common.jar"];

/// A standalone server in its own JVM. Killed on drop.
pub(crate) struct Server {
    process: ChildGuard,
    port: u16,
    _folder: TempDir,
}

impl Server {
    /// Starts it with these lines in its configuration and these arguments of the JVM, and waits until it serves.
    pub(crate) async fn start(config: &str, java: &[String]) -> Self {
        let (folder, port) = (tempfile::tempdir().expect("a temp dir"), free_port());
        let at = folder.path();
        let text = format!(
            "tickTime=300\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n\
             4lw.commands.whitelist=*\nadmin.enableServer=false\nforceSync=no\n{config}",
            at.display()
        );
        std::fs::write(at.join("zoo.cfg"), text).expect("written");
        let install = Install::find(&InstallLocations::from_env()).expect("Java and ZooKeeper");
        let netty = NETTY.map(|jar| install.home.join(jar)).into_iter().filter(|jar| jar.is_file());
        let jars: Vec<String> =
            install.jars.iter().cloned().chain(netty).map(|jar| jar.display().to_string()).collect();
        let log = std::fs::File::create(at.join("log")).expect("made");
        let process = Command::new(EXE)
            .args(["guard", "--parent", &std::process::id().to_string(), "--"])
            .arg(&install.java)
            .args(["-Xmx256m", "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true"])
            .args(java)
            .args(["-cp", &jars.join(":"), "org.apache.zookeeper.server.quorum.QuorumPeerMain"])
            .arg(at.join("zoo.cfg"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("another"))
            .stderr(log)
            .spawn()
            .expect("it starts");
        let mut server = Self { process: ChildGuard(process), port, _folder: folder };
        server.serves().await;
        server
    }

    /// Its address without TLS.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    async fn serves(&mut self) {
        let until = tokio::time::Instant::now() + SERVES_WITHIN;
        let log = self._folder.path().join("log");
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        loop {
            let addr = self.address().parse().expect("an address");
            let answer = four_letter::ask(addr, "srvr", Duration::from_secs(1)).await;
            if answer.is_ok_and(|text| four_letter::mode(&text) == Some("standalone")) {
                return;
            }
            let ended = self.process.0.try_wait().expect("a child");
            assert!(ended.is_none(), "it ended ({ended:?}): {}", said());
            assert!(tokio::time::Instant::now() < until, "it does not serve: {}", said());
            tokio::time::sleep(POLL).await;
        }
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port()
}
