//! The numbers of one cell, by subject. Every count has behind it what it is a count of.

use serde::Serialize;

use super::parts::Fact;
use super::row::woken;
use crate::render::{clean, format};
use crate::stats::{Rate, Tail};
use crate::summary::{CellSummary, Distribution, Excess, Listing, WatchesFired};
use hustings_record::{FaultKind, Nanos};

/// What hosts are planned by, in KiB: a process, and each candidate with its session.
const HOST_KB: f64 = 15.0 * 1024.0;
const CANDIDATE_KB: f64 = 60.0;

#[derive(Serialize)]
pub(super) struct Subject {
    heading: &'static str,
    facts: Vec<Fact>,
}

/// One line of the table of distributions.
#[derive(Serialize)]
pub(super) struct DistributionLine {
    name: &'static str,
    about: &'static str,
    n: String,
    censored: String,
    void: String,
    /// min, p50, p90, p99, max, mean.
    values: Vec<String>,
}

/// The measured distributions, and the names of those that there are none of.
pub(super) fn distributions(cell: &CellSummary) -> (Vec<DistributionLine>, Vec<&'static str>) {
    let excess = cell.failover.excess.as_ref().map(|excess| &excess.over_floor);
    // The last says whether it is missing where there is none: nothing is to be found again where nothing was lost.
    let all = [
        ("failover", "lead lost → next grant", cell.failover.whole.as_ref(), true),
        ("from intended", "fault intended → next grant", cell.failover.from_intended.as_ref(), true),
        ("release", "belief ended → deletion sent, of resignations", cell.failover.release.as_ref(), false),
        ("detect", "lead lost or released → first watcher notified", cell.failover.detect.as_ref(), true),
        ("spread", "first → last watcher notified", cell.failover.spread.as_ref(), true),
        ("decide", "first watcher notified → grant", cell.failover.decide.as_ref(), true),
        ("act", "grant → first accepted write", cell.failover.act.as_ref(), true),
        ("excess", "detect beyond the floor T − age", excess, true),
        ("floor", "deleted → notified → listed, without an election", cell.failover.floor.as_ref(), true),
        ("overlap", "length of definite active overlaps", cell.split_brain.lengths.as_ref(), true),
        ("reconnect", "connection lost → found again", cell.sessions.reconnect.as_ref(), false),
        ("connect", "connecting a session, when enrolling", cell.enrolment.connect.as_ref(), true),
        ("connect anew", "connecting a session later on", cell.enrolment.connect_anew.as_ref(), false),
    ];
    let mut lines = Vec::new();
    let mut missing = Vec::new();
    for (name, about, distribution, always) in all {
        match distribution {
            Some(d) => lines.push(line(name, about, d)),
            None if always => missing.push(name),
            None => {}
        }
    }
    (lines, missing)
}

fn line(name: &'static str, about: &'static str, d: &Distribution) -> DistributionLine {
    let measured = |ns| if d.n == 0 { format::NOTHING.into() } else { format::duration(ns) };
    let quantile =
        |ns: Option<u64>| if d.n + d.censored == 0 { format::NOTHING.into() } else { format::duration_or_hidden(ns) };
    let p99 = match d.tail() {
        Tail::P99(p99) => quantile(p99),
        Tail::Longest { .. } => format::NOTHING.into(),
    };
    let values = vec![measured(d.min), quantile(d.p50), quantile(d.p90), p99, measured(d.max), measured(d.mean)];
    DistributionLine {
        name,
        about,
        n: format::count(d.n),
        censored: format::count(d.censored),
        void: if is_voided(name) { format::count(d.void) } else { format::NOTHING.into() },
        values,
    }
}

/// Whether stalls make samples of it void: of a failover's phases.
fn is_voided(name: &str) -> bool {
    !matches!(name, "floor" | "overlap" | "reconnect" | "connect" | "connect anew")
}

