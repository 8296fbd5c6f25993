//! The result of a fault: its verification ([`Verification`]) and its remedy.

use std::time::Duration;

use hustings_record::{Event, Evidence, FaultKind, Nanos, Touch, VerificationEvent, VerificationStage};

/// At most this many lost answers are listed one by one.
const LOST_LISTED_MAX: usize = 8;

/// The result of an order to one candidate: when it was sent to the servers and answered, or why it failed.
pub type CandidateOrderOutcome = Result<(Nanos, Nanos), String>;

/// The result of an injection or a heal.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// Bounds of the time at which it took effect.
    pub from: Nanos,
    pub to: Nanos,
    /// True only if the fault was observed to have taken effect.
    pub verified: bool,
    pub evidence: String,
    /// For sessions left to expire: the last contact with each.
    pub touches: Vec<Touch>,
    /// All that was observed.
    pub seen: Option<Evidence>,
}

impl Verification {
    /// The proof of an order to one candidate: given at `asked`, its outcome known at `told`. `what` describes what its
    /// answer proves.
    #[must_use]
    pub fn of_order(what: &str, cand: Option<u32>, asked: Nanos, told: Nanos, outcome: CandidateOrderOutcome) -> Self {
        match outcome {
            Ok((from, to)) => {
                let evidence = format!("{what} after {} µs", to.saturating_sub(from) / 1_000);
                let seen = cand.map(|cand| Evidence::Obeyed { cand, sent: from, answered: to });
                Self { from, to, verified: true, evidence, seen, ..Self::default() }
            }
            Err(evidence) => Self { from: asked, to: told, evidence, ..Self::default() },
        }
    }

    /// The verification of fault `id`. It is verified only if the evidence in `seen` also shows the fault.
    #[must_use]
    pub fn verification(self, id: u32, kind: FaultKind, stage: VerificationStage) -> Event {
        let Self { from, to, mut verified, mut evidence, touches, seen } = self;
        if let (true, Some(Err(why))) = (verified, seen.as_ref().map(|seen| seen.shows(kind, stage))) {
            verified = false;
            evidence = format!("{evidence}; not verified: {why}");
        }
        Event::Verification(Box::new(VerificationEvent {
            id,
            stage,
            from,
            to,
            verified,
            evidence,
            touches,
            seen: seen.map(Box::new),
        }))
    }
}

/// Answers to creates that links held back, as text: request ids, paths, and the zxids of the creates.
pub fn lost_replies<'a>(lost: impl IntoIterator<Item = (i32, &'a str, i64)>, links: usize) -> String {
    let lost: Vec<String> =
        lost.into_iter().map(|(xid, path, zxid)| format!("request {xid} made {path} at {zxid:#x}")).collect();
    let told = lost.iter().take(LOST_LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if lost.len() > LOST_LISTED_MAX { ", …" } else { "" };
    match lost.len() {
        0 => format!("no create came by on any of {links} links"),
        count => format!("{count} answers held back on {links} links, their connections closed instead: {told}{more}"),
    }
}

/// An injected fault. It stays until it is healed.
#[must_use = "a fault that is not healed outlives its cell"]
#[derive(Clone, Debug)]
pub struct InjectedFault {
    pub proof: Verification,
    pub remedy: Remedy,
}

/// What undoes a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// There is nothing to undo.
    None,
    /// The links of these hosts are without this fault again. Other faults on them stay in force.
    Links(LinkFault, Vec<u16>),
    /// Stopped processes go on.
    Continue(Vec<StoppedHost>),
    /// Dead hosts are restarted.
    Restart(Vec<u16>),
    /// The resource accepts writes of these hosts again.
    Take(Vec<u16>),
    /// Wall clocks of these hosts are stepped by this many milliseconds.
    SetClocks { hosts: Vec<u16>, by_ms: i64 },
    /// The fault on servers is undone.
    Servers(ServerRemedy),
}

/// A fault that is in force on links until its heal. At most one of each can be in force on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// A partition, in one direction or both.
    Partition,
    Slow,
    LostReply,
}

/// A host whose process was to be stopped. Only that process is continued, not one that runs in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoppedHost {
    pub host: u16,
    /// The pid of the stopped process; in a simulation the number of its life. `None`: nothing was stopped.
    pub process: Option<u32>,
}

impl Remedy {
    /// Whether it restarts dead processes. In a cell that is cut short they stay dead.
    #[must_use]
    pub fn restarts_processes(&self) -> bool {
        matches!(self, Self::Restart(_) | Self::Servers(ServerRemedy::Start { .. }))
    }
}

/// What undoes a fault on servers, by their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerRemedy {
    /// Dead servers are started again in this order, `gap` apart, without their data if `empty`.
    Start { servers: Vec<u32>, gap: Duration, empty: bool },
    /// Stopped servers go on.
    Resume(Vec<u32>),
    /// Everything passes again between these servers and the others.
    Rejoin(Vec<u32>),
}
