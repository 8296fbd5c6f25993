//! What each timeout costs, which of them are worth a look, and the one to take, with its reasons.

use hustings_record::StepDown;
use serde::Serialize;

use super::curve::Curve;
use super::downtime::Failover;
use super::pauses::{Coverage, OverlappingPauses, PauseLogFormat, UnreadLines};
use super::poisson::upper_95;
use super::question::{Question, TICKS_MAX, TICKS_MIN};
use super::rate::false_failovers;
use super::row::{JudgedTimeout, TimeoutGrade, TimeoutRow};
use super::setting::Client;
use super::tail::{PauseTail, TailError};
use super::warnings::warnings;

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    pub shape: PauseLogFormat,
    pub pauses: u64,
    pub longest_ms: f64,
    pub weeks: f64,
    /// How much time the log covers, by its own times.
    pub coverage: Coverage,
    /// Lines of the log that tell of a pause and could not be read: their pauses are in no figure.
    pub unread: UnreadLines,
    /// Pauses that overlap an earlier one, which those of one process cannot.
    pub overlaps: OverlappingPauses,
    /// Lines that tell of something else, and the first of them.
    pub skipped: u64,
    pub first_skipped: Option<(u64, String)>,
    /// The share of the time for which the process was paused.
    pub paused_share: f64,
    pub acceptable_per_week: f64,
    pub crashes_per_week: f64,
    pub tick_ms: u64,
    pub client: Client,
    pub step_down: StepDown,
    pub curve: Curve,
    pub failover: Failover,
    pub reconnect_ms: f64,
    pub tail: Option<PauseTail>,
    /// A row for each timeout, rising.
    pub rows: Vec<TimeoutRow>,
    pub recommended: JudgedTimeout,
    /// The timeout that is in use, or thought of.
    pub used: Option<JudgedTimeout>,
    /// The same as it was asked for, before servers clamp it.
    pub asked_ms: Option<u64>,
    /// The least bound that a log of so many weeks can give: that of no pause at all, 3 in these weeks.
    pub zero_means_per_week: f64,
    pub warnings: Vec<String>,
}

impl Advice {
    /// The row of the recommended timeout.
    #[must_use]
    pub fn recommended_row(&self) -> Option<&TimeoutRow> {
        self.row(self.recommended.timeout_ms)
    }

    /// The row of the timeout that is in use.
    #[must_use]
    pub fn used_row(&self) -> Option<&TimeoutRow> {
        self.row(self.used.as_ref()?.timeout_ms)
    }

    /// Whether this row is that of the timeout in use.
    #[must_use]
    pub fn is_used(&self, row: &TimeoutRow) -> bool {
        self.used.as_ref().is_some_and(|used| used.timeout_ms == row.timeout_ms)
    }

    fn row(&self, timeout_ms: u64) -> Option<&TimeoutRow> {
        self.rows.iter().find(|row| row.timeout_ms == timeout_ms)
    }
}

/// Answers it.
#[must_use]
pub fn advise(question: &Question<'_>) -> Advice {
    let lengths: Vec<f64> = question.log.pauses.iter().map(|pause| pause.lasted as f64 / 1e6).collect();
    let tail = PauseTail::fit(&lengths, question.weeks);
    let mut rows: Vec<TimeoutRow> =
        timeouts(question).into_iter().map(|timeout| row(question, timeout, &lengths, tail)).collect();
    mark_front(&mut rows);
    let recommended = recommended(question, &rows);
    let used = used(question).and_then(|used| rows.iter().find(|row| row.timeout_ms == used));
    let used = used.map(|row| judged(question, row));
    let longest_ms = lengths.iter().copied().fold(0.0, f64::max);
    Advice {
        shape: question.log.shape,
        pauses: lengths.len() as u64 + question.log.left_out,
        longest_ms,
        weeks: question.weeks,
        coverage: question.log.coverage,
        unread: question.log.unread.clone(),
        overlaps: question.log.overlaps.clone(),
        skipped: question.log.skipped,
        first_skipped: question.log.first_skipped.clone(),
        paused_share: question.paused_share(),
        acceptable_per_week: question.acceptable_per_week,
        crashes_per_week: question.crashes_per_week,
        tick_ms: question.tick_ms,
        client: question.client,
        step_down: question.step_down,
        curve: question.curve.clone(),
        failover: question.failover,
        reconnect_ms: question.reconnect_ms,
        tail: tail.ok(),
        warnings: warnings(question, &recommended, &rows),
        rows,
        recommended,
        used,
        asked_ms: question.timeout_ms,
        zero_means_per_week: upper_95(0) / question.weeks,
    }
}

