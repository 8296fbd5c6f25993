//! The index of a cell, and queries that combine several of its parts.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Candidates;
use super::control_plane::{PlacedEvent, few};
use super::duplicate_names::DuplicateZnodeNames;
use super::fault::Fault;
use super::faults::{Deadline, Faults};
use super::intervals::OwnershipIntervals;
use super::lists::Lists;
use super::losses::{Loss, Losses};
use super::notices::{Notice, Notices};
use super::places::QueuePlaces;
use super::plan::FaultPlan;
use super::presence::Presence;
use super::probes::Probes;
use super::servers::Servers;
use super::standing_znodes::ZnodeSightings;
use super::terms::Terms;
use super::time::last_time;
use super::unanswered_creates::UnansweredCreates;
use super::writer_processes::WriterProcesses;
use super::writes::WriteIndex;
use super::znodes::Znodes;
use crate::stats::spans::Span;
use hustings_record::{
    CellInfo, CellRecord, Event, EvidenceSource, FanOut, FaultKind, FencingMethod, LeadLoss, Nanos, Phase, ProcessFate,
};

/// Limit on every parameter of a cell (ten years), so that sums of a few fit their type, whatever a record says.
const MS_MAX: u64 = 10 * 366 * 86_400_000;

fn ms(ms: u64) -> Nanos {
    ms.min(MS_MAX) * 1_000_000
}

fn unread(few: &[PlacedEvent<'_>]) -> BTreeSet<u16> {
    let unread = |event: &Event| matches!(event, Event::Unwitnessed { unsound: 1.., .. });
    few.iter().filter(|(_, event)| unread(event)).filter_map(|(segment, _)| segment.host).collect()
}

fn observed_until(phases: &BTreeMap<Phase, Nanos>, span: Span) -> Nanos {
    phases.get(&Phase::TearDown).copied().unwrap_or(span.1)
}

/// The events of a cell, indexed.
pub struct Index<'a> {
    pub cell: &'a CellRecord,
    /// Control-plane events: all that are not of a candidate, its client, its work or its lead.
    pub few: Vec<PlacedEvent<'a>>,
    pub info: &'a CellInfo,
    /// T: the timeout that most sessions negotiated.
    pub timeout: Option<Nanos>,
    /// How many sessions negotiated which timeout, in milliseconds.
    pub timeouts_ms: BTreeMap<u64, u64>,
    pub tick: Nanos,
    /// ε: the largest uncertainty of a clock reading among all processes.
    pub epsilon: Nanos,
    /// Source of the beliefs: the candidates' reports, or their writes alone if an external program reports nothing
    /// usable.
    pub belief: EvidenceSource,
    /// When each phase began.
    pub phases: BTreeMap<Phase, Nanos>,
    /// First and last time in the cell.
    pub span: Span,
    pub candidates: Candidates<'a>,
    pub lives: WriterProcesses,
    pub presence: Presence,
    pub lists: Lists,
    pub faults: Faults<'a>,
    pub plan: FaultPlan<'a>,
    pub terms: Terms<'a>,
    pub notices: Notices<'a>,
    /// Znodes in the queues; none where candidates compete for a lock.
    pub places: QueuePlaces<'a>,
    pub duplicate_names: DuplicateZnodeNames<'a>,
    pub unanswered_creates: UnansweredCreates,
    pub writing: WriteIndex<'a>,
    pub losses: Losses,
    pub intervals: OwnershipIntervals,
    pub znodes: Znodes<'a>,
    pub servers: Servers<'a>,
    /// None: no probe wrote.
    pub probes: Option<Probes>,
    /// Hosts whose connections could not all be decoded, so that the events of their candidates are incomplete.
    pub unread: BTreeSet<u16>,
    /// Events that were left out because their numbers are impossible.
    pub implausible: u64,
}

