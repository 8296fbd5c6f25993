//! Compares a program's reports about its terms with its actions, and with the traffic on its connections.

use std::collections::BTreeMap;
use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{EvidenceSource, Nanos};

use super::super::beliefs::{HeldZnodes, ProgramBeliefs};
use super::super::message::{Ability, FromProgram};
use super::examination::{Examination, ReceivedWrite, guest_slots};
use super::outcome::Need;
use super::stage::{StageEventKind, WRITE_EVERY_MS};
use super::wire_history::ReportedBasis;
use crate::process::clock;
use crate::witness::EphemeralNode;

/// A report and a write use different channels: either may arrive this much later.
const WAYS_DIFFER: Duration = Duration::from_millis(250);
/// Lines are written and read at once; a busy machine may take this long.
const LINES_WITHIN: Duration = Duration::from_millis(500);

impl Examination<'_> {
    /// Checks the reports of the first leaders.
    pub(super) fn reports(&mut self) {
        if !self.has(Ability::Report) {
            self.untested(
                "reports_before_it_acts",
                Need::Optional,
                EvidenceSource::Report,
                "it does not claim to report",
            );
            return;
        }
        let mut late = Vec::new();
        for election in self.elections().collect::<Vec<_>>() {
            let Some(ReceivedWrite { slot: leader, .. }) = self.last_write(election) else { continue };
            let first = self.writes_since(election, 0).iter().find(|write| write.slot == leader).map(|write| write.t);
            let grant = self.grants(leader).into_iter().next_back();
            let Some((heard, FromProgram::Grant { t0, t1, .. })) = grant else {
                late.push(format!("slot {leader} wrote, and had reported no grant"));
                continue;
            };
            let uncertain = clock::uncertainty();
            if t0 > t1 || t1 > heard + uncertain || first.is_some_and(|first| t1 > first + uncertain) {
                let first = first.map_or_else(|| "never".to_owned(), |first| format!("at {first}"));
                late.push(format!(
                    "slot {leader}'s grant is of {t0} to {t1}, was heard at {heard}, and its first write came {first}"
                ));
            }
        }
        let text = late.first().cloned().unwrap_or_else(|| "every grant was there before the first write".to_owned());
        self.found("reports_before_it_acts", Need::Optional, EvidenceSource::Report, late.is_empty(), text);
    }

    /// Compares the znode and token of every grant with the wire's state at its time, or when it was heard.
    fn tokens(&mut self) {
        const NAME: &str = "token_is_the_wire_s";
        if !self.has(Ability::Token) {
            return self.untested(NAME, Need::Optional, EvidenceSource::Wire, "it does not claim to know its token");
        }
        let compared = self.compared(|slot, said, wire| {
            (!said.is(wire)).then(|| {
                let by = |token: Option<i64>| token.map_or_else(|| "no token".to_owned(), |token| token.to_string());
                let node = said.node.map_or_else(|| "no znode".to_owned(), |node| format!("{node:?}"));
                let token = by(said.token);
                format!("slot {slot} says {node}, {token}; by the wire it is {:?}, {}", wire.name, by(wire.czxid))
            })
        });
        if compared.is_empty() {
            return self.untested(NAME, Need::Optional, EvidenceSource::Wire, "the wire shows no znode of its");
        }
        let wrong = compared.iter().flatten().next();
        let text = format!("of all {} grants znodes and tokens are those on the wire", compared.len());
        let text = wrong.cloned().unwrap_or(text);
        self.found(NAME, Need::Optional, EvidenceSource::Wire, wrong.is_none(), text);
    }

    /// Compares the session of every grant with that of the znode that its token is compared with. A session that was
    /// not claimed may be missing, and may not be wrong: a run uses it.
    fn sessions(&mut self) {
        const NAME: &str = "session_is_the_wire_s";
        let claims = self.has(Ability::Session);
        let of_grants = self.compared(|slot, said, wire| {
            let is_compared = claims || said.session.is_some();
            is_compared.then(|| {
                (!said.is_under(wire)).then(|| {
                    let session = said.session.map_or_else(|| "none".to_owned(), |session| format!("{session:#x}"));
                    format!("slot {slot} says {session}; by the wire it is {:#x}", wire.session)
                })
            })
        });
        let compared: Vec<Option<String>> = of_grants.into_iter().flatten().collect();
        if compared.is_empty() {
            let why = if claims { "the wire shows no znode of its" } else { "it does not claim to know its session" };
            return self.untested(NAME, Need::Optional, EvidenceSource::Wire, why);
        }
        let wrong = compared.iter().flatten().next();
        let text = format!("of all {} grants sessions are those on the wire", compared.len());
        let text = wrong.cloned().unwrap_or(text);
        self.found(NAME, Need::Optional, EvidenceSource::Wire, wrong.is_none(), text);
    }

    /// The results for every grant of which the wire shows the znode, by its slot, its report and that znode.
    fn compared<T>(&self, with: impl Fn(u32, ReportedBasis<'_>, &EphemeralNode) -> T) -> Vec<T> {
        self.stage.facts(|fact| match &fact.what {
            StageEventKind::Granted { slot, node, token, session, by_wire: Some(wire) } => {
                let said = ReportedBasis { node: node.as_deref(), token: *token, session: *session };
                Some(with(*slot, said, wire))
            }
            _ => None,
        })
    }

    /// Compares the token of every write with those of its slot's znodes on the wire at or shortly before its
    /// verification.
    pub(super) fn write_tokens(&mut self) {
        const NAME: &str = "writes_bear_its_own_token";
        let on_its_way = nanos(LINES_WITHIN);
        let writes = self.stage.facts(|fact| match &fact.what {
            StageEventKind::Wrote { slot, said, own, .. } => Some((fact.t, *slot, *said, own.clone())),
            _ => None,
        });
        let (mut compared, mut others) = (0, Vec::new());
        let mut owned: BTreeMap<(u32, i64), Nanos> = BTreeMap::new();
        for (t, slot, said, own) in writes {
            own.iter().for_each(|&token| _ = owned.insert((slot, token), t));
            let Some(said) = said.filter(|_| !own.is_empty()) else { continue };
            compared += 1;
            if owned.get(&(slot, said)).is_none_or(|&had| t > had + on_its_way) {
                others.push(format!(
                    "slot {slot} wrote with the token {said}; those of its own znodes are {own:?} by the wire"
                ));
            }
        }
        if compared == 0 {
            return self.untested(
                NAME,
                Need::Optional,
                EvidenceSource::Wire,
                "its writes bear no token, or the wire shows none",
            );
        }
        let text = match others.first() {
            Some(first) => format!("{} of {compared} writes: {first}", others.len()),
            None => format!("all {compared} writes that bear one"),
        };
        self.found(NAME, Need::Optional, EvidenceSource::Wire, others.is_empty(), text);
    }

    /// Checks the reports of the whole examination after its end.
    pub(super) fn all_reports(&mut self) {
        const NAMES: [&str; 3] = ["reports_in_order", "acts_only_while_it_leads", "reports_without_delay"];
        if !self.has(Ability::Report) {
            let why = "it does not claim to report";
            return NAMES.into_iter().for_each(|name| self.untested(name, Need::Optional, EvidenceSource::Report, why));
        }
        self.tokens();
        self.sessions();
        let mut odd = Vec::new();
        let mut astray = Vec::new();
        let mut delayed = Vec::new();
        for guest in 0..self.guests.len() {
            let said = self.said_by(guest);
            // Its first line is its hello.
            let since = said.first().map_or(0, |(heard, _)| *heard);
            let (by, uncertain) = (EvidenceSource::Report, clock::uncertainty());
            let mut beliefs = ProgramBeliefs::new(by, guest_slots(guest), WRITE_EVERY_MS, uncertain, since);
            for (heard, said) in said {
                odd.extend(beliefs.reported(heard, &said, &HeldZnodes::default()).err().map(|(_, why)| why));
            }
            astray.extend(guest_slots(guest).filter_map(|slot| self.astray(slot)));
            delayed.extend(self.delayed(guest));
        }
        for (name, wrong, fine) in [
            (NAMES[0], odd, "every grant has its revoke, in their order and in time"),
            (NAMES[1], astray, "no write came but between a grant and its revoke"),
            (NAMES[2], delayed, "every line came when its stamps say"),
        ] {
            let text = wrong.first().cloned().unwrap_or_else(|| fine.to_owned());
            self.found(name, Need::Optional, EvidenceSource::Report, wrong.is_empty(), text);
        }
    }

    /// Lines that arrived long after their timestamps. Even with correct timestamps, a late reader learns of a term too
    /// late.
    fn delayed(&self, guest: usize) -> Vec<String> {
        let most = nanos(LINES_WITHIN);
        let stopped = |span: (Nanos, Nanos)| {
            self.stopped.iter().any(|(of, stop)| *of == guest && stop.0 <= span.1 && span.0 <= stop.1 + most)
        };
        let told = self.said_by(guest).into_iter().filter_map(|(heard, said)| match said {
            FromProgram::Grant { slot, t1, .. } => Some(("grant", slot, t1, heard)),
            FromProgram::Revoke { slot, t1, .. } => Some(("revoke", slot, t1, heard)),
            FromProgram::Resigned { slot, t1, .. } => Some(("resigned", slot, t1, heard)),
            _ => None,
        });
        let late = told.filter(|&(_, _, t1, heard)| heard > t1.saturating_add(most) && !stopped((t1, heard)));
        late.map(|(what, slot, t1, heard)| {
            format!("slot {slot}'s {what} came {} ms after it was stamped", (heard - t1) / 1_000_000)
        })
        .collect()
    }

    pub(super) fn said_by(&self, guest: usize) -> Vec<(Nanos, FromProgram)> {
        self.stage.facts(|fact| match &fact.what {
            StageEventKind::Said(said) if fact.guest == guest => Some((fact.t, said.clone())),
            _ => None,
        })
    }

    /// Writes of a slot that arrived after it reported the term's end, or before it reported a grant. Exempt are writes
    /// whose timestamps lie within a term and that were not in transit for long.
    fn astray(&self, slot: u32) -> Option<String> {
        // When each report was received, its timestamp, and whether it is a grant.
        let said = self.stage.facts(|fact| match fact.what {
            StageEventKind::Said(FromProgram::Grant { slot: of, t1, .. }) if of == slot => Some((fact.t, t1, true)),
            StageEventKind::Said(FromProgram::Revoke { slot: of, t1, .. }) if of == slot => Some((fact.t, t1, false)),
            _ => None,
        });
        let led = |sent: Nanos| said.iter().rev().find(|report| report.1 <= sent).is_some_and(|report| report.2);
        let on_its_way = nanos(LINES_WITHIN);
        let sent_in_time = |sent: Nanos, t: Nanos| sent <= t && t <= sent + on_its_way && led(sent);
        let slack = nanos(WAYS_DIFFER);
        let leads = |t: Nanos| {
            let before = said.iter().rev().find(|(heard, ..)| *heard <= t);
            before.is_some_and(|(heard, _, leads)| *leads || t <= heard + slack)
                || said.iter().any(|(heard, _, leads)| *leads && t < *heard && *heard <= t + slack)
        };
        let wrote = self.stage.facts(|fact| match fact.what {
            StageEventKind::Wrote { slot: of, sent, .. } if of == slot && !leads(fact.t) => {
                sent.is_none_or(|sent| !sent_in_time(sent, fact.t)).then_some(fact.t)
            }
            _ => None,
        });
        (!wrote.is_empty())
            .then(|| format!("slot {slot} wrote {} times while it did not lead by its own word", wrote.len()))
    }
}
