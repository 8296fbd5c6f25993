//! The evidence of a verification: questions of probes and when they were answered, bytes counted by proxies, states of
//! processes and servers. Whether it proves the fault is decided here, both for the injector and for readers of the
//! record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::fault::{Counters, FaultKind, ProcessFate, TargetClass, VerificationStage};
use crate::nanos::Nanos;
use crate::server::ServerState;

/// All that a verification rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Evidence {
    /// Links through which nothing was to pass this way.
    Cut { way: Direction, links: Vec<PartitionedLink> },
    /// Links that were to carry everything again.
    Whole { links: Vec<HealedLink> },
    /// Links whose connections were to end.
    Reset { links: Vec<ResetLink> },
    /// Links that were to be slow, by what was furthest from what is due on those that answered: `links`, by host and server.
    Slow { links: Vec<(u16, u32)>, held: Vec<Slowness> },
    /// Simulated links as they are: which way nothing passes, and whether they are slow.
    Modelled { links: Vec<ModelledLink> },
    /// Answers to creates that the links of these hosts held back for good.
    Lost { hosts: Vec<u16>, replies: Vec<WithheldReply> },
    /// A candidate carried out an order, and the servers answered.
    Obeyed { cand: u32, sent: Nanos, answered: Nanos },
    /// The processes of hosts, by what became of them.
    Processes {
        hosts: Vec<(u16, ProcessFate)>,
        /// Hosts whose process did not end on SIGTERM, and was killed for that.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        killed: Vec<u16>,
    },
    /// Writes of hosts that came in and were not taken: how many, by host. At the end of it: how many were let go.
    Withheld { hosts: Vec<(u16, u64)> },
    /// Wall clocks of hosts, as their processes tell them: by how many milliseconds each was ahead of this machine's, before and
    /// after they were set, and by how many it was to be.
    WallClocks { hosts: Vec<(u16, i64, i64)>, due_ms: i64 },
    /// What servers said or did not say when they were asked, by id.
    Servers { asked: Vec<(u32, ServerState)> },
    /// Ways from one server to another that carry nothing, and the bytes that were counted on all of them, before and after
    /// they were watched; None where nobody counts any.
    Apart {
        ways: Vec<(u32, u32)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<(u64, u64)>,
    },
}

/// A question, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    pub at: Nanos,
    /// When the answer came, or the end of waiting for it.
    pub until: Nanos,
    pub came: ProbeAnswer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeAnswer {
    Answered,
    Silence,
    /// The connection was refused, reset or closed.
    Closed,
}

/// One link before and during a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionedLink {
    pub host: u16,
    pub server: u32,
    pub before: Probe,
    /// Asked while it was cut, over a connection from before and over a new one.
    pub old: Option<Probe>,
    pub new: Probe,
    /// The server was asked meanwhile on another path, past the link.
    pub direct: Probe,
    /// The bytes that the proxy had handed on up and down, before and after these questions; None where it counts none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<[(u64, u64); 2]>,
}

/// One link after its heal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealedLink {
    pub host: u16,
    pub server: u32,
    /// It answered before its fault, and no other fault holds or delays it after its heal.
    pub due: bool,
    pub after: Probe,
}

/// One link whose connections were told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResetLink {
    pub host: u16,
    pub server: u32,
    pub before: Probe,
    /// A connection from before was seen to close; None: there was none.
    pub closed: Option<bool>,
    /// Connections from before were still open on it.
    pub left: bool,
    pub after: Probe,
}

/// A measure of slow links, on the link on which it was furthest from what is due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowness {
    pub what: String,
    /// None: it could not be measured.
    pub seen_ms: Option<f64>,
    /// The probes that this is of; none: not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<ProbeTimes>,
    /// The least that the fault adds; of a way that it leaves alone, what it adds to the other one.
    pub due_ms: f64,
    /// It is to be left alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spared: bool,
}

/// How long probes of one link took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeTimes {
    pub host: u16,
    pub server: u32,
    /// Before the fault; None: it is asked how far those during it are apart.
    pub before: Option<Vec<Nanos>>,
    pub during: Vec<Nanos>,
}

impl ProbeTimes {
    /// By how many milliseconds the quickest probe became slower; without `before`, from the quickest to the slowest.
    /// None: no probes.
    #[must_use]
    pub fn ms(&self) -> Option<f64> {
        let least = *self.during.iter().min()?;
        let (from, to) = match &self.before {
            Some(before) => (*before.iter().min()?, least),
            None => (least, *self.during.iter().max()?),
        };
        Some((to as f64 - from as f64) / 1e6)
    }
}