impl<'a> Index<'a> {
    /// Indexes a cell that [`plausible`] has filtered, and notes how many events it left out.
    #[must_use]
    pub fn new(cell: &'a CellRecord, implausible: u64) -> Self {
        let info = &cell.info;
        let (mut timeouts_ms, mut phases, mut epsilon) = (BTreeMap::new(), BTreeMap::new(), 0);
        let (mut span, mut reported) = ((Nanos::MAX, 0), EvidenceSource::Report);
        for (_, event) in cell.events() {
            match event {
                Event::Session { timeout_ms, .. } => *timeouts_ms.entry(*timeout_ms).or_insert(0) += 1,
                Event::Program(program) => reported = reported.min(program.belief),
                Event::Phase { t, phase } => _ = phases.entry(*phase).or_insert(*t),
                Event::Segment { clock_uncertainty_ns, .. } => epsilon = epsilon.max(*clock_uncertainty_ns),
                _ => {}
            }
            // Logs may reach back to a time before this cell.
            let logged = matches!(event, Event::ServerLog { .. });
            if let Some(t) = last_time(event).filter(|_| !logged) {
                // A program stamps its terms and resignations itself, maybe by another clock.
                let stamped = matches!(
                    event,
                    Event::Grant { .. } | Event::Granted { .. } | Event::Revoke { .. } | Event::Verification(_)
                );
                span = (if stamped { span.0 } else { span.0.min(t) }, span.1.max(t));
            }
        }
        span.0 = span.0.min(span.1);
        let timeout = timeouts_ms.iter().max_by_key(|(_, n)| **n).map(|(timeout, _)| ms(*timeout));
        let tick = ms(info.tick_ms);
        let few = few(cell);
        let servers = Servers::new(&few, info);
        let deadline = Deadline {
            end: span.1,
            timeout: timeout.unwrap_or(ms(info.timeout_asked_ms)),
            tick,
            poll: ms(info.poll_interval_ms),
            outages: &servers.outages,
        };
        let znodes = Znodes::new(cell);
        let candidates = Candidates::new(cell, &znodes, span.1);
        let intervals = OwnershipIntervals::new(cell, observed_until(&phases, span), span.1);
        let lists = Lists::new(&few);
        let sightings = ZnodeSightings {
            info,
            candidates: &candidates,
            intervals: &intervals,
            lists: &lists,
            timeout: deadline.timeout,
        };
        let faults = Faults::new(cell, &few, (&candidates, &znodes), &deadline, &|znode| sightings.of(znode));
        let lives = WriterProcesses::new(cell, &few, &faults, span.1);
        let candidates = candidates.cut_at_deaths(|host, generation| lives.death(host, generation));
        let terms = Terms::new(cell, (&candidates, &znodes), &lives, span.1);
        // Expiry rounds up to a tick, followers batch touches for half a tick, and one and a half ticks are for other
        // delays. It is an upper limit: a session taken for expired too early would be a false finding.
        let lingers = timeout.unwrap_or(ms(info.timeout_asked_ms)) + 3 * tick;
        // A client that receives nothing looks for a server after 2/5 of T, and pings every 3/20 of T. Affected clients
        // know by then.
        let session_known_within = deadline.timeout / 2 + tick;
        let ends = (observed_until(&phases, span), span.1);
        let places = QueuePlaces::new(&candidates, &faults, &terms, ends, session_known_within, |since| {
            deadline.expires_by(since, lingers)
        });
        let presence = Presence::new(cell, &candidates, &lives, span.1);
        let back = (deadline.timeout + deadline.tick, span.1);
        let notices = Notices::new(cell, &candidates);
        let unanswered_creates =
            UnansweredCreates::new((&candidates, &notices), &presence, &faults, &lives, back, |since| {
                deadline.expires_by(since, lingers)
            });
        let unread = unread(&few);
        let losses = Losses::new(&candidates, &faults, &terms, (&intervals, &unread), &phases, &deadline);
        Self {
            cell,
            info,
            timeout,
            timeouts_ms,
            tick,
            epsilon,
            belief: reported,
            phases,
            span,
            notices: notices.without_own(&terms, &candidates),
            duplicate_names: DuplicateZnodeNames::new(&places, &terms),
            places,
            writing: WriteIndex::of(cell),
            unanswered_creates,
            presence,
            lists,
            candidates,
            lives,
            plan: FaultPlan::new(&few, &faults),
            faults,
            terms,
            losses,
            intervals,
            znodes,
            servers,
            probes: Probes::new(&few),
            unread,
            few,
            implausible,
        }
    }