pub(super) fn subjects(cell: &CellSummary) -> Vec<Subject> {
    if !cell.info.has_candidates() {
        return vec![
            Subject { heading: "Faults", facts: faults(cell) },
            Subject { heading: "The harness", facts: stalls(cell) },
        ];
    }
    let mut subjects = vec![
        Subject { heading: "Handovers", facts: handovers(cell) },
        Subject { heading: "Faults", facts: faults(cell) },
        Subject { heading: "Split brain", facts: split_brain(cell) },
        Subject { heading: "Writes", facts: writes(cell) },
        Subject { heading: "Fan-out", facts: fan_out(cell) },
        Subject { heading: "Leaderless and ownership", facts: ownership(cell) },
        Subject { heading: "Standing", facts: standing(cell) },
        Subject { heading: "Enrolment and the harness", facts: enrolment(cell) },
    ];
    if cell.sessions.established > 0 {
        subjects.push(Subject { heading: "Sessions", facts: sessions(cell) });
    }
    subjects
}

fn sessions(cell: &CellSummary) -> Vec<Fact> {
    let s = &cell.sessions;
    let mut facts = vec![
        Fact::new("There in the measured window", format::count(s.established)),
        Fact::new("Connections lost", format::count(s.disconnected)),
        Fact::new(
            "Found again under the same session",
            format!("{} of {}", format::count(s.reconnected), format::count(s.disconnected)),
        ),
        Fact::new("Lost with no fault on their host", format::count_of(s.lost, s.established)),
        Fact::new("Terms interrupted by a lost connection", format::count(s.interrupted_terms)),
    ];
    if s.severed > 0 {
        facts.push(Fact::new("Kept by a server after their end, and cut", format::count(s.severed)));
    }
    facts
}

fn handovers(cell: &CellSummary) -> Vec<Fact> {
    let h = &cell.handovers;
    let mut facts = vec![
        Fact::new("Planned (a verified fault explains them)", format::count(h.planned)),
        Fact::new("Injections (all that was planned for one moment is one)", format::count(h.injections)),
        Fact::new("Completed", format::count(h.completed)),
        Fact::new("Retaken by the candidate that had lost it", format::count_by(h.retaken, h.completed, h.injections)),
        Fact::new("Not ended when the run did (censored)", format::count_by(h.censored, h.planned, h.injections)),
        Fact::new(
            "Unplanned (false failovers), while somebody led",
            format::count_within(h.unplanned, cell.leaderless.led_ns),
        ),
        Fact::new("Explained by a fault on a loser that it did not meet as the leader", format::count(h.explained)),
        Fact::new("Explained by an unverified fault alone: not counted", format::count(h.unverified)),
        Fact::new(
            "Completed later than sessions can have expired",
            format::count_by(h.late, h.completed, h.injections),
        ),
        Fact::new(
            "Faults that the leader survived",
            format::count_by(h.survived, h.planned.saturating_add(h.survived), h.injections),
        ),
    ];
    let sampled = cell.failover.void + cell.failover.whole.as_ref().map_or(0, |whole| whole.n + whole.censored);
    facts.push(Fact::new(
        "Failovers void by a stall: in no time of a failover",
        format::count_by(cell.failover.void, sampled, h.injections),
    ));
    let p = &cell.promptness;
    for (name, kept) in [("Noticed later than promised", p.detect), ("Decided later than promised", p.decide)] {
        let void = if kept.void > 0 { format!("; {} void", format::count(kept.void)) } else { String::new() };
        facts.push(Fact::new(name, format!("{}{void}", format::count_by(kept.late, kept.n, h.injections))));
    }
    facts.extend(over_floor(cell).map(|times| Fact::new("p50 of the failover against that of the floor", times)));
    if let Some(excess) = &cell.failover.excess {
        let n = excess.over_floor.n;
        let window = format::duration(excess.window_ns);
        facts.push(Fact::new("Detected before the floor", format::count_by(excess.early, n, h.injections)));
        facts.push(Fact::new(
            "Detected beyond the window (decides nothing)",
            format!("{} (window {window})", format::count_by(excess.beyond_window, n, h.injections)),
        ));
        facts.extend(restarted(excess).map(|text| Fact::new("Clocks restarted by a new ensemble leader", text)));
    }
    facts
}

