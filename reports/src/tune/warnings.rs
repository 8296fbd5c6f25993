//! What a timeout brings along that no table of costs shows.

use hustings_record::numbers::whole;
use hustings_record::words::{duration, plural, setting_ms};
use hustings_record::{Nanos, StepDown};

use super::pauses::{PauseLog, PauseLogFormat, WEEK_NS};
use super::question::{PAUSED_SHARE_MAX, Question, TICKS_MAX, TICKS_MIN, WEEKS_FACTOR_MAX};
use super::row::{JudgedTimeout, TimeoutGrade, TimeoutRow};

/// A timeout of fewer reconnects than this leaves no room for one that goes wrong.
const RECONNECTS_MIN: f64 = 3.0;
/// A larger share of a log without any line, of more time than this, is worth a word.
const GAP_SHARE_MAX: f64 = 0.1;
const GAP_MIN_NS: Nanos = 3_600_000_000_000;
/// Shorter logs have not seen what a week brings: backups, batches, deployments.
const WEEKS_MIN: f64 = 1.0;

/// In the order in which they matter.
pub(super) fn warnings(question: &Question<'_>, recommended: &JudgedTimeout, rows: &[TimeoutRow]) -> Vec<String> {
    let mut all = Vec::new();
    let tick = question.tick_ms;
    let (least, most) = (TICKS_MIN * tick, TICKS_MAX * tick);
    if let Some(asked) = question.timeout_ms.filter(|asked| !(least..=most).contains(asked)) {
        all.push(format!(
            "a session timeout of {} is granted as {}: servers with a tick of {} keep it within {TICKS_MIN} and {TICKS_MAX} ticks, \
             unless minSessionTimeout or maxSessionTimeout say otherwise",
            setting_ms(asked),
            setting_ms(asked.clamp(least, most)),
            setting_ms(tick),
        ));
    }
    if recommended.grade == TimeoutGrade::Missed {
        all.push(format!(
            "no timeout that a tick of {} allows has so few false failovers: a longer tick or maxSessionTimeout allows longer ones, \
             and shorter pauses are better",
            setting_ms(tick)
        ));
    }
    let unread = &question.log.unread;
    if let Some((line, text)) = &unread.first {
        all.push(format!(
            "{} of a pause and could not be read, the first is line {line}: {text}. What they tell of is in no figure, so that this \
             log shows nothing for certain",
            plural(unread.count, "line tells", "lines tell"),
        ));
    }
    let overlaps = &question.log.overlaps;
    if let Some((line, what)) = &overlaps.first {
        all.push(format!(
            "{} an earlier one, which those of one process cannot; the first is on line {line}: {what}. This log shows nothing for \
             certain: give one log per process",
            plural(overlaps.count, "pause overlaps", "pauses overlap"),
        ));
    }
    let paused_share = question.paused_share();
    if paused_share > PAUSED_SHARE_MAX {
        all.push(format!(
            "the process was paused for {:.0} % of the time: it hardly ran, and this log does not show how often a leader that runs \
             loses its session",
            paused_share * 100.0,
        ));
    }
    if let Some((line, text)) = &question.log.first_skipped {
        all.push(format!(
            "{} of other things than pauses and {} skipped; the first is line {line}: {text}",
            plural(question.log.skipped, "line tells", "lines tell"),
            if question.log.skipped == 1 { "was" } else { "were" },
        ));
    }
    all.extend(of_coverage(question.log));
    let timeout = question.setting(recommended.timeout_ms);
    if let Some(doubt) = question.log.shape.doubt() {
        all.push(format!("the log: {doubt}"));
    }
    let fits = |own: &f64| (own / WEEKS_FACTOR_MAX..=own * WEEKS_FACTOR_MAX).contains(&question.weeks);
    if question.log.own_weeks().is_some_and(|own| own <= 0.0) {
        all.push(format!(
            "all lines of the log are of one time: nothing shows that it is of {:.1} weeks",
            question.weeks
        ));
    }
    if let Some(own) = question.log.weeks().filter(|own| !fits(own)) {
        let (factor, wrong) = match question.weeks / own {
            rarer if rarer > 1.0 => (rarer, "small"),
            more_frequent => (1.0 / more_frequent, "large"),
        };
        all.push(format!(
            "by the times of the log it is of {}, and you say that it is of {:.1} weeks: if the log is right, every rate here is \
             {factor:.1} times too {wrong}",
            duration(whole(own * WEEK_NS)),
            question.weeks,
        ));
    }
    if question.weeks < WEEKS_MIN {
        let days = question.weeks * 7.0;
        all.push(format!("the log is of {days:.1} days: what comes once a week (backups, batches) may not be in it"));
    }
    let (none, _) = question.curve.limits_ms(&timeout);
    if question.log.left_out_max as f64 / 1e6 > none {
        all.push(format!(
            "{} of up to {} are too many to keep, and are in no figure though they could expire sessions: cut the log",
            plural(question.log.left_out, "pause", "pauses"),
            duration(question.log.left_out_max),
        ));
    }
    if timeout.timeout_ms < RECONNECTS_MIN * timeout.reconnect_ms {
        all.push(format!(
            "T is less than {RECONNECTS_MIN} times what a reconnect takes ({}): a lost connection may cost the session",
            milliseconds(timeout.reconnect_ms)
        ));
    }
    all.extend(own_expiry(question, timeout.timeout_ms));
    let row = rows.iter().find(|row| row.timeout_ms == recommended.timeout_ms);
    if let Some(row) = row.filter(|row| row.step_downs_per_week > row.false_failovers.per_week) {
        all.push(format!(
            "with {} a leader also steps down where its client gives the connection up, after {} T of silence: {:.2} a \
             week, beside the false failovers",
            question.step_down,
            two_digits(question.client.gives_up_at_t()),
            row.step_downs_per_week
        ));
    }
    if let StepDown::After(fraction) = question.step_down
        && row.is_some_and(|row| row.given_up_per_week > row.step_downs_per_week)
    {
        all.push(format!(
            "with after={fraction} a leader steps down after a pause only if its reconnect takes longer than {}; each is taken to last \
             {}, and longer ones are in no figure",
            milliseconds(fraction * timeout.timeout_ms),
            milliseconds(timeout.reconnect_ms)
        ));
    }
    all.push(format!(
        "these are pauses of candidates; one of the ensemble's leader between {} and syncLimit × tick ages all sessions at once, and a \
         longer one has a new leader elected, which restarts every session's clock: `hustings run quorum-loss` shows it",
        milliseconds(timeout.timeout_ms / 2.0)
    ));
    all.push("all this is of one leader with such pauses: of many, each has as many false failovers".to_owned());
    all.push(
        "where a process holds one session for many groups, a false failover takes all their leads at once".to_owned(),
    );
    all
}

