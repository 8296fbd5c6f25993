//! Judging whether a fault was seen to take effect, and saying why, in one sentence for the record.

use std::time::Duration;

use crate::proxy::stats::ProxyStats;

use super::actions::{Bracket, Gone};
use super::probe::{Answer, Before};
use super::{Direction, Slow};

/// The proof that a fault took effect on links, or the lack of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkReceipt {
    /// It took effect between these two times, in nanoseconds of CLOCK_MONOTONIC: taken before the first change was sent,
    /// and after the last was read back.
    pub from: u64,
    pub to: u64,
    /// The effect itself was seen.
    pub verified: bool,
    /// What was seen.
    pub evidence: String,
}

impl LinkReceipt {
    fn new(bracket: Bracket, verified: bool, evidence: String) -> Self {
        Self { from: bracket.from, to: bracket.to, verified, evidence }
    }
}

/// What came through links that should be silent.
#[derive(Debug)]
pub(super) struct Silence {
    /// Answers on connections from before, and on new ones.
    pub(super) old: Vec<Answer>,
    pub(super) new: Vec<Answer>,
    /// Counters of the links before and after the questions; None if the proxy has none.
    pub(super) counted: Option<(Vec<ProxyStats>, Vec<ProxyStats>)>,
}

impl Silence {
    /// Bytes that passed (up, down) meanwhile.
    fn passed(&self) -> Option<(u64, u64)> {
        let (first, last) = self.counted.as_ref()?;
        let sum = |all: &[ProxyStats], way: fn(&ProxyStats) -> u64| all.iter().map(way).sum::<u64>();
        let grown = |way| sum(last, way).saturating_sub(sum(first, way));
        Some((grown(|s| s.up.bytes), grown(|s| s.down.bytes)))
    }
}

fn count<T>(all: &[T], is: impl Fn(&T) -> bool) -> usize {
    all.iter().filter(|one| is(one)).count()
}

/// Verified: some link answered before, none does now, on connections old and new, and nothing was counted to pass.
pub(super) fn partition(
    bracket: Bracket,
    (toxic, direction): (&str, Direction),
    before: &[Before],
    seen: &Silence,
    limit: Duration,
) -> LinkReceipt {
    let links = before.len();
    let answered = count(before, |b| b.answer.came());
    let leaks = count(&seen.old, |a| a.came()) + count(&seen.new, |a| a.came());
    let passed = seen.passed();
    let blocked = passed.map_or(0, |(up, down)| match direction {
        Direction::Both => up + down,
        Direction::Up => up,
        Direction::Down => down,
    });
    let counters = match passed {
        None => "this proxy counts no bytes".to_owned(),
        Some((up, down)) => format!("the proxy counted {up} B up and {down} B down meanwhile"),
    };
    let verified = answered > 0 && leaks == 0 && blocked == 0;
    let judgement = match (answered, leaks, blocked) {
        (0, ..) => "nothing is proven, for no link answered before: ",
        (_, 0, 0) => "",
        _ => "NOT in effect although the proxy says so: ",
    };
    let evidence = format!(
        "{judgement}{toxic} ({direction}) read back on {links} links; {answered} of them answered before; in {} ms {leaks} \
         answers came to {} questions on old and {} on new connections; {counters}",
        limit.as_millis(),
        seen.old.len(),
        seen.new.len(),
    );
    LinkReceipt::new(bracket, verified, evidence)
}

/// Verified: every link that answered before its fault answers again.
pub(super) fn heal(bracket: Bracket, answers: &[Answer], expected: &[bool]) -> LinkReceipt {
    let all = answers.iter().zip(expected);
    let due = count(expected, |e| *e);
    let came = all.filter(|(answer, expected)| **expected && answer.came()).count();
    let slowest = answers.iter().filter_map(|a| a.after()).max();
    let links = answers.len();
    let verified = due > 0 && came == due;
    let silent = if due == 0 { "nothing is proven, for no link answered before the fault: " } else { "" };
    let evidence = format!(
        "{silent}no toxic left on {links} links, read back; {came} of the {due} links that answered before answer again, the \
         slowest after {:.1} ms",
        millis(slowest.unwrap_or_default()),
    );
    LinkReceipt::new(bracket, verified, evidence)
}

/// Verified: the old connections were seen to close, and new ones answer where they did before.
pub(super) fn disconnect(
    bracket: Bracket,
    gone: Option<Gone>,
    before: &[Before],
    closed: &[bool],
    after: &[Answer],
) -> LinkReceipt {
    let (stood, seen) = (closed.len(), count(closed, |c| *c));
    let links_left = gone.map_or(0, |gone| gone.links_left);
    let answered = before.iter().zip(after).filter(|(b, _)| b.answer.came()).count();
    let again = before.iter().zip(after).filter(|(b, a)| b.answer.came() && a.came()).count();
    let verified = stood > 0 && seen == stood && links_left == 0;
    let told = match gone {
        None => "ports closed and opened again, read back".to_owned(),
        Some(gone) => format!("{} connections told to reset, old ones still open on {links_left} links", gone.told),
    };
    let judgement = if stood == 0 {
        "nothing is proven, for no probe could connect before: "
    } else if verified {
        ""
    } else {
        "NOT in effect although the proxy says so: "
    };
    let evidence = format!(
        "{judgement}{told}; {seen} of {stood} standing probes saw it; {again} of the {answered} links that answered before answer \
         again"
    );
    LinkReceipt::new(bracket, verified, evidence)
}

/// The quickest round trip of a link, and the length of the answer.
pub(super) type RoundTrip = Option<(Duration, usize)>;

/// Growth below this many milliseconds cannot be told from noise.
const VISIBLE_MS: f64 = 2.0;

/// Verified: on every link that answered before, the quickest round trip grew by at least half of the least that the toxics
/// must add. Half, since the earlier figure is noisy too; a proxy that does nothing adds nothing.
pub(super) fn slow(
    bracket: Bracket,
    slow: Slow,
    question: usize,
    before: &[RoundTrip],
    during: &[RoundTrip],
) -> LinkReceipt {
    let least_ms = |answer: usize| {
        let line = if slow.rate_kb == 0 { 0.0 } else { (question + answer) as f64 / f64::from(slow.rate_kb) };
        f64::from(slow.latency_ms.saturating_sub(slow.jitter_ms)) + line
    };
    let mut answered = 0;
    let mut grown = Vec::new();
    let mut wanted = 0.0_f64;
    for (before, during) in before.iter().zip(during) {
        let Some((first, bytes)) = before else { continue };
        answered += 1;
        wanted = wanted.max(least_ms(*bytes));
        if let Some((second, _)) = during {
            grown.push(millis(*second) - millis(*first));
        }
    }
    let least_seen = grown.iter().copied().fold(f64::INFINITY, f64::min);
    let visible = wanted >= VISIBLE_MS;
    let verified = answered > 0 && grown.len() == answered && visible && least_seen >= wanted / 2.0;
    let judgement = match (answered, visible, verified) {
        (0, ..) => "nothing is proven, for no link answered before: ",
        (_, false, _) => "nothing is proven, for a probe cannot show so small an effect: ",
        (_, _, false) => "NOT in effect although the proxy says so: ",
        _ => "",
    };
    let seen = if grown.is_empty() { "no answer".to_owned() } else { format!("{least_seen:.1} ms or more") };
    let evidence = format!(
        "{judgement}{slow} read back on {} links; the round trip of the {answered} that answered before grew by {seen}, {wanted:.1} ms \
         at least were due",
        before.len(),
    );
    LinkReceipt::new(bracket, verified, evidence)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