/// What the restart of a session's clock adds to its floor.
fn restarted(excess: &Excess) -> Option<String> {
    let (naive, real) = excess.over_naive_floor.as_ref().zip(excess.over_restarted_floor.as_ref())?;
    if excess.restarted == 0 {
        return None;
    }
    Some(format!(
        "{}: expired p50 {} after T − age, {} after the restart + T",
        format::plural(excess.restarted, "session", "sessions"),
        format::duration_or_hidden(naive.p50),
        format::duration_or_hidden(real.p50)
    ))
}

fn faults(cell: &CellSummary) -> Vec<Fact> {
    let f = &cell.faults;
    let ordered = f.verified.saturating_add(f.unverified);
    let late = f.lateness.as_ref().map_or_else(
        || format::NOTHING.into(),
        |d| {
            let (p50, longest) = (format::duration_or_hidden(d.p50), format::duration(d.max));
            format!("p50 {p50}, longest {longest} (n {})", format::count(d.n))
        },
    );
    vec![
        Fact::new("Verified", format!("{} of {} planned", format::count(f.planned_verified), format::count(f.planned))),
        Fact::new("Withheld", format::count(f.withheld.len() as u64)),
        Fact::new(
            "Not verified, of those ordered",
            format!("{} of {}", format::count(f.unverified), format::count(ordered)),
        ),
        Fact::new("Ordered later than intended", late),
    ]
}

/// A resignation has nothing to wait for: what it takes beyond the floor is the recipe's.
fn over_floor(cell: &CellSummary) -> Option<String> {
    let half = |d: &Option<Distribution>| {
        let d = d.as_ref()?;
        Some((d.p50.filter(|&p50| p50 > 0)?, format::count(d.n)))
    };
    let ((failover, n), (floor, of_floor)) = half(&cell.failover.whole).zip(half(&cell.failover.floor))?;
    let times = failover as f64 / floor as f64;
    let (failover, floor) = (format::duration(failover), format::duration(floor));
    (cell.info.fault_kind == FaultKind::Resign)
        .then(|| format!("{times:.2} times ({failover}, n {n}, against {floor}, n {of_floor})"))
}

fn split_brain(cell: &CellSummary) -> Vec<Fact> {
    let s = &cell.split_brain;
    let of_t = cell.timeout_ms.filter(|&ms| ms > 0 && s.active_max_ns > 0).map(|ms| {
        let share = s.active_max_ns as f64 / (ms as f64 * 1e6);
        if share < 0.005 { " (less than 0.01 T)".into() } else { format!(" ({share:.2} T)") }
    });
    vec![
        Fact::new("Definite overlaps, both processes running", format::rate(&s.active)),
        Fact::new("Longest of them", format!("{}{}", format::duration(s.active_max_ns), of_t.unwrap_or_default())),
        Fact::new("All of them together", format::duration(s.active_total_ns)),
        Fact::new("Latent overlaps (a process was stopped)", format::count(s.latent)),
        Fact::new("Longest latent overlap", format::duration(s.latent_max_ns)),
        Fact::new("Possible, not certain", counted(s.possible, &s.active)),
    ]
}

/// Against the handovers and injections behind this rate.
fn counted(seen: u64, behind: &Rate) -> String {
    format::count_by(seen, behind.n, behind.injections)
}

fn writes(cell: &CellSummary) -> Vec<Fact> {
    let (w, strays) = (&cell.writes, &cell.stray_writes);
    let mut facts = vec![
        Fact::new("Writes tried", format::count(w.total)),
        Fact::new(
            "Stale, accepted without a fence, at handovers whose loser could still write",
            format::rate_within(&w.unfenced),
        ),
        Fact::new("Rejected by the fence (no violation)", format::count_of(w.fenced_off, w.total)),
        Fact::new("The same past the fence", format::rate_within(&w.past_fence)),
        Fact::new("Tried between waking and stepping down", format::count_of(w.on_waking, w.total)),
        Fact::new("Sent outside a term of their own", format::count_of(strays.outside, strays.recorded)),
        Fact::new("Longest after the revoke", format::duration(strays.latest_ns)),
        Fact::new("Under way when their leader gave its znode back", format::count(strays.under_release)),
        Fact::new("Longest from sending to the resource", format::duration(strays.slowest_ns)),
    ];
    if strays.not_recorded > 0 {
        facts.push(Fact::new("Sending not recorded", format::count_of(strays.not_recorded, w.total)));
    }
    if w.met.pairs > 0 {
        let met = format!("{}, for {} at most", format::count(w.met.pairs), format::duration(w.met.longest_ns));
        facts.push(Fact::new("Leads whose writes met at the resource", met));
    }
    if w.unordered > 0 {
        facts.push(Fact::new("Without a token: not judged", format::count(w.unordered)));
    }
    if w.misread > 0 {
        facts.push(Fact::new("Left out: the harness stalled then", format::count(w.misread)));
    }
    facts
}

