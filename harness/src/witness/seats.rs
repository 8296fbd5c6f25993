//! Who on a host holds what: which session stands in which election, with which znode.

use std::collections::{BTreeMap, HashMap};

use hustings_record::{Nanos, WatchEvent};

use super::conversation::Said;
use super::relay::Happened;
use crate::wire::op_code;

/// A session, as its connections show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSeen {
    pub password: [u8; 16],
    pub timeout_ms: u64,
    /// Connections that carry it now.
    pub connections: u32,
    /// It was closed, or a server said that it had expired.
    pub over: bool,
}

/// An ephemeral znode that a session created in an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Without the election's path.
    pub name: String,
    pub czxid: i64,
    pub session: i64,
}

/// One seat, as its host's connections show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeatSeen {
    /// The last session that asked for anything in its election.
    pub session: Option<i64>,
    /// What it created there and has not deleted; the last one is the last.
    pub nodes: Vec<Node>,
    /// Requests about its election, and when the last one came.
    pub requests: u64,
    pub asked_at: Option<Nanos>,
    /// What its watches told, and when.
    pub woken: Vec<(Nanos, String, WatchEvent)>,
}

/// The seats of one host: at most one in each election, so that a path tells whose it is.
#[derive(Debug, Default)]
pub struct Seats {
    /// Path of its election on the wire, by seat.
    elections: BTreeMap<u32, String>,
    seats: BTreeMap<u32, SeatSeen>,
    sessions: BTreeMap<i64, SessionSeen>,
    /// Which session a connection carries.
    carries: HashMap<u64, i64>,
    /// Connections of which not everything could be made sense.
    unsound: u64,
}

impl Seats {
    #[must_use]
    pub fn new(elections: BTreeMap<u32, String>) -> Self {
        let seats = elections.keys().map(|&seat| (seat, SeatSeen::default())).collect();
        Self { elections, seats, ..Self::default() }
    }

    #[must_use]
    pub fn seat(&self, seat: u32) -> Option<&SeatSeen> {
        self.seats.get(&seat)
    }

    #[must_use]
    pub fn session(&self, session: i64) -> Option<&SessionSeen> {
        self.sessions.get(&session)
    }

    /// Sessions that were ever granted, by id.
    pub fn sessions(&self) -> impl Iterator<Item = (i64, &SessionSeen)> {
        self.sessions.iter().map(|(&id, session)| (id, session))
    }