/// One simulated link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelledLink {
    pub host: u16,
    pub server: u32,
    /// Which way nothing passes.
    pub held: Option<Direction>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slow: bool,
}

/// The answer to a create that was carried out, and that never arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WithheldReply {
    /// When it came from the server.
    pub at: Nanos,
    /// Of the request.
    pub xid: i32,
    pub path: String,
    /// Of the transaction that made the znode.
    pub zxid: i64,
}

impl Evidence {
    /// What became of processes of which none was killed for not ending on SIGTERM.
    #[must_use]
    pub fn of_processes(hosts: Vec<(u16, ProcessFate)>) -> Self {
        Self::Processes { hosts, killed: Vec::new() }
    }

    /// Checks that all of it shows the effect of faults of this kind, or their end.
    ///
    /// # Errors
    /// A sentence on the part that does not.
    pub fn shows(&self, kind: FaultKind, stage: VerificationStage) -> Result<(), String> {
        let facts = kind.facts();
        match (self, stage) {
            (Self::Cut { way, links }, VerificationStage::Injected) => match facts.cuts {
                Some(wanted) if wanted == *way => all(links, |link| link.shows(*way)),
                _ => Err(format!("links that were cut {way} are no proof of a {kind}")),
            },
            (Self::Whole { links }, VerificationStage::Healed) => {
                // A fault that waited for a trigger may end while another one, which may hit any host by then, is in force
                // on all of its links.
                match facts.waits_at_sync_point || links.iter().any(|link| link.due) {
                    true => all(links, HealedLink::shows),
                    false => Err("no link answered before the fault".to_owned()),
                }
            }
            (Self::Reset { links }, VerificationStage::Injected) if kind == FaultKind::Disconnect => {
                all(links, ResetLink::shows)
            }
            (Self::Slow { held, .. }, VerificationStage::Injected) => all(held, Slowness::shows),
            (Self::Modelled { links }, _) => all(links, |link| link.shows(kind, stage)),
            (Self::Lost { replies, .. }, VerificationStage::Injected) if kind == FaultKind::LostReply => {
                all(replies, |reply| match reply.zxid > 0 {
                    true => Ok(()),
                    false => Err(format!("the create of {} was not carried out", reply.path)),
                })
            }
            (Self::Obeyed { sent, answered, .. }, VerificationStage::Injected)
                if facts.hits == TargetClass::Candidates =>
            {
                if sent <= answered {
                    Ok(())
                } else {
                    Err("it was answered before it was sent".to_owned())
                }
            }
            (Self::Processes { hosts, .. }, _) => {
                let wanted = if stage == VerificationStage::Injected { facts.process } else { ProcessFate::Kept };
                all(hosts, |(host, fate)| match *fate == wanted {
                    true => Ok(()),
                    false => Err(format!("the process of host {host} is {fate}, not {wanted}")),
                })
            }
            (Self::Withheld { hosts }, VerificationStage::Injected) if facts.withholds_effect => {
                all(hosts, |(host, writes)| {
                    if *writes > 0 { Ok(()) } else { Err(format!("nothing on host {host} had anything to write")) }
                })
            }
            (Self::Withheld { hosts }, VerificationStage::Healed) if facts.withholds_effect => all(hosts, |_| Ok(())),
            (Self::WallClocks { hosts, due_ms }, _) if kind == FaultKind::ClockStep => {
                all(hosts, |(host, before, after)| {
                    let moved = after - before;
                    match (moved - due_ms).abs() <= WALL_CLOCK_OFF_MS {
                        true => Ok(()),
                        false => {
                            Err(format!("the wall clock of host {host} moved by {moved} ms, and {due_ms} are due"))
                        }
                    }
                })
            }
            (Self::Servers { asked }, _) => all(asked, |(server, state)| {
                let wanted = match stage {
                    VerificationStage::Injected => facts.leaves == Some(*state),
                    VerificationStage::Healed => state.serves(),
                };
                if wanted { Ok(()) } else { Err(format!("server {server} is {}", state.name())) }
            }),
            (Self::Apart { ways, bytes }, VerificationStage::Injected)
                if facts.counters == Counters::WatchesDropped =>
            {
                match bytes {
                    Some((before, after)) if before != after => Err("bytes passed between the servers".to_owned()),
                    _ => all(ways, |_| Ok(())),
                }
            }
            (
                Self::Cut { .. }
                | Self::Whole { .. }
                | Self::Reset { .. }
                | Self::Slow { .. }
                | Self::Lost { .. }
                | Self::Obeyed { .. }
                | Self::Withheld { .. }
                | Self::WallClocks { .. }
                | Self::Apart { .. },
                VerificationStage::Injected | VerificationStage::Healed,
            ) => Err(format!("what was looked at is no proof of a {kind}")),
        }
    }