    /// T, or the requested timeout where no session was established: only for limits, never for a measure.
    #[must_use]
    pub fn timeout_or_asked(&self) -> Nanos {
        self.timeout.unwrap_or(ms(self.info.timeout_asked_ms))
    }

    /// Polling interval of a recipe without watches; 0 for any other.
    #[must_use]
    pub fn polls(&self) -> Nanos {
        if self.info.leader_wakes() == Some(FanOut::None) { ms(self.info.poll_interval_ms) } else { 0 }
    }

    /// The measured window: from the beginning of *measure* to that of *tear-down*.
    #[must_use]
    pub fn window(&self) -> Option<Span> {
        Some((*self.phases.get(&Phase::Measure)?, *self.phases.get(&Phase::TearDown)?))
    }

    /// The same for any cell: from its beginning if it was never measured, and to its end if it has no tear-down.
    #[must_use]
    pub fn measured(&self) -> Span {
        let from = self.phases.get(&Phase::Measure).copied().unwrap_or(self.span.0);
        (from, self.observed_until().max(from))
    }

    /// The beginning of *tear-down*, or the end of a cell that did not reach it.
    #[must_use]
    pub fn observed_until(&self) -> Nanos {
        observed_until(&self.phases, self.span)
    }

    #[must_use]
    pub fn group_name(&self, group: u32) -> String {
        self.info.groups.get(group as usize).cloned().unwrap_or_else(|| format!("group {group}"))
    }

    #[must_use]
    pub fn host_name(&self, host: u16) -> String {
        self.info.hosts.get(usize::from(host)).cloned().unwrap_or_else(|| format!("host {host}"))
    }

    /// Whether the cell is meant to run undisturbed.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.info.fault_kind == FaultKind::None
    }

    /// Number of faults whose effect is verified.
    #[must_use]
    pub fn verified_faults(&self) -> u64 {
        self.faults.all.iter().filter(|f| f.verified()).count() as u64
    }

    /// Whether this cell's faults always cost leaders their lead. Without such a loss, the cell shows nothing.
    #[must_use]
    pub fn must_lose_leaders(&self) -> bool {
        self.faults.all.iter().any(|f| self.must_cost_leads(f))
    }

    /// The same for faults whose targets stay alive: a leader that loses its lead to them could still write.
    #[must_use]
    pub fn must_leave_rivals(&self) -> bool {
        // A leader that is fenced by a kill cannot write.
        if self.info.fencing_method == FencingMethod::Kill {
            return false;
        }
        let rival =
            |f: &Fault<'_>| f.kind.facts().process != ProcessFate::Ended && f.kind.facts().leads != LeadLoss::Anew;
        self.faults.all.iter().any(|f| self.must_cost_leads(f) && rival(f))
    }

    fn must_cost_leads(&self, fault: &Fault<'_>) -> bool {
        // A host that is cut off from some servers can use the others.
        let elsewhere = !fault.kind.hits_servers() && (1..self.info.servers as usize).contains(&fault.servers.len());
        let sure = match fault.kind.facts().leads {
            _ if elsewhere => false,
            LeadLoss::Always | LeadLoss::Anew => true,
            LeadLoss::IfLongerThanTimeout => {
                let lasted = fault.lasted().map(|lasted| lasted.0).or(fault.for_ms.map(ms));
                lasted.is_some_and(|long| long > self.timeout_or_asked() + 2 * self.tick)
            }
            LeadLoss::NotSure => false,
        };
        sure && !fault.groups.is_empty()
    }

    /// The other candidates that were notified that the lost lead's znode is gone: each by its first notice, in order
    /// of time.
    #[must_use]
    pub fn woken(&self, loss: &Loss) -> Vec<Notice<'a>> {
        let lost = &self.terms.all[loss.term];
        let mut seen = BTreeSet::new();
        let notices = self.notices.of(loss.group, lost.node, (loss.since, loss.until));
        notices.iter().filter(|n| n.cand != lost.cand && seen.insert(n.cand)).copied().collect()
    }
}
