//! Writes through every server, again and again, in cells with faults on servers: for how long is no write acknowledged?

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

use hustings_reports::record::Event;
use hustings_workloads::write_gaps::{EVERY, PATIENCE, TIMEOUT, WriteGaps};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use zookeeper_client as zk;

use crate::clock;
use crate::coordinator::set_up::connect_string;
use crate::journal::Journal;

/// All probes of a cell. Dropped, they end.
pub(super) struct WriteProbe {
    shared: Rc<Shared>,
    tasks: JoinSet<()>,
}

struct Shared {
    journal: Journal,
    path: String,
    gaps: Cell<WriteGaps>,
}

impl WriteProbe {
    /// Begins to write to a znode, which is there or can be made, through each of these servers.
    pub(super) fn begin(servers: &[SocketAddr], path: &str, journal: Journal) -> Self {
        let t = clock::now();
        journal.push(&Event::WriteProbe { t, every_ns: EVERY.as_nanos() as u64 });
        let shared = Rc::new(Shared { journal, path: path.to_owned(), gaps: Cell::new(WriteGaps::begin(t)) });
        let mut tasks = JoinSet::new();
        for &server in servers {
            tasks.spawn_local(shared.clone().write_forever(connect_string(&[server], "")));
        }
        Self { shared, tasks }
    }

    /// Ends the probes and writes down what came of them.
    pub(super) async fn end(mut self) {
        self.tasks.shutdown().await;
        self.shared.end();
    }
}

impl Shared {
    async fn write_forever(self: Rc<Self>, server: String) {
        loop {
            let connecting = zk::Client::connector().with_session_timeout(TIMEOUT).connect(&server);
            if let Ok(Ok(client)) = timeout(PATIENCE, connecting).await {
                while let Ok(Ok(())) = timeout(PATIENCE, self.write(&client)).await {
                    self.acknowledge();
                    sleep(EVERY).await;
                }
            }
            // Whatever the trouble is: another connection may be free of it.
            sleep(EVERY).await;
        }
    }

    async fn write(&self, client: &zk::Client) -> Result<(), zk::Error> {
        match client.set_data(&self.path, b"", None).await {
            // The servers may have been started without their data.
            Err(zk::Error::NoNode) => {
                client.mkdir(&self.path, &zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all())).await
            }
            written => written.map(|_| ()),
        }
    }

    fn acknowledge(&self) {
        let mut gaps = self.gaps.get();
        self.note(gaps.acknowledge(clock::now()), false);
        self.gaps.set(gaps);
    }

    fn note(&self, gap: Option<(u64, u64)>, ended: bool) {
        if let Some((from, to)) = gap {
            self.journal.push(&Event::WriteGap { from, to, ended });
        }
    }

    fn end(&self) {
        let (t, gaps) = (clock::now(), self.gaps.get());
        self.note(gaps.gap(t), true);
        self.journal.push(&Event::WriteProbed { t, acknowledged: gaps.acknowledged() });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hustings_reports::record::{Event, read_segment};

    use super::{Shared, WriteGaps};
    use crate::clock;
    use crate::journal::{Journal, Owner};

    #[test]
    fn only_gaps_that_mean_something_are_written_down_and_the_last_one_is_marked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("segment.jsonl");
        let journal =
            Journal::create(&path, &Owner { cell: 0, writer: "coordinator", host: None, life: 0 }).expect("a journal");
        let long_ago = |ns: u64| clock::now() - ns;
        let gaps = Cell::new(WriteGaps::begin(long_ago(700_000_000)));
        let shared = Shared { journal: journal.clone(), path: "/x".to_owned(), gaps };
        shared.acknowledge();
        shared.acknowledge();
        let mut gaps = shared.gaps.get();
        gaps.acknowledge(long_ago(900_000_000));
        shared.gaps.set(gaps);
        shared.end();
        journal.end().expect("written");

        let (events, _) = read_segment(&path).expect("readable");
        let gaps: Vec<_> = events
            .iter()
            .filter_map(|e| match e {
                Event::WriteGap { from, to, ended } => Some(((to - from) / 100_000_000, *ended)),
                _ => None,
            })
            .collect();
        assert_eq!(gaps, [(7, false), (9, true)]);
        assert!(events.iter().any(|e| matches!(e, Event::WriteProbed { acknowledged: 3, .. })));
    }
}
