//! Any bytes as a log of pauses: refused with a reason, or read, and whatever was read can be asked about.
#![no_main]

use hustings_record::StepDown;
use hustings_reports::tune::{Client, Curve, Failover, Question, advise, pauses};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let log = match pauses::read(bytes) {
        Ok(log) => log,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal says why");
            return;
        }
    };
    assert!(log.skipped <= log.lines && log.pauses.len() as u64 <= log.lines);
    let advice = advise(&Question {
        log: &log,
        weeks: log.weeks().unwrap_or(1.0),
        client: Client::Java,
        step_down: StepDown::OnDisconnect,
        tick_ms: 2_000,
        reconnect_ms: 5.0,
        timeout_ms: Some(5_000),
        crashes_per_week: 1.0,
        acceptable_per_week: 0.25,
        curve: Curve::Model,
        is_of_real_servers: false,
        failover: Failover::ASSUMED,
        seed: 1,
    });
    assert!(advice.rows.iter().all(|row| row.false_failovers.low <= row.false_failovers.high));
});