    /// The hosts that the evidence covers, in order.
    #[must_use]
    pub fn hosts(&self) -> Vec<u16> {
        let mut hosts: Vec<u16> = match self {
            Self::Cut { links, .. } => links.iter().map(|link| link.host).collect(),
            Self::Whole { links } => links.iter().map(|link| link.host).collect(),
            Self::Reset { links } => links.iter().map(|link| link.host).collect(),
            Self::Slow { links, .. } => links.iter().map(|link| link.0).collect(),
            Self::Modelled { links } => links.iter().map(|link| link.host).collect(),
            Self::Lost { hosts, .. } => hosts.clone(),
            Self::Processes { hosts, .. } => hosts.iter().map(|host| host.0).collect(),
            Self::Withheld { hosts } => hosts.iter().map(|host| host.0).collect(),
            Self::WallClocks { hosts, .. } => hosts.iter().map(|host| host.0).collect(),
            Self::Obeyed { .. } | Self::Servers { .. } | Self::Apart { .. } => Vec::new(),
        };
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// The links that the evidence covers, each by host and server. None: it does not distinguish servers.
    #[must_use]
    pub fn links(&self) -> Option<Vec<(u16, u32)>> {
        match self {
            Self::Cut { links, .. } => Some(links.iter().map(|link| (link.host, link.server)).collect()),
            Self::Whole { links } => Some(links.iter().map(|link| (link.host, link.server)).collect()),
            Self::Reset { links } => Some(links.iter().map(|link| (link.host, link.server)).collect()),
            Self::Slow { links, .. } => Some(links.clone()),
            Self::Modelled { links } => Some(links.iter().map(|link| (link.host, link.server)).collect()),
            Self::Processes { .. }
            | Self::Withheld { .. }
            | Self::WallClocks { .. }
            | Self::Lost { .. }
            | Self::Obeyed { .. }
            | Self::Servers { .. }
            | Self::Apart { .. } => None,
        }
    }

    /// The servers that the evidence covers.
    #[must_use]
    pub fn servers(&self) -> Vec<u32> {
        match self {
            Self::Servers { asked } => asked.iter().map(|server| server.0).collect(),
            Self::Apart { ways, .. } => ways.iter().map(|way| way.0).collect(),
            Self::Cut { .. }
            | Self::Whole { .. }
            | Self::Reset { .. }
            | Self::Slow { .. }
            | Self::Modelled { .. }
            | Self::Lost { .. }
            | Self::Obeyed { .. }
            | Self::Withheld { .. }
            | Self::WallClocks { .. }
            | Self::Processes { .. } => Vec::new(),
        }
    }

    /// The times that the evidence states, if any. None may be later than the writing of its verification, or end before it
    /// begins.
    #[must_use]
    pub fn times(&self) -> Vec<(Nanos, Nanos)> {
        let span = |asked: &Probe| (asked.at, asked.until);
        match self {
            Self::Cut { links, .. } => {
                let of = |link: &PartitionedLink| [Some(link.before), link.old, Some(link.new), Some(link.direct)];
                links.iter().flat_map(of).flatten().map(|asked| span(&asked)).collect()
            }
            Self::Whole { links } => links.iter().map(|link| span(&link.after)).collect(),
            Self::Reset { links } => links.iter().flat_map(|link| [span(&link.before), span(&link.after)]).collect(),
            Self::Obeyed { sent, answered, .. } => vec![(*sent, *answered)],
            Self::Lost { replies, .. } => replies.iter().map(|reply| (reply.at, reply.at)).collect(),
            Self::Slow { .. }
            | Self::Modelled { .. }
            | Self::Processes { .. }
            | Self::Withheld { .. }
            | Self::WallClocks { .. }
            | Self::Servers { .. }
            | Self::Apart { .. } => Vec::new(),
        }
    }
}

/// Checks that there is at least one item, and that every item shows the effect.
fn all<T>(seen: &[T], shows: impl Fn(&T) -> Result<(), String>) -> Result<(), String> {
    if seen.is_empty() {
        return Err("nothing was looked at".to_owned());
    }
    seen.iter().try_for_each(shows)
}

impl Probe {
    fn answered(&self) -> bool {
        self.came == ProbeAnswer::Answered
    }

    fn took(&self) -> Nanos {
        self.until.saturating_sub(self.at)
    }
}

impl PartitionedLink {
    /// No answer came over the link while it was cut.
    #[must_use]
    pub fn silent(&self) -> bool {
        !self.new.answered() && self.old.is_none_or(|old| !old.answered())
    }

