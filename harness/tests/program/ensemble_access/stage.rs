//! Shared by the tests of all kinds of access: a run with faults, a search for secrets, and a check for leftovers.

use std::fs;
use std::path::Path;

use hustings::client::session::ZkSession;
use hustings_reports::verdict::Verdict;
use hustings_workloads::coordination::Session as _;
use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Permission, SaslOptions};

use crate::run_support::scenario::{LENIENT, endless, patient, scenario};
use crate::run_support::{Bench, ProgramOutput, RunningProgram, assert_verified, files, summary_of};

pub(crate) const USER: &str = "scott";
pub(crate) const PASSWORD: &str = "tiger-7d1f0b";

/// `user:password`.
pub(crate) fn secret() -> String {
    format!("{USER}:{PASSWORD}")
}

const RESIGN: &str =
    "[faults.resign]\nkind = \"resign\"\ntarget = \"leaders\"\ngroups = 1\nrepeat = 3\nevery_ms = 400\n";
const CRASH: &str = "[faults.crash]\nkind = \"crash\"\ntarget = \"host-leading-most\"\n";
const EXPIRE: &str =
    "[faults.expire]\nkind = \"expire\"\ntarget = \"leaders\"\ngroups = 1\nrepeat = 2\nevery_ms = 1200\n";

/// A resignation, a killed host, and a session ended by its server, on one server.
pub(crate) fn with_faults(more: &str) -> String {
    patient(&scenario("", &[RESIGN, CRASH, EXPIRE, more].concat()), 3) + LENIENT
}

/// A running run of this scenario.
pub(crate) fn start(bench: &Bench, text: &str, more: &[&str], environment: &[(&str, &str)]) -> RunningProgram {
    let mut command = bench.command(&[&["run", &bench.scenario(text), "--out", "record"], more].concat());
    command.envs(environment.iter().copied());
    bench.start(command)
}

/// A run that is rejected with these words; nothing is left of it.
pub(crate) fn refused(bench: &Bench, more: &[&str], environment: &[(&str, &str)], words: &[&str]) -> ProgramOutput {
    let chatty = [environment, &[("HUSTINGS_LOG", "trace")]].concat();
    let ran = start(bench, &with_faults(""), more, &chatty).end().expect(4);
    ran.error(words);
    assert!(!ran.err.contains(PASSWORD), "the secret is in the log");
    assert!(!bench.path("record").exists(), "a record of nothing");
    bench.assert_nothing_left();
    ran
}

/// Checks that a busy machine may leave inconclusive: failover durations, and ownership during gaps of the observer.
const OPEN_WHERE_BUSY: [&str; 3] = ["failover", "ownership", "stalls"];

/// A run with faults that passes, except for checks that a busy machine leaves inconclusive. Its verifications are verified,
/// and the secret is not readable anywhere.
pub(crate) fn passes(bench: &Bench, text: &str, more: &[&str], environment: &[(&str, &str)]) {
    let mut running = start(bench, text, more, environment);
    running.until("its hosts", || bench.processes().iter().any(|line| line.contains(" host ")));
    for line in bench.processes() {
        assert!(!line.contains(PASSWORD), "the secret is on a command line: {line}");
        let pid = line.split(' ').next().expect("a pid");
        if line.contains(" host ") || line.contains(" proxy ") {
            // A process that has ended has no environment any more.
            let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            assert!(!contains(&variables, PASSWORD), "the secret is in the environment of {line}");
        }
    }
    let ran = running.end();
    let summary = summary_of(&bench.path("record"));
    let checks = summary.cells.iter().flat_map(|cell| &cell.checks);
    let open: Vec<&str> =
        checks.filter(|check| check.verdict == Verdict::Inconclusive).map(|check| check.name.as_str()).collect();
    let ran = ran.expect(if open.is_empty() { 0 } else { 3 });
    assert!(open.iter().all(|check| OPEN_WHERE_BUSY.contains(check)), "left open: {open:?}; it said: {}", ran.err);
    assert!(!ran.err.contains(PASSWORD) && !ran.out.contains(PASSWORD), "the secret is told");
    bench.assert_nothing_left();
    summary.cells.iter().for_each(assert_verified);
    no_secret_in(&bench.path("record"));
}

/// A run in the middle of its fault.
pub(crate) fn in_the_middle(bench: &Bench, more: &[&str]) -> RunningProgram {
    let text = endless("partition").replace("servers = 3", "servers = 1");
    start(bench, &text, more, &[]).in_its_fault(&bench.path("record"))
}

fn no_secret_in(record: &Path) {
    let all = files(record, "");
    let packed = all.iter().filter(|path| path.extension().is_some_and(|extension| extension == "zst")).count();
    assert!(all.len() > 5 && packed > 2, "the record is there: {all:?}");
    for path in all {
        let bytes = fs::read(&path).expect("read");
        assert!(!contains(&bytes, PASSWORD), "the secret is in {}", path.display());
        if path.extension().is_some_and(|extension| extension == "zst") {
            let text = zstd::decode_all(&bytes[..]).expect("a compressed segment");
            assert!(!text.is_empty() && !contains(&text, PASSWORD), "the secret is in {}", path.display());
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Creates a znode for runs that only this client may use, and makes its ancestors read-only.
pub(crate) async fn lock_down(client: &Client, path: &str) {
    let (parent, _) = path.rsplit_once('/').expect("a path");
    if !parent.is_empty() {
        client.mkdir(parent, &CreateMode::Persistent.with_acls(Acls::anyone_all())).await.expect("created");
    }
    client.create(path, &[], &CreateMode::Persistent.with_acls(Acls::creator_all())).await.expect("created");
    let readable = [Acl::new(Permission::READ, AuthId::anyone())];
    for above in ["/", parent] {
        if !above.is_empty() {
            client.set_acl(above, &readable, None).await.expect("locked");
        }
    }
}

/// The identity of an outside observer of a server. A test's client cannot keep its session alive while the test waits
/// for a run, so each look uses a new one.
#[derive(Clone, Copy)]
pub(crate) enum ObserverIdentity {
    Anybody,
    Digest,
    Sasl,
}

impl ObserverIdentity {
    pub(crate) async fn client(self, address: &str) -> Client {
        let connector = match self {
            Self::Anybody => Client::connector(),
            Self::Digest => Client::connector().with_auth("digest", secret().as_bytes()),
            Self::Sasl => Client::connector().with_sasl(SaslOptions::digest_md5(USER, PASSWORD)),
        };
        connector.connect(address).await.expect("a session")
    }
}

/// The children of a znode.
pub(crate) async fn below(who: ObserverIdentity, address: &str, path: &str) -> Vec<String> {
    let client = who.client(address).await;
    client.sync(path).await.expect("synced");
    client.list_children(path).await.expect("listed")
}

/// Whether a stranger may create a znode there.
pub(crate) async fn is_open(address: &str, path: &str) -> bool {
    let stranger = ZkSession::connect(address, std::time::Duration::from_secs(5)).await;
    // Some servers do not even answer strangers.
    let Ok(stranger) = stranger else { return false };
    let mode = hustings_workloads::coordination::CreateMode::Persistent;
    stranger.create(&format!("{path}/strange"), &[], mode).await.is_ok()
}
