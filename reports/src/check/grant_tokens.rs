//! Does every term rest on its own znode? The token of each grant is compared with the znode's session and name, and
//! with the znode by which that session owned the leadership then. These come from the observer and from decoded
//! connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::words::moment;
use crate::index::{Index, OwnershipInterval, Term};
use hustings_record::{EvidenceSource, Nanos};

/// Longest delay of the observer's notification after the leader's.
const NOTIFICATION_DELAY_NS: Nanos = 500_000_000;

/// Grants and the znodes that they name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantTokens {
    /// Grants whose znode is known by the wire.
    pub compared: u64,
    /// Those that name another one.
    pub wrong: u64,
    /// Grants of which nothing is known by the wire.
    pub unknown: u64,
}

impl Section for GrantTokens {
    const NAME: &'static str = "grant-tokens";
    const ABOUT: &'static str = "Is the token of every grant that of its own znode by the wire?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire, EvidenceSource::Report];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::<Self>::default();
        for term in &index.terms.all {
            match differs(index, term) {
                Some(None) => finding.section.compared += 1,
                Some(Some(how)) => {
                    finding.section.compared += 1;
                    finding.section.wrong += 1;
                    finding.fail(format!(
                        "{}: candidate {} on {} was granted the lead at {} with the token {:#x}, {how}",
                        index.group_name(term.group),
                        term.cand,
                        index.host_name(term.host),
                        moment(index, term.grant),
                        term.czxid,
                    ));
                }
                None => finding.section.unknown += 1,
            }
        }
        let GrantTokens { compared, wrong, unknown } = finding.section;
        if unknown > 0 {
            finding.note(format!("of {unknown} grants the znode was not observed"));
        }
        finding.headline(format!(
            "{wrong} of {compared} grants bore another token than their own znode's; of {unknown} the znode was not observed"
        ));
        finding
    }
}

/// How the token of a term differs from its observed znode, if it does. None: nothing was observed.
fn differs(index: &Index<'_>, term: &Term<'_>) -> Option<Option<String>> {
    if !term.is_known() {
        return None;
    }
    let known = index.znodes.get(term.czxid);
    let named = index.znodes.named(term.session, term.node).filter(|_| !term.node.is_empty());
    let how = match (known, named) {
        (Some(known), _) if known.session != term.session => Some(format!(
            "which is that of {} of session {:#x}, and its own is {:#x}",
            known.node, known.session, term.session
        )),
        (Some(known), _) if !term.node.is_empty() && known.node != term.node => {
            Some(format!("which is that of {}, and its own is {}", known.node, term.node))
        }
        (_, Some(named)) if named != term.czxid => Some(format!("and that of its znode {} is {named:#x}", term.node)),
        _ => led_by_another(index, term).map(|other| {
            let other = other.czxid.unwrap_or_default();
            format!("and its session had the lead by that with the czxid {other:#x} alone")
        }),
    };
    (known.is_some() || named.is_some() || how.is_some()).then_some(how)
}

/// Another znode of its session by which ZooKeeper named it owner while it certainly believed. None if it ever owned by
/// this one.
fn led_by_another<'i>(index: &'i Index<'_>, term: &Term<'_>) -> Option<&'i OwnershipInterval> {
    let believed = term.definite()?;
    let mut own = index.intervals.within(term.group, term.possible());
    if own.any(|interval| interval.czxid == Some(term.czxid)) {
        return None;
    }
    let mut others =
        index.intervals.within(term.group, believed).filter(|interval| interval.session == Some(term.session));
    others.find(|interval| {
        let (from, to) = (interval.span.0.max(believed.0), interval.span.1.min(believed.1));
        interval.czxid.is_some() && to.saturating_sub(from) > NOTIFICATION_DELAY_NS
    })
}