/// What of the log's time counts as watched, and what does not.
fn of_coverage(log: &PauseLog) -> Vec<String> {
    let mut all = Vec::new();
    let coverage = &log.coverage;
    if coverage.pieces > 1 {
        all.push(format!(
            "the times of the log fall back {}: it is of several processes, or of files in another order; what lies between its {} \
             pieces is not counted as watched",
            plural(coverage.pieces - 1, "time", "times"),
            coverage.pieces,
        ));
    }
    if coverage.missing > 0 {
        let why = match log.shape {
            PauseLogFormat::Safepoints { .. } => "lines of safepoints tell of earlier ones that are not in the log",
            PauseLogFormat::Collections => "numbers of collections are missing, or begin anew",
            PauseLogFormat::Milliseconds | PauseLogFormat::StoppedTimes | PauseLogFormat::Intervals => {
                "lines are missing"
            }
        };
        all.push(format!(
            "{why}: lines of the log are lost, and {} between them are not counted as watched",
            duration(coverage.missing)
        ));
    }
    // Lines of safepoints say how long it was since the one before, and between intervals nothing counts.
    let is_unexplained = match log.shape {
        PauseLogFormat::StoppedTimes | PauseLogFormat::Collections => coverage.missing < coverage.longest_gap,
        PauseLogFormat::Milliseconds | PauseLogFormat::Safepoints { .. } | PauseLogFormat::Intervals => false,
    };
    let (gap, span) = (coverage.longest_gap, coverage.span.unwrap_or(0));
    if is_unexplained && gap > GAP_MIN_NS && gap as f64 > GAP_SHARE_MAX * span as f64 {
        all.push(format!(
            "for {} of the {} that the log covers it has no line: if nothing ran or was logged then, that time was not watched; give \
             the log of each process as a file of its own",
            duration(gap),
            duration(span),
        ));
    }
    all
}

/// The client and the servers each have their own end of a session.
fn own_expiry(question: &Question<'_>, timeout_ms: f64) -> Option<String> {
    let of_t = question.client.own_expiry_of_t();
    match (of_t, question.step_down) {
        (_, StepDown::OnDisconnect) => None,
        (Some(of_t), StepDown::OnExpiry) => Some(format!(
            "with on-expiry a leader that is cut off believes until its client gives the session up at {} T; the servers end it \
             after T: two lead for up to {}",
            two_digits(of_t),
            milliseconds((of_t - 1.0) * timeout_ms)
        )),
        (None, StepDown::OnExpiry) => Some(format!(
            "with on-expiry a leader that is cut off believes until a server tells it that its session has ended, which the {} client \
             never says by itself: two lead for as long as it is cut off",
            question.client.name()
        )),
        (_, StepDown::After(fraction)) => {
            // Silence is noticed late, and the policy's time counts from there.
            let ends = question.client.gives_up_at_t() + fraction;
            (ends > 1.0).then(|| {
                format!(
                    "with after={fraction} a leader that is cut off believes for up to {} T; the servers end its session after T: two \
                     lead for up to {}",
                    two_digits(ends),
                    milliseconds((ends - 1.0) * timeout_ms)
                )
            })
        }
    }
}

fn milliseconds(ms: f64) -> String {
    duration(whole(ms * 1e6))
}

fn two_digits(share: f64) -> String {
    format!("{share:.2}")
}
