//! How long did it take until every group was led, what did it cost, and with which timeout?

use super::{Finding, time};
use crate::index::Index;
use crate::record::{Event, Nanos};
use crate::stats::Samples;
use crate::summary::{CellSummary, Enrolment};

pub(super) fn check(index: &Index<'_>, summary: &mut CellSummary) -> Finding {
    let mut finding = Finding::default();
    let (mut connect, mut sessions, mut first) = (Samples::default(), 0, None::<Nanos>);
    // The last word of each life of a host.
    let mut memory = std::collections::BTreeMap::new();
    for (_, event) in index.cell.events() {
        match event {
            Event::Session { t, connect_ns, .. } => {
                sessions += 1;
                connect.push(*connect_ns);
                let began = t.saturating_sub(*connect_ns);
                first = Some(first.map_or(began, |f| f.min(began)));
            }
            Event::HostMemory { host, rss_kb, .. } => _ = memory.insert(*host, *rss_kb),
            _ => {}
        }
    }
    let groups = 0..index.info.groups.len() as u32;
    let led = groups.map(|group| {
        let terms = index.terms.of_group(group).iter().map(|&t| &index.terms.all[t]);
        terms.filter_map(|t| t.granted).min()
    });
    let all_led = led.collect::<Option<Vec<Nanos>>>().and_then(|led| led.into_iter().max());
    let result = Enrolment {
        candidates: index.candidates.all.len() as u64,
        sessions,
        all_led_ns: all_led.zip(first).map(|(led, first)| led.saturating_sub(first)),
        connect: connect.distribution(),
        rss_kb: (!memory.is_empty()).then(|| memory.values().sum()),
        hosts: index.info.hosts.len() as u64,
    };
    match (index.timeout, result.all_led_ns) {
        (None, _) => finding.inconclusive("no session was ever established".into()),
        (_, None) => finding.inconclusive("not every group was ever led".into()),
        _ => {}
    }
    timeouts(index, &mut finding);
    let led = result.all_led_ns.map_or_else(|| "never".into(), time);
    finding.headline(format!("{} candidates, {sessions} sessions; every group led after {led}", result.candidates));
    summary.enrolment = result;
    finding
}

fn timeouts(index: &Index<'_>, finding: &mut Finding) {
    let asked = index.info.timeout_asked_ms;
    for (&ms, &n) in index.timeouts_ms.iter().filter(|(ms, _)| **ms != asked) {
        finding.note(format!(
            "{asked} ms were asked for, and the ensemble gave {ms} ms to {n} sessions: T is what it gave"
        ));
    }
    if index.timeouts_ms.len() > 1 {
        finding.inconclusive(format!("sessions negotiated different timeouts: {:?} ms", index.timeouts_ms));
    }
}