/// The timeouts that servers with this tick grant and round nothing of: whole ticks; and the one that is in use.
fn timeouts(question: &Question<'_>) -> Vec<u64> {
    let tick = question.tick_ms;
    let mut all: Vec<u64> = (TICKS_MIN..=TICKS_MAX).map(|ticks| ticks * tick).chain(used(question)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn used(question: &Question<'_>) -> Option<u64> {
    let tick = question.tick_ms;
    question.timeout_ms.map(|timeout| timeout.clamp(TICKS_MIN * tick, TICKS_MAX * tick))
}

fn row(question: &Question<'_>, timeout_ms: u64, lengths: &[f64], tail: Result<PauseTail, TailError>) -> TimeoutRow {
    let (setting, curve, weeks) = (question.setting(timeout_ms), &question.curve, question.weeks);
    let false_failovers = false_failovers(question.log, weeks, &setting, curve, question.seed);
    let midpoint = curve.midpoint_ms(&setting);
    let unseen = lengths.iter().all(|ms| *ms <= midpoint);
    let extrapolated = unseen.then(|| tail.and_then(|tail| tail.longer_per_week(midpoint)));
    let (outage_ms, outage_ms_max) = question.failover.outage_ms(&setting);
    let gives_up = question.client.gives_up_at_t() * setting.timeout_ms;
    let given_up = lengths.iter().filter(|ms| **ms > gives_up).count() as f64 / weeks;
    TimeoutRow {
        timeout_ms,
        false_failovers,
        extrapolated_per_week: extrapolated.and_then(Result::ok),
        not_extrapolated: extrapolated.and_then(Result::err).map(|why| why.to_string()),
        given_up_per_week: given_up,
        step_downs_per_week: if question.steps_down(setting.timeout_ms) { given_up } else { 0.0 },
        outage_ms,
        outage_ms_max,
        crashed_s_per_week: question.crashes_per_week * outage_ms / 1e3,
        falsely_s_per_week: false_failovers.per_week * outage_ms / 1e3,
        on_front: false,
    }
}

/// A timeout is on the front if none is better in one of both and no worse in the other.
fn mark_front(rows: &mut [TimeoutRow]) {
    let costs: Vec<(f64, f64)> =
        rows.iter().map(|row| (row.false_failovers.per_week, row.downtime_s_per_week())).collect();
    for (row, own) in rows.iter_mut().zip(&costs) {
        row.on_front = !costs.iter().any(|other| other.0 <= own.0 && other.1 <= own.1 && other != own);
    }
}

/// The one that costs least time among those whose false failovers are within what is acceptable: as the log shows, if there is such
/// a one, else by their bound, else by the estimate; else the one with the fewest.
fn recommended(question: &Question<'_>, rows: &[TimeoutRow]) -> JudgedTimeout {
    let acceptable = question.acceptable_per_week;
    let cheapest = |fits: &dyn Fn(&TimeoutRow) -> bool| {
        let fit = rows.iter().filter(|row| fits(row));
        fit.min_by(|a, b| a.downtime_s_per_week().total_cmp(&b.downtime_s_per_week()))
    };
    let within = cheapest(&|row| judged(question, row).grade == TimeoutGrade::Shown)
        .or_else(|| cheapest(&|row| row.false_failovers.high <= acceptable))
        .or_else(|| cheapest(&|row| row.estimate_per_week() <= acceptable));
    if let Some(row) = within {
        return judged(question, row);
    }
    // An extrapolation is a guess, which some rows have: it says nothing of which has the fewest.
    let fewest = rows.iter().min_by(|a, b| {
        let (a, b) = (&a.false_failovers, &b.false_failovers);
        a.per_week.total_cmp(&b.per_week).then(a.high.total_cmp(&b.high))
    });
    let is_missed = rows.last().is_none_or(|longest| is_missed(question, longest));
    JudgedTimeout {
        timeout_ms: fewest.map_or(0, |row| row.timeout_ms),
        grade: if is_missed { TimeoutGrade::Missed } else { TimeoutGrade::Estimated },
        weeks_missing: None,
        doubt: fewest.and_then(|row| question.doubt(row.timeout_ms)),
    }
}

/// Whether even the lower bound is beyond what is acceptable, of the most weeks that the log may be of.
fn is_missed(question: &Question<'_>, row: &TimeoutRow) -> bool {
    row.false_failovers.low * (question.weeks / question.weeks_at_most()) > question.acceptable_per_week
}

/// What the log shows of one timeout.
fn judged(question: &Question<'_>, row: &TimeoutRow) -> JudgedTimeout {
    let (acceptable, rate) = (question.acceptable_per_week, &row.false_failovers);
    let doubt = question.doubt(row.timeout_ms);
    let grade = if is_missed(question, row) {
        TimeoutGrade::Missed
    } else if rate.high <= acceptable && doubt.is_none() {
        TimeoutGrade::Shown
    } else {
        TimeoutGrade::Estimated
    };
    let weeks_missing = match grade {
        TimeoutGrade::Shown => Some(0.0),
        // If nothing more is seen, the bound of what was seen is spread over more weeks.
        TimeoutGrade::Estimated if doubt.is_none() && row.estimate_per_week() <= acceptable => {
            Some((rate.high * question.weeks / acceptable - question.weeks).max(0.0))
        }
        TimeoutGrade::Estimated | TimeoutGrade::Missed => None,
    };
    JudgedTimeout { timeout_ms: row.timeout_ms, grade, weeks_missing, doubt }
}

#[cfg(test)]
mod tests;
