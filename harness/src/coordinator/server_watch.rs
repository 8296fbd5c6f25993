//! Watches the servers of a cell: asks every one for its state again and again, and writes down when it has changed. Also
//! knows who leads the ensemble at the moment, which faults on servers aim by.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use hustings_reports::record::{Event, ServerState};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::ensemble::look::{look, serves};
use crate::ensemble::{Ensemble, log};
use crate::journal::Journal;
use crate::{clock, utc};

/// How long reading one server's log may take.
const LOG_AT_MOST: Duration = Duration::from_secs(20);

/// The servers as they were last seen.
pub(super) struct ServerWatch {
    ensemble: Rc<dyn Ensemble>,
    journal: Journal,
    every: Duration,
    seen: RefCell<BTreeMap<u32, Seen>>,
    changed: watch::Sender<u64>,
    /// When the watch began: older lines of the logs are not of this cell.
    began: u64,
}

struct Seen {
    state: ServerState,
    /// When the last answer that showed this state was asked for, and when the first one was there.
    asked: u64,
    since: u64,
    looks: u64,
    longest_gap: u64,
}

/// The tasks of a watch. Dropping it ends the watch; [`end`](Self::end) writes down how it went.
pub(super) struct Watching {
    watch: Rc<ServerWatch>,
    tasks: JoinSet<()>,
}

impl ServerWatch {
    /// Begins to watch all servers, each asked anew so long after its last answer.
    pub(super) fn begin(ensemble: Rc<dyn Ensemble>, journal: Journal, every: Duration) -> Watching {
        let servers = ensemble.servers().len();
        let (changed, began) = (watch::Sender::new(0), clock::now());
        let watch = Rc::new(Self { ensemble, journal, every, seen: RefCell::default(), changed, began });
        let every_ns = every.as_nanos() as u64;
        watch.journal.push(&Event::ServerWatch { t: clock::now(), every_ns });
        let mut tasks = JoinSet::new();
        for server in (1..).take(servers) {
            tasks.spawn_local(watch.clone().look_forever(server));
        }
        Watching { watch, tasks }
    }

    async fn look_forever(self: Rc<Self>, server: u32) {
        loop {
            let asked = clock::now();
            let (state, zxid) = look(&*self.ensemble, server).await;
            self.note(server, asked, clock::now(), state, zxid);
            tokio::time::sleep(self.every).await;
        }
    }

    fn note(&self, server: u32, asked: u64, answered: u64, state: ServerState, zxid: Option<i64>) {
        let mut seen = self.seen.borrow_mut();
        let first = Seen { state, asked, since: answered, looks: 0, longest_gap: 0 };
        let fresh = !seen.contains_key(&server);
        let known = seen.entry(server).or_insert(first);
        known.looks += 1;
        known.longest_gap = known.longest_gap.max(asked - known.asked);
        let before = std::mem::replace(&mut known.asked, asked);
        if !fresh && known.state == state {
            return;
        }
        (known.state, known.since) = (state, answered);
        // Written through: who aims by it must be found in the record.
        self.journal.push_through(&Event::ServerState { from: before, to: answered, server, state, zxid });
        drop(seen);
        self.changed.send_modify(|changes| *changes += 1);
    }

    /// The server that leads: of several that say so, the one that has said so for the shortest time.
    pub(super) fn leader(&self) -> Option<u32> {
        let seen = self.seen.borrow();
        let leading = seen.iter().filter(|(_, seen)| seen.state == ServerState::Leading);
        leading.max_by_key(|(_, seen)| seen.since).map(|(&server, _)| server)
    }

    /// Servers that serve.
    pub(super) fn serving(&self) -> BTreeSet<u32> {
        self.seen.borrow().iter().filter(|(_, seen)| serves(seen.state)).map(|(&server, _)| server).collect()
    }

