//! What a program says of its leads, held against what it does, and against what passed on its connections.

use std::time::Duration;

use hustings_record::{Grade, Nanos};

use super::super::beliefs::{Beliefs, Held};
use super::super::message::{Ability, FromProgram};
use super::examination::{Examination, Write, guest_seats};
use super::outcome::Need;
use super::stage::{WRITE_EVERY_MS, What};
use crate::clock;

/// A report and a write come on two ways: so much later one of them may be there.
const WAYS_DIFFER: Duration = Duration::from_millis(250);

impl Examination<'_> {
    /// Those of the first leaders.
    pub(super) fn reports(&mut self) {
        if !self.has(Ability::Report) {
            self.untested("reports_before_it_acts", Need::Optional, Grade::Report, "it does not claim to report");
            return;
        }
        let mut late = Vec::new();
        let mut wrong = Vec::new();
        for election in self.elections().collect::<Vec<_>>() {
            let Some(Write { seat: leader, .. }) = self.last_write(election) else { continue };
            let first = self.writes_since(election, 0).iter().find(|write| write.seat == leader).map(|write| write.t);
            let grant = self.grants(leader).into_iter().next_back();
            let Some((heard, FromProgram::Grant { t0, t1, token, node, .. })) = grant else {
                late.push(format!("seat {leader} wrote, and had reported no grant"));
                continue;
            };
            let uncertain = clock::uncertainty();
            if t0 > t1 || t1 > heard + uncertain || first.is_some_and(|first| t1 > first + uncertain) {
                late.push(format!("seat {leader}'s grant is of {t0} to {t1}, was heard at {heard}, and its first write came at {first:?}"));
            }
            let seats = self.guest_of(leader).seats.borrow();
            let by_wire = seats.seat(leader).and_then(|seen| seen.nodes.last().cloned());
            let (czxid, name) = (by_wire.as_ref().map(|node| node.czxid), by_wire.map(|node| node.name));
            if token.is_some() && token != czxid || node.is_some() && node != name {
                wrong.push(format!("seat {leader} says {node:?}, {token:?}; by the wire it is {name:?}, {czxid:?}"));
            }
        }
        let said = |texts: &[String], fine: &str| texts.first().cloned().unwrap_or_else(|| fine.to_owned());
        let text = said(&late, "every grant was there before the first write");
        self.found("reports_before_it_acts", Need::Optional, Grade::Report, late.is_empty(), text);
        if self.has(Ability::Token) {
            let text = said(&wrong, "its znodes and tokens are those on the wire");
            self.found("token_is_the_wire_s", Need::Optional, Grade::Wire, wrong.is_empty(), text);
        } else {
            self.untested("token_is_the_wire_s", Need::Optional, Grade::Wire, "it does not claim to know its token");
        }
    }

    /// Those of the whole examination, once it is over.
    pub(super) fn all_reports(&mut self) {
        const NAMES: [&str; 2] = ["reports_in_order", "acts_only_while_it_leads"];
        if !self.has(Ability::Report) {
            let why = "it does not claim to report";
            return NAMES.into_iter().for_each(|name| self.untested(name, Need::Optional, Grade::Report, why));
        }
        let mut odd = Vec::new();
        let mut astray = Vec::new();
        for guest in 0..self.guests.len() {
            let mut beliefs = Beliefs::new(Grade::Report, guest_seats(guest), WRITE_EVERY_MS, clock::uncertainty());
            for (heard, said) in self.said_by(guest) {
                odd.extend(beliefs.reported(heard, &said, &Held::default()).err().map(|(_, why)| why));
            }
            astray.extend(guest_seats(guest).filter_map(|seat| self.astray(seat)));
        }
        for (name, wrong, fine) in [
            (NAMES[0], odd, "every grant has its revoke, in their order and in time"),
            (NAMES[1], astray, "no write came but between a grant and its revoke"),
        ] {
            let text = wrong.first().cloned().unwrap_or_else(|| fine.to_owned());
            self.found(name, Need::Optional, Grade::Report, wrong.is_empty(), text);
        }
    }

    fn said_by(&self, guest: usize) -> Vec<(Nanos, FromProgram)> {
        self.stage.facts(|fact| match &fact.what {
            What::Said(said) if fact.guest == guest => Some((fact.t, said.clone())),
            _ => None,
        })
    }

    /// Writes of a seat that came when it had said that it leads no more, or had not said that it does.
    fn astray(&self, seat: u32) -> Option<String> {
        let reports = self.stage.facts(|fact| match fact.what {
            What::Said(FromProgram::Grant { seat: of, .. }) if of == seat => Some((fact.t, true)),
            What::Said(FromProgram::Revoke { seat: of, .. }) if of == seat => Some((fact.t, false)),
            _ => None,
        });
        let slack = WAYS_DIFFER.as_nanos() as Nanos;
        let leads = |t: Nanos| {
            let before = reports.iter().rev().find(|(heard, _)| *heard <= t);
            before.is_some_and(|(heard, leads)| *leads || t <= heard + slack)
                || reports.iter().any(|(heard, leads)| *leads && t < *heard && *heard <= t + slack)
        };
        let wrote = self.stage.facts(|fact| match fact.what {
            What::Wrote { seat: of, .. } if of == seat && !leads(fact.t) => Some(fact.t),
            _ => None,
        });
        (!wrote.is_empty())
            .then(|| format!("seat {seat} wrote {} times while it did not lead by its own word", wrote.len()))
    }
}
