//! Servers that speak TLS, and authenticate their clients by it.

use std::path::Path;
use std::process::{Command, Stdio};

use hustings_record::Event;

use super::server::{Server, free_port};
use super::stage::{ObserverIdentity, below, in_the_middle, passes, refused, with_faults};
use crate::run_support::{Bench, events, files};
use rustix::process::Signal;

/// The second fault needs links that decode the traffic.
const OVER_LINKS: &str = "[faults.cut]
kind = \"partition\"
target = \"host-leading-most\"
for_t = 1.5
[faults.lost]
kind = \"lost-reply\"
target = \"share\"
share = 1.0
for_ms = 1500
with = \"resign\"
with_after_ms = 100
";

/// Certificates that openssl makes in a folder: `NAME.pem`, and its key `NAME.key`.
struct CertificateFolder<'a>(&'a Path);

impl CertificateFolder<'_> {
    fn openssl(&self, words: &str) {
        let mut command = Command::new("openssl");
        command.args(words.split(' ')).current_dir(self.0).stdin(Stdio::null());
        let done = command.output().expect("openssl runs");
        assert!(done.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// A certificate authority.
    fn authority(&self, name: &str) {
        self.openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={name} -keyout {name}.key -out \
             {name}.pem"
        ));
    }

    /// A certificate for this name, signed by `by`.
    fn vouched(&self, name: &str, called: &str, by: &str) {
        std::fs::write(self.0.join("extensions"), format!("subjectAltName={called}\nbasicConstraints=CA:FALSE\n"))
            .expect("written");
        self.openssl(&format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
        ));
        self.openssl(&format!(
            "x509 -req -in {name}.csr -CA {by}.pem -CAkey {by}.key -CAcreateserial -days 2 -extfile extensions -out {name}.pem"
        ));
    }
}

#[tokio::test]
async fn servers_behind_tls_bear_a_run_with_faults_on_links_and_whoever_is_wrong_is_told() {
    let bench = Bench::new();
    let at = bench.path("");
    let certificates = CertificateFolder(&at);
    certificates.authority("ca");
    certificates.authority("stranger");
    certificates.vouched("server", "DNS:localhost", "ca");
    certificates.vouched("client", "DNS:client", "ca");
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("made");
    let keys = bench.file("keys.pem", &(read("server.key") + &read("server.pem")));
    let port = free_port();
    let config = format!(
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\nsecureClientPort={port}\n\
         secureClientPortAddress=127.0.0.1\nssl.keyStore.location={}\nssl.trustStore.location={}\n",
        keys.display(),
        bench.path("ca.pem").display()
    );
    let server = Server::start(&config, &[]).await;

    let (named, numbered) = (format!("localhost:{port}"), format!("127.0.0.1:{port}"));
    let words = |connect: &str, words: &str| -> Vec<String> {
        ["--connect", connect].into_iter().chain(words.split_whitespace()).map(str::to_owned).collect()
    };
    let refuse = |connect: &str, options: &str, told: &[&str]| {
        let words = words(connect, options);
        refused(&bench, &words.iter().map(String::as_str).collect::<Vec<_>>(), &[], told);
    };
    let known = "--tls-cert client.pem --tls-key client.key";
    let unsigned = "no authority in --tls-ca stranger.pem has signed the server's certificate";
    refuse(&named, &format!("--tls-ca stranger.pem {known}"), &[&named, "by TLS", "UnknownIssuer", unsigned]);
    refuse(&named, "--tls-ca ca.pem", &[&named, "by TLS", "--tls-cert"]);
    refuse(&numbered, &format!("--tls-ca ca.pem {known}"), &[&numbered, "not valid for", "--tls-no-hostname-check"]);
    refuse(&named, "", &[&named, "--tls-ca"]);

    let right = words(&named, &format!("--tls-ca ca.pem {known}"));
    let right: Vec<&str> = right.iter().map(String::as_str).collect();
    passes(&bench, &with_faults(OVER_LINKS), &right, &[]);
    let record = bench.path("record");
    let touched =
        |event: &Event| matches!(event, Event::Verification(verification) if !verification.touches.is_empty());
    let read = (0..5).filter(|cell| events(&record, *cell).iter().any(touched)).count();
    assert!(read > 0, "links know the sessions on them");
    assert_eq!(files(&record, "tunnel.jsonl.zst").len(), 5, "who carries all of it writes its own stalls down");
    assert_eq!(below(ObserverIdentity::Anybody, &server.address(), "/").await, ["zookeeper"]);

    let killed = Bench::new();
    let absolute = |name: &str| bench.path(name).display().to_string();
    let options = [
        "--tls-ca".to_owned(),
        absolute("ca.pem"),
        "--tls-cert".to_owned(),
        absolute("client.pem"),
        "--tls-key".to_owned(),
        absolute("client.key"),
        "--tls-no-hostname-check".to_owned(),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let running = in_the_middle(&killed, &[&["--connect", &numbered], &options[..]].concat());
    running.signal(Signal::KILL);
    running.end().expect(137);
    killed.assert_no_process_left();
    let keyless = killed.run(&["clean"]).expect(4);
    assert!(keyless.err.contains("--tls-ca"), "{}", keyless.err);
    assert!(below(ObserverIdentity::Anybody, &server.address(), "/").await.len() > 1, "its znodes are left");
    killed.run(&[&["clean"], &options[..]].concat()).expect(0);
    assert_eq!(below(ObserverIdentity::Anybody, &server.address(), "/").await, ["zookeeper"]);
    killed.assert_nothing_left();
}
