//! A step of a replay in words, and what it changes of what is shown of the candidates.

use serde::Serialize;
use serde_json::{Value, json};

use crate::index::number;
use crate::render::{clean, format};
use crate::replay::{Replay, ReplayEvent, WatchedNode};
use hustings_record::{
    CellInfo, Departure, Direction, FanOut, FaultKind, LinkNeed, ProcessFate, RevokeReason, SessionEnd, SessionState,
    WatchEvent,
};

/// Whose, what of it, and what that is from here on.
#[derive(Serialize)]
pub(super) struct ViewChange(usize, &'static str, Value);

/// The replay as far as it was told.
pub(super) struct ReplayState {
    pub(super) names: Vec<String>,
    /// Candidates of the group but one: as many as can be woken.
    rivals: u64,
    /// The znode that each stands by, by its whole name.
    nodes: Vec<Option<String>>,
    watches: Vec<Option<usize>>,
    owner: Option<usize>,
    wakes: Option<FanOut>,
}

/// In words, what changes, and who is told.
type ReplayEventText = (String, Vec<ViewChange>, Vec<usize>);

impl ReplayState {
    pub(super) fn new(replay: &Replay, info: &CellInfo) -> Self {
        let name = |host: u16| info.hosts.get(usize::from(host)).map_or_else(|| format!("host {host}"), Clone::clone);
        let cast = replay.cast.iter();
        let names = cast.map(|member| format!("{} #{}", clean::short(&name(member.host), 24), member.candidate));
        let names: Vec<String> = names.collect();
        let all = names.len();
        let rivals = (all as u64 + replay.others).saturating_sub(1);
        let (nodes, watches, wakes) = (vec![None; all], vec![None; all], info.leader_wakes());
        Self { names, rivals, nodes, watches, owner: None, wakes }
    }

    /// What `who` is called.
    fn name(&self, who: usize) -> &str {
        self.names.get(who).map_or("another one", String::as_str)
    }

    /// The znode that `who` stands by, as far as it is known.
    fn node(&self, who: usize) -> String {
        self.nodes.get(who).and_then(Option::as_deref).map_or_else(|| "the znode".to_owned(), short)
    }

    fn all(&self, who: &[usize]) -> String {
        let names: Vec<&str> = who.iter().map(|&who| self.name(who)).collect();
        match names.as_slice() {
            [] => "nobody that is shown".to_owned(),
            [one] => (*one).to_owned(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        }
    }

    /// Takes the next step.
    pub(super) fn take(&mut self, what: &ReplayEvent) -> ReplayEventText {
        let mut set = Vec::new();
        let mut told = Vec::new();
        let text = match what {
            ReplayEvent::Stood { who, node, session } => self.stood(*who, node.as_deref(), *session, &mut set),
            ReplayEvent::Waits { who, requests, watches } => self.waits(*who, *requests, *watches, &mut set),
            ReplayEvent::Told { who, others, node, of, kind, spread } => {
                told.clone_from(who);
                let whom = self.whom(who, *others, *spread);
                format!("{whom} that {}.", self.news(node, *of, *kind, who, &mut set))
            }
            ReplayEvent::Leads { who, node } => {
                set.push(ViewChange(*who, "leads", true.into()));
                self.watch(*who, None, &mut set);
                self.stand_by(*who, Some(node), &mut set);
                format!("{} leads: from here on it certainly believes so, by {}.", self.name(*who), short(node))
            }
            ReplayEvent::Yields { who, reason } => {
                set.push(ViewChange(*who, "leads", false.into()));
                format!("{} leads no longer: {}.", self.name(*who), why(*reason))
            }
            ReplayEvent::Session { who, state } => self.session(*who, *state, &mut set),
            ReplayEvent::Deleted { who } => {
                self.stand_by(*who, None, &mut set);
                format!("The servers have answered: the znode of {} is deleted.", self.name(*who))
            }
            ReplayEvent::Left { who, how } => {
                self.watch(*who, None, &mut set);
                set.push(ViewChange(*who, "session", Value::Null));
                format!("{} {}.", self.name(*who), left(how))
            }
            ReplayEvent::Fault { kind, who, servers, verified, .. } => {
                self.fault(*kind, who, servers, *verified, &mut set)
            }
            ReplayEvent::Healed { kind, who, verified, .. } => self.healed(*kind, who, *verified, &mut set),
            ReplayEvent::Withheld { planned, kind, why } => {
                format!("Planned fault {planned}, {kind}, is withheld, because {}.", why.about())
            }
            ReplayEvent::Runs { who } => {
                set.push(ViewChange(*who, "process", "".into()));
                format!("A new process runs in the place of that of {}.", self.name(*who))
            }
            ReplayEvent::Wrote { who, refused: false } => {
                format!("The resource takes the first write of {} in this term.", self.name(*who))
            }
            ReplayEvent::Wrote { who, refused: true } => {
                format!("The fence refuses a write of {}: its token is out of date.", self.name(*who))
            }
            ReplayEvent::Owns { who, other } => self.owns(*who, *other, &mut set),
            ReplayEvent::Listed { watches } => self.listed(watches),
        };
        // A summary that was read from a file may name anybody.
        set.retain(|set| set.0 < self.names.len());
        told.retain(|who| *who < self.names.len());
        (text, set, told)
    }

    fn stood(&mut self, who: usize, node: Option<&str>, session: i64, set: &mut Vec<ViewChange>) -> String {
        self.stand_by(who, node, set);
        self.watch(who, None, set);
        let state = [("session", format!("{session:#x}")), ("process", String::new()), ("connection", String::new())];
        set.extend(state.map(|(key, value)| ViewChange(who, key, value.into())));
        match node {
            Some(node) => format!("{} stands: its znode is {}.", self.name(who), short(node)),
            None => format!("{} stands, without a znode of its own.", self.name(who)),
        }
    }

    fn waits(&mut self, who: usize, requests: u32, watches: WatchedNode, set: &mut Vec<ViewChange>) -> String {
        let after = format::plural(requests.into(), "request", "requests");
        let (watched, whom) = match watches {
            WatchedNode::Nothing => (None, "watches nothing, and will look again".to_owned()),
            WatchedNode::Another => (None, "watches one that is not shown here".to_owned()),
            WatchedNode::Member(of) => (Some(of), format!("watches {} of {}", self.node(of), self.name(of))),
        };
        self.watch(who, watched, set);
        match watches {
            WatchedNode::Another => set.push(ViewChange(who, "watches", (-1).into())),
            WatchedNode::Member(of) => set.push(ViewChange(who, "on", self.node(of).into())),
            WatchedNode::Nothing => {}
        }
        format!("{} waits after {after}: it {whom}.", self.name(who))
    }

    fn whom(&self, who: &[usize], others: u64, spread: u64) -> String {
        let woken = who.len() as u64 + others;
        let more = match others {
            0 => String::new(),
            others => format!(" and {} more", format::count(others)),
        };
        let within = if woken > 1 { format!(" within {}", format::duration(spread)) } else { String::new() };
        let are = if woken == 1 { "is" } else { "are" };
        format!(
            "{}{more} {are} told{within} ({} of {})",
            self.all(who),
            format::count(woken),
            format::plural(self.rivals, "other", "others")
        )
    }

    /// What a watch tells of a znode.
    fn news(
        &mut self,
        node: &str,
        of: Option<usize>,
        kind: WatchEvent,
        who: &[usize],
        set: &mut Vec<ViewChange>,
    ) -> String {
        for &who in who {
            self.watch(who, None, set);
        }
        let whose = of.map_or_else(String::new, |of| format!(" of {}", self.name(of)));
        let node_of = format!("{}{whose}", short(node));
        match kind {
            WatchEvent::Deleted => {
                // A znode of the lock's name may be the next one's by now.
                let holder = of.or_else(|| self.nodes.iter().position(|own| own.as_deref() == Some(node)));
                if let Some(of) =
                    holder.filter(|&of| self.nodes.get(of).is_some_and(|own| own.as_deref() == Some(node)))
                {
                    self.stand_by(of, None, set);
                }
                format!("{node_of} is gone")
            }
            WatchEvent::Created => format!("{node_of} is there"),
            WatchEvent::DataChanged => format!("the data of {node_of} has changed"),
            WatchEvent::ChildrenChanged => format!("the children of {node_of} have changed"),
            WatchEvent::Ended(_) => format!("its watch on {node_of} will never fire"),
        }
    }

    fn session(&self, who: usize, state: SessionState, set: &mut Vec<ViewChange>) -> String {
        let name = self.name(who).to_owned();
        let (connection, text) = match state {
            SessionState::Connected => ("", format!("{name} has a connection again.")),
            SessionState::Disconnected => ("no connection", format!("{name} has lost its connection.")),
            SessionState::Ended(SessionEnd::Expired) => {
                ("session ended", format!("{name} learns that its session has expired."))
            }
            SessionState::Ended(SessionEnd::Closed) => ("session ended", format!("{name} has closed its session.")),
            SessionState::Ended(SessionEnd::AuthFailed) => {
                ("session ended", format!("{name} is refused by the servers."))
            }
        };
        set.push(ViewChange(who, "connection", connection.into()));
        text
    }

    fn fault(
        &mut self,
        kind: FaultKind,
        who: &[usize],
        servers: &[u32],
        verified: bool,
        set: &mut Vec<ViewChange>,
    ) -> String {
        let facts = kind.facts();
        let ids: Vec<String> = servers.iter().map(u32::to_string).collect();
        let of_servers = if ids.is_empty() { String::new() } else { format!(", servers {}", ids.join(", ")) };
        let whom = if kind.hits_servers() { "the servers".to_owned() } else { self.all(who) };
        for &who in who.iter().filter(|_| verified) {
            match facts.process {
                ProcessFate::Ended => {
                    set.extend([ViewChange(who, "process", "killed".into()), ViewChange(who, "connection", "".into())]);
                    self.watch(who, None, set);
                }
                ProcessFate::Stopped => set.push(ViewChange(who, "process", "stopped".into())),
                ProcessFate::Kept => {}
            }
            if let Some(link) = link(kind) {
                set.push(ViewChange(who, "link", link.into()));
            }
        }
        let verification = if verified { "It is verified" } else { "It is unverified" };
        format!("Fault: {kind} on {whom}{of_servers}. {} {verification}.", kind.about())
    }

    fn healed(&self, kind: FaultKind, who: &[usize], verified: bool, set: &mut Vec<ViewChange>) -> String {
        for &who in who.iter().filter(|_| verified) {
            if kind.facts().process == ProcessFate::Stopped {
                set.push(ViewChange(who, "process", "".into()));
            }
            if link(kind).is_some() {
                set.push(ViewChange(who, "link", "".into()));
            }
        }
        let whom = if kind.hits_servers() { "the servers".to_owned() } else { self.all(who) };
        let verification = if verified { "" } else { ", unverified" };
        format!("Healed: {kind} on {whom}{verification}.")
    }

    fn owns(&mut self, who: Option<usize>, other: bool, set: &mut Vec<ViewChange>) -> String {
        set.extend(self.owner.map(|owner| ViewChange(owner, "owns", false.into())));
        set.extend(who.map(|who| ViewChange(who, "owns", true.into())));
        self.owner = who;
        match who {
            Some(who) => format!("The observer: ZooKeeper names {} as the owner of the lead.", self.name(who)),
            None if other => "The observer: ZooKeeper names an owner of the lead that is not shown.".to_owned(),
            None => "The observer: ZooKeeper names no owner of the lead.".to_owned(),
        }
    }

    fn listed(&self, watches: &[(usize, usize)]) -> String {
        let drawn: Vec<(usize, usize)> =
            self.watches.iter().enumerate().filter_map(|(who, of)| Some((who, (*of)?))).collect();
        let same = drawn.iter().filter(|watch| watches.contains(watch)).count() as u64;
        let more = (watches.len() as u64).saturating_sub(same);
        let more = if more == 0 { String::new() } else { format!(", and {} that are not", format::count(more)) };
        match self.wakes {
            Some(FanOut::None) => "The servers list what they hold: no watch is to be on it.".to_owned(),
            _ => format!(
                "The servers list the watches that they hold: {} of the {} drawn here are among them{more}.",
                format::count(same),
                format::count(drawn.len() as u64)
            ),
        }
    }

    fn stand_by(&mut self, who: usize, node: Option<&str>, set: &mut Vec<ViewChange>) {
        if let Some(own) = self.nodes.get_mut(who).filter(|own| own.as_deref() != node) {
            *own = node.map(str::to_owned);
            set.push(ViewChange(who, "node", node.map(short).into()));
        }
    }

    fn watch(&mut self, who: usize, of: Option<usize>, set: &mut Vec<ViewChange>) {
        if let Some(own) = self.watches.get_mut(who) {
            *own = of;
            set.push(ViewChange(who, "watches", json!(of)));
        }
    }
}

/// What a fault of this kind makes of a host's links; None: nothing.
fn link(kind: FaultKind) -> Option<&'static str> {
    let facts = kind.facts();
    match facts.cuts {
        Some(Direction::Both) => return Some("cut off"),
        Some(Direction::Up) => return Some("cannot send"),
        Some(Direction::Down) => return Some("cannot hear"),
        None => {}
    }
    match facts.links {
        LinkNeed::Needed | LinkNeed::Reading => facts.until_healed.then_some(kind.name()),
        LinkNeed::None | LinkNeed::Useful => None,
    }
}

/// The end of a znode's name that tells it from the others.
fn short(node: &str) -> String {
    match number(node) {
        Some(_) => clean::short(&node[node.rfind("n_").unwrap_or(0)..], 24),
        None => clean::short(node, 24),
    }
}

fn why(reason: Option<RevokeReason>) -> &'static str {
    match reason {
        None => "its process has ended",
        Some(RevokeReason::Resigned) => "it releases leadership",
        Some(RevokeReason::SteppedDown) => "it has no connection, and its policy has it step down",
        Some(RevokeReason::SessionEnded) => "its session has ended",
        Some(RevokeReason::Deposed) => "its znode is gone, or another's",
        Some(RevokeReason::ElectionDeleted) => "the election was deleted",
    }
}

fn left(how: &Departure) -> String {
    match how {
        Departure::Resigned { .. } => "has resigned".to_owned(),
        Departure::Stopped => "has stopped by order".to_owned(),
        Departure::SessionEnded(_) => "stands no longer: its session has ended".to_owned(),
        Departure::ElectionDeleted => "stands no longer: the election was deleted".to_owned(),
        Departure::Failed(why) => format!("has failed: {}", clean::short(why, 120)),
    }
}