    /// The server answered on the direct path so early that an answer over the link would have come too, if the link
    /// were open.
    #[must_use]
    pub fn server_spoke(&self, way: Direction) -> bool {
        let margin = self.before.took();
        let early = |asked: Probe| {
            let told = !way.is_up() && asked.came == ProbeAnswer::Closed;
            told || self.direct.until.saturating_add(margin) <= asked.until && self.direct.until >= asked.at
        };
        self.direct.answered() && early(self.new) && self.old.is_none_or(early)
    }

    /// The link answered before, and is silent now on old and new connections, while its server answers on another
    /// path. No byte was counted in the cut direction. A partition does not close connections. A close is accepted only
    /// while the direction from host to server is open.
    fn shows(&self, way: Direction) -> Result<(), String> {
        let Self { host, server, before, old, new, .. } = self;
        let not = |what: &str| Err(format!("the link from host {host} to server {server} {what}"));
        if !before.answered() {
            return not("did not answer before, so that its silence proves nothing");
        }
        let Some(old) = old else { return not("had no connection from before") };
        if !self.silent() {
            return not("answers");
        }
        let told = |asked: &Probe| asked.came == ProbeAnswer::Closed;
        if way.is_up() && (told(old) || told(new)) {
            return not("closes its connections, and a partition tells nobody");
        }
        if !self.server_spoke(way) {
            return not("is silent, but so was its server on another path");
        }
        let passed = self.bytes.is_some_and(|[(up, down), (up_then, down_then)]| {
            way.is_up() && up_then != up || way.is_down() && down_then != down
        });
        if passed { not("passed bytes on") } else { Ok(()) }
    }
}

impl HealedLink {
    fn shows(&self) -> Result<(), String> {
        let Self { host, server, due, after } = self;
        match !due || after.answered() {
            true => Ok(()),
            false => Err(format!("the link from host {host} to server {server} does not answer again")),
        }
    }
}

impl ResetLink {
    fn shows(&self) -> Result<(), String> {
        let Self { host, server, closed, left, .. } = self;
        match closed {
            None => Err(format!("the link from host {host} to server {server} had no connection to close")),
            Some(true) if !left => Ok(()),
            Some(_) => Err(format!("connections of host {host} to server {server} were not seen to close")),
        }
    }
}

/// A wall clock is read by a question and an answer, and may be corrected in between.
const WALL_CLOCK_OFF_MS: i64 = 1_000;

/// A number that was written as text may be read back as a neighbouring one.
const READ_BACK_MS: f64 = 1e-6;

impl Slowness {
    /// The least value over all links. None: it could not be measured on one of them.
    #[must_use]
    pub fn least_ms(of: &[ProbeTimes]) -> Option<f64> {
        let all: Option<Vec<f64>> = of.iter().map(ProbeTimes::ms).collect();
        all?.into_iter().reduce(f64::min)
    }

    /// At least half of the due delay was measured, since the figure before the fault is noisy too. A direction that is
    /// to be left alone shows at most that.
    fn shows(&self) -> Result<(), String> {
        let Self { what, seen_ms, of, due_ms, spared } = self;
        if !of.is_empty() {
            let same = match (Self::least_ms(of), seen_ms) {
                (Some(found), Some(said)) => (found - said).abs() < READ_BACK_MS,
                (found, said) => found.is_none() && said.is_none(),
            };
            if !same {
                return Err(format!("{what} is not what the probes say"));
            }
        }
        let half = due_ms / 2.0;
        match seen_ms {
            Some(seen) if *spared && *seen <= half || !spared && *seen >= half => Ok(()),
            Some(seen) => Err(format!("{what} {seen:.1} ms, and {due_ms:.1} ms are due")),
            None => Err(format!("{what} could not be measured")),
        }
    }
}

impl ModelledLink {
    /// After a heal, another fault may still be in force on it.
    fn shows(&self, kind: FaultKind, stage: VerificationStage) -> Result<(), String> {
        let Self { host, server, held, slow } = self;
        let fine = match (stage, kind.facts().cuts) {
            (VerificationStage::Healed, Some(_)) => held.is_none(),
            (VerificationStage::Healed, None) => !slow || kind != FaultKind::Slow,
            (VerificationStage::Injected, Some(way)) => *held == Some(way) || *held == Some(Direction::Both),
            (VerificationStage::Injected, None) => *slow,
        };
        if fine {
            Ok(())
        } else {
            Err(format!("the link from host {host} to server {server} is not as it should be: {self:?}"))
        }
    }
}