fn fan_out(cell: &CellSummary) -> Vec<Fact> {
    let f = &cell.fan_out;
    let range = |(low, high): (u64, u64)| {
        if low == high { format::count(low) } else { format!("{} to {}", format::count(low), format::count(high)) }
    };
    let or_nothing = |range: Option<String>| range.unwrap_or_else(|| format::NOTHING.into());
    let others = |say: &dyn Fn(&WatchesFired) -> String| {
        let all: Vec<String> =
            cell.deletion_watches.others.iter().map(|(kind, fired)| format!("{kind} {}", say(fired))).collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let spread = f
        .spread
        .as_ref()
        .map(|d| format!("p50 {}, {} (n {})", format::duration_or_hidden(d.p50), format::tail(d), format::count(d.n)));
    vec![
        Fact::new("Leader losses counted", format::count(f.losses)),
        Fact::new("Wake-ups per loss of a leader, median (least–most)", woken(f.woken)),
        Fact::new("Promised by the recipe", or_nothing(f.promised.map(range))),
        Fact::new("Follower losses counted", format::count(f.followers.losses)),
        Fact::new("Wake-ups per loss of a follower, median (least–most)", woken(f.followers.woken)),
        Fact::new("Promised by the recipe", or_nothing(f.followers.promised.map(range))),
        Fact::new("Wake-ups by anything else than the deletion of the lost znode", format::count(f.of_other_kinds)),
        Fact::new("Wake-ups before anybody was lost", format::count(f.without_loss)),
        Fact::new("Requests caused by one wake-up, most", or_nothing(f.requests_per_wake.map(format::count))),
        Fact::new("Promised by the recipe, at most", or_nothing(f.requests_promised.map(format::count))),
        Fact::new(
            "Requests caused per loss of a leader",
            or_nothing(
                f.requests.map(|(m, most)| format!("median {}, most {}", format::count(m), format::count(most))),
            ),
        ),
        Fact::new("First → last watcher", or_nothing(spread)),
        Fact::new("Deletion watches fired, by the clients", or_nothing(cell.deletion_watches.clients_saw.map(range))),
        Fact::new("The same, by the servers", or_nothing(cell.deletion_watches.servers_say.map(format::count))),
        Fact::new("Watches of other kinds fired, by the clients", or_nothing(others(&|w| range(w.clients_saw)))),
        Fact::new("The same, by the servers", or_nothing(others(&|w| format::count(w.servers_say)))),
    ]
}

fn ownership(cell: &CellSummary) -> Vec<Fact> {
    let (l, o, behind) = (&cell.leaderless, &cell.ownership, &cell.split_brain.active);
    vec![
        Fact::new("Share of group-time without an accepted write", format::share(cell.effect.without_write)),
        Fact::new(
            "Longest without an accepted write",
            longest(cell.effect.longest_ns, cell.effect.longest_group.as_ref()),
        ),
        Fact::new("From one accepted write to the next", between(cell)),
        Fact::new("Leaders that never wrote", format::count_of(cell.effect.mute_terms, cell.effect.terms)),
        Fact::new("Leaderless share of group-time", format::share(l.share)),
        Fact::new("Longest without a leader", longest(l.longest_ns, l.longest_group.as_ref())),
        Fact::new(
            "Groups without a leader at the end",
            format::count_of(l.groups_at_end, cell.info.groups.len() as u64),
        ),
        Fact::new("Zombies (believe, do not own), against handovers", counted(o.zombies, behind)),
        Fact::new("Longest zombie", format::duration(o.zombie_max_ns)),
        Fact::new("Dead owners (own, nobody believes), against handovers", counted(o.dead_owners, behind)),
        Fact::new("Longest dead owner", format::duration(o.dead_owner_max_ns)),
        Fact::new("Time in which the observer was blind", format::duration(o.blind_ns)),
        Fact::new("Questions of the observer that were not answered", format::count(o.missed)),
    ]
}

fn between(cell: &CellSummary) -> String {
    let Some(t) = &cell.effect.between else { return format::NOTHING.into() };
    let p999 = t.p999.map_or_else(String::new, |p999| format!(", p99.9 {}", format::duration(p999)));
    let (p50, p99, longest) = (format::duration(t.p50), format::duration(t.p99), format::duration(t.max));
    format!("p50 {p50}, p99 {p99}{p999}, longest {longest} (n {})", format::count(t.n))
}

fn standing(cell: &CellSummary) -> Vec<Fact> {
    let s = &cell.standing;
    let listed = |listing: Option<&Listing>| match listing {
        Some(listing) => format::count_of(listing.matching, listing.judged),
        None => "not recorded".into(),
    };
    let mut facts = vec![
        Fact::new("Candidates that stood when the drain ended", format::count_of(s.at_end, s.candidates)),
        Fact::new("Dead by plan then", format::count(s.dead)),
        Fact::new("Dropped out", format::count(s.dropped_out)),
    ];
    if s.kept_by_a_server > 0 {
        let kept = format::count(s.kept_by_a_server);
        facts.push(Fact::new("Not judged, kept by a server under an ended session", kept));
    }
    facts.extend([
        Fact::new("Came back late, hung", format!("{}, {}", format::count(s.late), format::count(s.hung))),
        Fact::new("Followers' sessions that ended for nothing", format::count(s.sessions_lost)),
        Fact::new("As the servers list them, at first", listed(s.begin.as_ref())),
        Fact::new("As the servers list them, at the end", listed(s.end.as_ref())),
    ]);
    facts.extend(s.end.as_ref().map(|end| {
        let too_short = if end.leaks_judged { "" } else { " of sessions in use; the cell was too short for others" };
        Fact::new("Sessions, znodes and watches left behind", format!("{}{too_short}", format::count(end.left())))
    }));
    facts
}

fn longest(ns: Nanos, group: Option<&String>) -> String {
    let group = group.map(|group| format!(" (group {})", clean::short(group, 60)));
    format!("{}{}", format::duration(ns), group.unwrap_or_default())
}

fn enrolment(cell: &CellSummary) -> Vec<Fact> {
    let e = &cell.enrolment;
    let each = |kb: u64| match e.candidates {
        0 => String::new(),
        n => format!(", {} a candidate", format::memory_kb(kb as f64 / n as f64)),
    };
    let memory = e.rss_kb.map(|kb| format!("{}{}", format::memory_kb(kb as f64), each(kb)));
    let planned = format::memory_kb(e.hosts as f64 * HOST_KB + e.candidates as f64 * CANDIDATE_KB);
    let mut facts = vec![
        Fact::new("Candidates", format::count(e.candidates)),
        Fact::new("Sessions", format::count(e.sessions)),
        Fact::new("Hosts (processes)", format::count(e.hosts)),
        Fact::new("First connect → every group led", e.all_led_ns.map_or_else(|| "never".into(), format::duration)),
        Fact::new("Resident memory of all hosts", memory.unwrap_or_else(|| "not measured".into())),
        Fact::new("60 KB a candidate and 15 MB a host would be", planned),
    ];
    facts.extend(stalls(cell));
    facts
}

fn stalls(cell: &CellSummary) -> Vec<Fact> {
    vec![
        Fact::new("Own stalls of the harness", format::count(cell.stalls.count)),
        Fact::new("Longest of them", format::duration(cell.stalls.longest_ns)),
        Fact::new(
            "Longer than T/10",
            format!("{} of {}", format::count(cell.stalls.over_limit), format::count(cell.stalls.count)),
        ),
    ]
}