    /// Whether everything that was said could be made sense of.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.unsound == 0
    }

    /// Takes what happened on a connection at `t`.
    pub fn take(&mut self, t: Nanos, connection: u64, happened: &Happened) {
        match happened {
            Happened::Opened => {}
            Happened::Ended { sound } => {
                self.unsound += u64::from(!sound);
                let carried = self.carries.remove(&connection);
                if let Some(session) = carried.and_then(|session| self.sessions.get_mut(&session)) {
                    session.connections -= 1;
                }
            }
            Happened::Said(said) => self.said(t, connection, said),
        }
    }

    fn said(&mut self, t: Nanos, connection: u64, said: &Said) {
        match said {
            Said::Established { session, password, timeout_ms, .. } => {
                self.carries.insert(connection, *session);
                let timeout_ms = u64::try_from(*timeout_ms).unwrap_or(0);
                let fresh = SessionSeen { password: *password, timeout_ms, connections: 0, over: false };
                self.sessions.entry(*session).or_insert(fresh).connections += 1;
            }
            Said::Expired { session } => self.over(*session),
            Said::Asked(asked) => {
                let session = self.carries.get(&connection).copied();
                if let Some((seen, _)) = self.of(&asked.path) {
                    seen.requests += 1;
                    seen.asked_at = Some(t);
                    seen.session = session.or(seen.session);
                }
            }
            Said::Answered { asked, error: 0, created: Some(created), zxid } if asked.ephemeral => {
                let Some(&session) = self.carries.get(&connection) else { return };
                if let Some((seen, name)) = self.of(created).filter(|(_, name)| !name.is_empty()) {
                    seen.nodes.push(Node { name, czxid: *zxid, session });
                }
            }
            Said::Answered { asked, error: 0, .. } if asked.op == op_code::DELETE => {
                if let Some((seen, name)) = self.of(&asked.path) {
                    seen.nodes.retain(|node| node.name != name);
                }
            }
            Said::Answered { asked, error: 0, .. } if asked.op == op_code::CLOSE_SESSION => {
                if let Some(&session) = self.carries.get(&connection) {
                    self.over(session);
                }
            }
            Said::Answered { .. } => {}
            Said::Woken { path, kind } => {
                if let Some((seen, name)) = self.of(path) {
                    seen.woken.push((t, name, *kind));
                }
            }
        }
    }

    /// A session is over, and with it its znodes.
    fn over(&mut self, session: i64) {
        if let Some(seen) = self.sessions.get_mut(&session) {
            seen.over = true;
        }
        for seat in self.seats.values_mut() {
            seat.nodes.retain(|node| node.session != session);
        }
    }

    /// Whose election this path lies in, and the rest of the path.
    fn of(&mut self, path: &str) -> Option<(&mut SeatSeen, String)> {
        let (seat, rest) = self.elections.iter().find_map(|(seat, election)| {
            let rest = path.strip_prefix(election.as_str())?;
            let rest = rest.strip_prefix('/').or(Some("").filter(|_| rest.is_empty()))?;
            Some((*seat, rest.to_owned()))
        })?;
        Some((self.seats.get_mut(&seat)?, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::super::conversation::Asked;
    use super::*;

    fn seats() -> Seats {
        Seats::new(BTreeMap::from([(4, "/c/g1".to_owned()), (5, "/c/g10".to_owned())]))
    }

    fn established(session: i64) -> Happened {
        Happened::Said(Said::Established { session, password: [1; 16], timeout_ms: 4_000, resumed: false })
    }

    fn asked(op: i32, path: &str) -> Asked {
        Asked { xid: 1, op, path: path.into(), ephemeral: true }
    }

    fn created(path: &str, zxid: i64) -> Happened {
        let asked = asked(op_code::CREATE, path);
        Happened::Said(Said::Answered { asked, zxid, error: 0, created: Some(path.into()) })
    }

    #[test]
    fn znodes_are_their_seats_until_they_or_their_session_go() {
        let mut seats = seats();
        for (connection, session) in [(1, 70), (2, 80)] {
            seats.take(0, connection, &established(session));
        }
        seats.take(1, 1, &created("/c/g1/n-0", 100));
        seats.take(1, 2, &created("/c/g10/n-0", 101));
        seats.take(1, 2, &created("/elsewhere/n-0", 102));
        let create = Asked { ephemeral: false, ..asked(op_code::CREATE, "/c/g1/notes") };
        let kept = Said::Answered { asked: create, zxid: 99, error: 0, created: Some("/c/g1/notes".into()) };
        seats.take(1, 1, &Happened::Said(kept));
        let node = |seats: &Seats, seat| seats.seat(seat).unwrap().nodes.first().map(|node| (node.czxid, node.session));
        assert_eq!((node(&seats, 4), node(&seats, 5)), (Some((100, 70)), Some((101, 80))));
        let deleted = Said::Answered { asked: asked(op_code::DELETE, "/c/g1/n-0"), zxid: 103, error: 0, created: None };
        seats.take(2, 1, &Happened::Said(deleted));
        seats.take(2, 3, &Happened::Said(Said::Expired { session: 80 }));
        assert_eq!((node(&seats, 4), node(&seats, 5)), (None, None));
        assert!(seats.session(80).unwrap().over && !seats.session(70).unwrap().over);
    }

    #[test]
    fn what_is_asked_and_told_about_an_election_is_of_its_seat() {
        let mut seats = seats();
        seats.take(0, 1, &established(70));
        seats.take(1, 1, &Happened::Said(Said::Asked(asked(op_code::GET_CHILDREN2, "/c/g1"))));
        seats.take(1, 1, &Happened::Said(Said::Asked(asked(op_code::EXISTS, "/c"))));
        seats.take(2, 1, &Happened::Said(Said::Woken { path: "/c/g1/n-1".into(), kind: WatchEvent::Deleted }));
        let seat = seats.seat(4).unwrap();
        assert_eq!((seat.session, seat.requests), (Some(70), 1));
        assert_eq!(seat.woken, [(2, "n-1".to_owned(), WatchEvent::Deleted)]);
        assert_eq!(seats.seat(5).unwrap(), &SeatSeen::default());
        seats.take(3, 1, &Happened::Ended { sound: false });
        assert!(!seats.is_sound() && seats.session(70).unwrap().connections == 0);
    }
}