    /// Waits until every server has been looked at once.
    pub(super) async fn ready(&self) {
        let servers = self.ensemble.servers().len();
        let mut changed = self.changed.subscribe();
        while self.seen.borrow().len() < servers {
            // Every first look is a change, and bounded.
            if changed.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Watching {
    #[must_use]
    pub(super) fn watch(&self) -> &Rc<ServerWatch> {
        &self.watch
    }

    /// Ends the watch, and writes down how it went and what the servers have logged meanwhile.
    pub(super) async fn end(mut self) {
        self.tasks.shutdown().await;
        let watch = &self.watch;
        let seen = watch.seen.take();
        for (&server, seen) in &seen {
            let (looks, longest_gap_ns) = (seen.looks, seen.longest_gap);
            watch.journal.push(&Event::ServerWatched { t: clock::now(), server, looks, longest_gap_ns });
        }
        for &server in seen.keys() {
            let text = match tokio::time::timeout(LOG_AT_MOST, watch.ensemble.log(server)).await {
                Ok(Ok(text)) => text.unwrap_or_default(),
                Ok(Err(error)) => watch.told(&format!("the log of server {server} could not be read: {error}")),
                Err(_) => watch.told(&format!("the log of server {server} could not be read in time")),
            };
            watch.note_log(server, &text);
        }
    }
}

impl ServerWatch {
    /// Notes a trouble; there is no log then.
    fn told(&self, text: &str) -> String {
        self.journal.push(&Event::Note { t: clock::now(), cand: None, text: text.to_owned() });
        String::new()
    }

    fn note_log(&self, server: u32, text: &str) {
        let clocks = utc::Clocks::now();
        for line in log::election_lines(text) {
            let t = clocks.common(line.at);
            if t >= self.began {
                self.journal.push(&Event::ServerLog { t, server, line: line.line });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io;
    use std::net::SocketAddr;
    use std::rc::Rc;
    use std::time::Duration;

    use futures::future::LocalBoxFuture;
    use hustings_reports::record::{Event, ServerState, read_segment};
    use tokio::task::LocalSet;

    use super::ServerWatch;
    use crate::ensemble::four_letter::FourLetterError;
    use crate::ensemble::{Ensemble, EnsembleError, ServerControl};
    use crate::journal::{Journal, Owner};

    /// One server that says one thing after the other, and then the last thing for ever; None: nobody is there.
    struct Scripted(RefCell<Vec<Option<&'static str>>>);

    fn addr() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 1))
    }

    impl Ensemble for Scripted {
        fn servers(&self) -> Vec<SocketAddr> {
            vec![addr()]
        }
        fn kind(&self) -> &str {
            "scripted"
        }
        fn version(&self) -> &str {
            "0"
        }
        fn describe(&self) -> String {
            String::new()
        }
        fn control(&self) -> Option<&dyn ServerControl> {
            None
        }
        fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
            let mut left = self.0.borrow_mut();
            let answer = if left.len() > 1 { left.remove(0) } else { left[0] };
            let source = FourLetterError::Io { word, addr: addr(), source: io::ErrorKind::ConnectionRefused.into() };
            let answer = answer.map(ToOwned::to_owned).ok_or(EnsembleError::Ask { server, source });
            Box::pin(std::future::ready(answer))
        }
        fn log(&self, _: u32) -> LocalBoxFuture<'_, Result<Option<String>, EnsembleError>> {
            let text =
                "2001-01-01T00:00:00Z QuorumPeer - LOOKING\n2100-01-01T00:00:00Z QuorumPeer - LOOKING\n".to_owned();
            Box::pin(std::future::ready(Ok(Some(text))))
        }
        fn check_alive(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
            Box::pin(std::future::ready(Ok(())))
        }
        fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
            Box::pin(std::future::ready(Ok(())))
        }
    }

    #[tokio::test]
    async fn changes_are_written_down_between_the_questions_that_bracket_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("segment.jsonl");
        let journal =
            Journal::create(&path, &Owner { cell: 0, writer: "coordinator", host: None, life: 0 }).expect("a journal");
        let (follows, leads) = ("Zxid: 0x100000002\nMode: follower\n", "Zxid: 0x200000000\nMode: leader\n");
        let idle = "This ZooKeeper instance is not currently serving requests\n";
        let script = vec![Some(follows), Some(follows), None, Some(idle), Some(idle), Some(leads)];
        let ensemble = Rc::new(Scripted(RefCell::new(script)));
        let watched = async {
            let watching = ServerWatch::begin(ensemble, journal.clone(), Duration::from_millis(2));
            watching.watch().ready().await;
            assert_eq!((watching.watch().leader(), watching.watch().serving().len()), (None, 1));
            while watching.watch().leader().is_none() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            watching.end().await;
        };
        LocalSet::new().run_until(watched).await;
        journal.end().expect("written");

        let (events, torn) = read_segment(&path).expect("readable");
        assert!(torn.is_none());
        let states: Vec<_> = events
            .iter()
            .filter_map(|e| match e {
                Event::ServerState { from, to, state, zxid, .. } => Some((*from, *to, *state, *zxid)),
                _ => None,
            })
            .collect();
        let told: Vec<_> = states.iter().map(|s| (s.2, s.3)).collect();
        let expected = [
            (ServerState::Following, Some(0x1_0000_0002)),
            (ServerState::Down, None),
            (ServerState::NotServing, None),
            (ServerState::Leading, Some(0x2_0000_0000)),
        ];
        assert_eq!(told, expected);
        for (before, after) in states.iter().zip(&states[1..]) {
            assert!(before.0 <= before.1 && before.1 < after.1 && before.0 < after.0, "{states:?}");
        }
        let looks: Vec<_> = events
            .iter()
            .filter_map(|e| if let Event::ServerWatched { looks, .. } = e { Some(*looks) } else { None })
            .collect();
        assert!(looks.len() == 1 && looks[0] >= 6, "{looks:?}");
        let logged = events.iter().filter(|e| matches!(e, Event::ServerLog { .. })).count();
        assert_eq!(logged, 1, "what was logged before the watch began is not of this cell");
    }
}
