//! Is the record itself whole? Results that rest on truncated segments, missing candidates or terms without a beginning
//! are not known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use crate::index::{Index, LOG_SLACK_NS};
use hustings_record::EvidenceSource;
use hustings_record::words::duration;

/// What the record of the cell holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordContents {
    pub segments: u64,
    /// Candidates that were ever heard of, and their lives under a session.
    pub candidates: u64,
    pub incarnations: u64,
    pub terms: u64,
}

impl Section for RecordContents {
    const NAME: &'static str = "record";
    const ABOUT: &'static str = "Is the record itself whole?";
    const RESTS_ON: &'static [EvidenceSource] = &[];

    fn applies(_: &Index<'_>) -> bool {
        true
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        if !index.cell.complete {
            finding.inconclusive("the cell was interrupted or aborted".into());
        }
        for life in &index.lives.all {
            if life.torn && !life.killed {
                finding.inconclusive(format!("{}: torn, though its writer was not killed on purpose", life.file));
            } else if life.torn {
                finding
                    .note(format!("{}: torn when its writer was killed: what it had not acted on is lost", life.file));
            }
            if life.host.is_some() && life.died.is_some() && !life.killed {
                finding.inconclusive(format!("{}: this process died of its own", life.writer));
            } else if index.cell.complete && life.end.is_none() && life.died.is_none() {
                finding.inconclusive(format!("{}: does not end in order", life.file));
            }
        }
        for what in index.servers.contradictions().chain(index.probes.iter().filter_map(|p| p.contradicted.clone())) {
            finding.inconclusive(format!("the record contradicts itself: {what}"));
        }
        let logged = index.servers.all.values().any(|server| !server.log.is_empty());
        if let Some(bound) = index.servers.log_bound.filter(|bound| logged && *bound > LOG_SLACK_NS) {
            finding.inconclusive(format!(
                "the clock of the servers' logs was set, or went otherwise, by {} meanwhile",
                duration(bound)
            ));
        }
        if index.implausible > 0 {
            finding.inconclusive(format!("{} events bear impossible numbers and are left out", index.implausible));
        }
        let expected = index.info.candidates();
        let declared = index.candidates.all.len() as u64;
        if declared < expected {
            finding.inconclusive(format!("{declared} candidates of {expected} were ever heard of"));
        }
        if index.terms.odd > 0 {
            finding.inconclusive(format!("{} events of terms that never began", index.terms.odd));
        }
        let hosts: std::collections::BTreeSet<u16> = index.lives.all.iter().filter_map(|l| l.host).collect();
        if index.info.has_candidates() && hosts.len() < index.info.hosts.len() {
            finding.inconclusive(format!("{} of {} hosts left a segment", hosts.len(), index.info.hosts.len()));
        }
        let found = Self {
            segments: index.lives.all.len() as u64,
            candidates: declared,
            incarnations: index.candidates.incarnations,
            terms: index.terms.all.len() as u64,
        };
        finding.headline(format!(
            "{} segments, {declared} candidates, {} incarnations, {} terms",
            found.segments, found.incarnations, found.terms
        ));
        finding.section = found;
        finding
    }
}
