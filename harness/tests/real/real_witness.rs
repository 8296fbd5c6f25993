//! The data read from a candidate's connections match its own reports: its session, its znodes and its wake-ups.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hustings::client::session::ZkSession;
use hustings::witness::{DecodedMessage, Relay, RelayCallback, RelayEvent, ReplyContent};
use hustings_record::WatchEvent;
use hustings_workloads::coordination::Session as _;
use hustings_workloads::host::Event;
use hustings_workloads::recipes::RecipeKind;

use crate::real_recipes::group::Group;
use crate::real_support::{ServerStage, joined, on_one_thread};

const TICK_MS: u64 = 500;
const TIMEOUT: Duration = Duration::from_secs(8);

/// A relay in front of every server, and all messages over them.
struct RelayWitness {
    relays: Vec<Relay>,
    heard: Rc<RefCell<Vec<(u64, RelayEvent)>>>,
}

/// The actions of one session in elections.
#[derive(Clone, Debug, Default, PartialEq)]
struct SessionActions {
    timeout_ms: u64,
    /// Names and czxids of the znodes that it created.
    created: Vec<(String, i64)>,
    /// The events of its watches, in order.
    woken: Vec<(String, WatchEvent)>,
}

impl RelayWitness {
    async fn before(stage: &ServerStage) -> Self {
        let heard: Rc<RefCell<Vec<_>>> = Rc::default();
        let told = heard.clone();
        let tell: RelayCallback = Rc::new(move |connection, what| told.borrow_mut().push((connection, what)));
        let servers = hustings::ensemble::Ensemble::servers(&stage.ensemble);
        let relays = Relay::open_all(servers, &Arc::default(), &tell).await.expect("a port");
        Self { relays, heard }
    }

    async fn session(&self) -> ZkSession {
        let all: Vec<_> = self.relays.iter().map(Relay::address).collect();
        ZkSession::connect(&joined(&all), TIMEOUT).await.expect("a session")
    }

    /// The actions by session, below this path.
    fn actions(&self, path: &str) -> BTreeMap<i64, SessionActions> {
        let name = |of: &str| of.strip_prefix(path).map(|rest| rest.trim_start_matches('/').to_owned());
        let (mut sessions, mut actions) = (BTreeMap::new(), BTreeMap::<i64, SessionActions>::new());
        for (connection, what) in self.heard.borrow().iter() {
            match what {
                RelayEvent::Said(DecodedMessage::Established { session, timeout_ms, .. }) => {
                    sessions.insert(*connection, *session);
                    actions.entry(*session).or_default().timeout_ms = *timeout_ms as u64;
                }
                RelayEvent::Said(DecodedMessage::Answered {
                    asked, zxid, shows: ReplyContent::Made(created), ..
                }) if asked.ephemeral => {
                    let actions = actions.get_mut(&sessions[connection]).expect("established");
                    actions.created.extend(name(created).map(|name| (name, *zxid)));
                }
                RelayEvent::Said(DecodedMessage::Woken { path, kind }) => {
                    let actions = actions.get_mut(&sessions[connection]).expect("established");
                    actions.woken.extend(name(path).map(|name| (name, *kind)));
                }
                RelayEvent::Ended { failure } => assert_eq!(*failure, None, "connection {connection} made no sense"),
                _ => {}
            }
        }
        actions
    }
}

/// The same, from the candidate's reports.
fn own(group: &Group<'_>, cand: u32, timeout_ms: u64) -> SessionActions {
    let mut actions = SessionActions { timeout_ms, ..SessionActions::default() };
    for (_, event) in group.shared.events.borrow().iter().filter(|(who, _)| *who == cand) {
        match event {
            Event::Joined { node: Some(node), czxid: Some(czxid), .. } => actions.created.push((node.clone(), *czxid)),
            Event::Grant { node, czxid, .. } if group.election.recipe.is_lock() => {
                // Granted once more after a lost connection: the lock is the one that it created before.
                let lock = (node.clone(), *czxid);
                if actions.created.last() != Some(&lock) {
                    actions.created.push(lock);
                }
            }
            Event::Notified { node, kind, .. } if !matches!(kind, WatchEvent::Ended(_)) => {
                actions.woken.push((node.clone(), *kind));
            }
            _ => {}
        }
    }
    actions
}

#[test]
fn what_is_read_off_connections_is_what_candidates_say_of_themselves() {
    on_one_thread(async {
        let stage = ServerStage::set_up(TICK_MS).await;
        for recipe in RecipeKind::sound() {
            let witness = RelayWitness::before(&stage).await;
            let group = Group::new(&stage, recipe).await;
            for _ in 0..4 {
                group.joins(witness.session().await).await;
            }
            let first = group.has_one_leader().await;
            group.resigns(first).await;
            let second = group.has_one_leader().await;
            group.expire(second).await;
            group.departs(second).await;
            group.has_one_leader().await;
            let read = witness.actions(&group.election.path);
            assert!(!read.is_empty());
            for cand in 0..4 {
                let session = group.session(cand);
                let mut read = read.get(&session.id()).cloned().unwrap_or_default();
                let own = own(&group, cand, session.timeout_ms());
                // A client whose session is forcibly ended may miss its own znode's deletion before the connection
                // ends.
                if cand == second && read.woken.len() > own.woken.len() {
                    let last = read.woken.pop();
                    let of_its_own = own.created.last().map(|(name, _)| (name.clone(), WatchEvent::Deleted));
                    assert_eq!(last, of_its_own, "{recipe}: candidate {cand}");
                }
                assert_eq!(read, own, "{recipe}: candidate {cand}");
            }
        }
        stage.tear_down().await;
    });
}
