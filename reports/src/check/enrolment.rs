//! How long did it take until every group was led, what did it cost, and with which timeout?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use crate::index::Index;
use crate::stats::{Distribution, Samples};
use hustings_record::numbers::to_u32;
use hustings_record::words::{duration, setting_ms};
use hustings_record::{Event, EvidenceSource, Nanos, Phase};

/// What it took until every group was led.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Enrolment {
    pub candidates: u64,
    /// Established until every group was led: before the warm-up began.
    pub sessions: u64,
    /// First connect → every group led.
    pub all_led_ns: Option<Nanos>,
    /// Sessions that were established until every group was led: before the warm-up began.
    pub connect: Option<Distribution>,
    /// Sessions that were established later: after an expiry, or by a host that came back.
    #[serde(default)]
    pub connect_anew: Option<Distribution>,
    /// Resident memory of all hosts together, and the candidates they carried, when every group was led.
    pub rss_kb: Option<u64>,
    pub hosts: u64,
}

impl Section for Enrolment {
    const NAME: &'static str = "enrolment";
    const ABOUT: &'static str = "Did all candidates enrol before the measuring began, and how fast?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let (mut connect, mut anew) = (Samples::default(), Samples::default());
        let (mut sessions, mut first) = (0, None::<Nanos>);
        let enrolled = index.phases.get(&Phase::WarmUp).or_else(|| index.phases.get(&Phase::Measure)).copied();
        // The last sample of each host.
        let mut memory = std::collections::BTreeMap::new();
        for (_, event) in index.cell.events() {
            match event {
                Event::Session { t, connect_ns, .. } => {
                    let later = enrolled.is_some_and(|enrolled| *t >= enrolled);
                    sessions += u64::from(!later);
                    if later {
                        anew.push(*connect_ns)
                    } else {
                        connect.push(*connect_ns)
                    }
                    let began = t.saturating_sub(*connect_ns);
                    first = Some(first.map_or(began, |f| f.min(began)));
                }
                Event::HostMemory { host, rss_kb, .. } => _ = memory.insert(*host, *rss_kb),
                _ => {}
            }
        }
        let groups = 0..to_u32(index.info.groups.len());
        let led = groups.map(|group| {
            let terms = index.terms.of_group(group).iter().map(|&t| &index.terms.all[t]);
            terms.filter_map(|t| t.granted).min()
        });
        let all_led = led.collect::<Option<Vec<Nanos>>>().and_then(|led| led.into_iter().max());
        let result = Self {
            candidates: index.candidates.all.len() as u64,
            sessions,
            all_led_ns: all_led.zip(first).map(|(led, first)| led.saturating_sub(first)),
            connect: connect.distribution(),
            connect_anew: anew.distribution(),
            rss_kb: (!memory.is_empty()).then(|| memory.values().sum()),
            hosts: index.info.hosts.len() as u64,
        };
        match (index.timeout, result.all_led_ns) {
            (None, _) => finding.inconclusive("no session was ever established".into()),
            (_, None) => finding.inconclusive("not every group was ever led".into()),
            _ => {}
        }
        timeouts(index, &mut finding);
        let led = result.all_led_ns.map_or_else(|| "never".into(), duration);
        finding.headline(format!("{} candidates, {sessions} sessions; every group led after {led}", result.candidates));
        finding.section = result;
        finding
    }
}

fn timeouts(index: &Index<'_>, finding: &mut Finding<Enrolment>) {
    let asked = index.info.timeout_asked_ms;
    for (&ms, &n) in index.timeouts_ms.iter().filter(|(ms, _)| **ms != asked) {
        finding.note(format!(
            "{asked} ms were asked for, and the ensemble gave {ms} ms to {n} sessions: T is what it gave"
        ));
    }
    if index.timeouts_ms.len() > 1 {
        let each = index.timeouts_ms.iter().map(|(&ms, n)| format!("{} ({n})", setting_ms(ms)));
        let each = each.collect::<Vec<_>>().join(", ");
        finding.inconclusive(format!("sessions negotiated different timeouts: {each}"));
    }
}
