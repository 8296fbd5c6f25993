//! An examination under way: the examined programs, and the observations about them.

use std::collections::BTreeSet;
use std::time::Duration;

use hustings_record::numbers::to_u32;
use hustings_record::words::plural;
use hustings_record::{EvidenceSource, Nanos};

use super::super::message::{Ability, FromProgram};
use super::outcome::{CheckOutcome, ExaminationReport, KitFinding, NOT_TESTED, Need, REQUIRED, has_passed, run_of};
use super::stage::{ELECTIONS, ExaminedProgram, Stage, StageEvent, StageEventKind, election_of};

/// The check that fails if a program ends by itself.
pub(super) const RUNS_ON: &str = "runs_until_it_is_told_to_end";
/// For what is still in the pipe of a program that has ended.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(500);
/// Whoever has closed its output has mostly ended by then.
const ENDED_WITHIN: Duration = Duration::from_millis(500);

/// One examination under way.
pub(super) struct Examination<'a> {
    pub(super) stage: &'a Stage,
    pub(super) progress: &'a dyn Fn(&str),
    pub(super) guests: Vec<ExaminedProgram>,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) can: Vec<Ability>,
    pub(super) outcomes: Vec<CheckOutcome>,
    /// Intervals in which programs were stopped, by program number.
    pub(super) stopped: Vec<(usize, (Nanos, Nanos))>,
    /// When slots were ordered to resign.
    pub(super) resign_orders: Vec<(Nanos, u32)>,
    /// The program that has ended by the order to stop, if any.
    pub(super) stopped_by_order: Option<usize>,
}

/// One received write.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedWrite {
    pub(super) t: Nanos,
    pub(super) slot: u32,
    /// The czxid of its token; 0 if unknown.
    pub(super) czxid: i64,
    pub(super) stale: bool,
    /// The fence refused it.
    pub(super) refused: bool,
}

impl<'a> Examination<'a> {
    pub(super) fn new(stage: &'a Stage, progress: &'a dyn Fn(&str)) -> Self {
        let (name, version) = (String::new(), String::new());
        Self {
            stage,
            progress,
            guests: Vec::new(),
            name,
            version,
            can: Vec::new(),
            outcomes: Vec::new(),
            stopped: Vec::new(),
            resign_orders: Vec::new(),
            stopped_by_order: None,
        }
    }

    pub(super) async fn start(&mut self, number: usize) -> anyhow::Result<()> {
        let slots: Vec<u32> = guest_slots(number).collect();
        self.guests.push(self.stage.start(number, &slots).await?);
        Ok(())
    }

    pub(super) fn has(&self, ability: Ability) -> bool {
        self.can.contains(&ability)
    }

    pub(super) fn elections(&self) -> impl Iterator<Item = u32> + use<> {
        0..if self.has(Ability::Many) { ELECTIONS } else { 1 }
    }

    /// The slots that a program is ordered to take.
    pub(super) fn slots_of(&self, number: usize) -> Vec<u32> {
        let elections: Vec<u32> = self.elections().collect();
        guest_slots(number).filter(|&slot| elections.contains(&election_of(slot))).collect()
    }

    pub(super) fn guest_of(&self, slot: u32) -> &ExaminedProgram {
        &self.guests[(slot / ELECTIONS) as usize]
    }

    pub(super) fn hello_of(&self, number: usize) -> Option<FromProgram> {
        let hello = |fact: &StageEvent| match &fact.what {
            StageEventKind::Said(hello @ FromProgram::Hello { .. }) if fact.guest == number => Some(hello.clone()),
            _ => None,
        };
        self.stage.facts(hello).into_iter().next()
    }

    pub(super) fn is_over(&self, number: usize) -> bool {
        !self
            .stage
            .facts(|fact| (fact.guest == number && matches!(fact.what, StageEventKind::Over)).then_some(()))
            .is_empty()
    }

    pub(super) fn grants(&self, slot: u32) -> Vec<(Nanos, FromProgram)> {
        self.stage.facts(|fact| match &fact.what {
            StageEventKind::Said(grant @ FromProgram::Grant { slot: of, .. }) if *of == slot => {
                Some((fact.t, grant.clone()))
            }
            _ => None,
        })
    }

    /// The writes to an election since `from`.
    pub(super) fn writes_since(&self, election: u32, from: Nanos) -> Vec<ReceivedWrite> {
        self.stage.facts(|fact| match fact.what {
            StageEventKind::Wrote { slot, czxid, taken, .. } if election_of(slot) == election && fact.t >= from => {
                let (stale, refused) = (taken.unfenced_stale, taken.fenced_rejected);
                Some(ReceivedWrite { t: fact.t, slot, czxid, stale, refused })
            }
            _ => None,
        })
    }

    /// Slots that wrote to an election since `from`.
    pub(super) fn writers(&self, election: u32, from: Nanos) -> BTreeSet<u32> {
        self.writes_since(election, from).iter().map(|write| write.slot).collect()
    }

    pub(super) fn last_write(&self, election: u32) -> Option<ReceivedWrite> {
        self.writes_since(election, 0).pop()
    }

    /// Time from `from` until another slot wrote, or the same slot with a newer token. None: none did in time.
    pub(super) async fn succeeded(&self, leader: ReceivedWrite, from: Nanos, at_most: Duration) -> Option<Nanos> {
        let is_next = |write: &ReceivedWrite| write.slot != leader.slot || write.czxid > leader.czxid;
        let next = || self.writes_since(election_of(leader.slot), from).into_iter().find(is_next);
        self.stage.until(at_most, || next().is_some()).await;
        next().map(|write| write.t - from)
    }

    /// Stale writes of a slot since `from`.
    pub(super) fn stale_since(&self, slot: u32, from: Nanos) -> usize {
        self.stale_writes(slot, from).len()
    }

    fn stale_writes(&self, slot: u32, from: Nanos) -> Vec<ReceivedWrite> {
        let writes = self.writes_since(election_of(slot), from);
        writes.into_iter().filter(|write| write.slot == slot && write.stale).collect()
    }

    /// What followed the loss of a leader at `from`: the time until another one wrote, and the old one's stale writes.
    pub(super) fn of_successor(&self, leader: u32, from: Nanos, next: Option<Nanos>) -> String {
        let Some(after) = next else { return "nobody else wrote".to_owned() };
        let stale = self.stale_writes(leader, from);
        let refused = stale.iter().filter(|write| write.refused).count();
        format!("another one wrote after {} ms; {}", after / 1_000_000, of_stale(stale.len(), refused))
    }

    pub(super) fn found(&mut self, name: &'static str, need: Need, grade: EvidenceSource, fits: bool, text: String) {
        let result = if fits { KitFinding::Passed } else { KitFinding::Failed };
        self.outcomes.push(CheckOutcome { name, need, grade, result, text });
    }

    pub(super) fn untested(&mut self, name: &'static str, need: Need, grade: EvidenceSource, why: &str) {
        self.outcomes.push(CheckOutcome { name, need, grade, result: KitFinding::Untested, text: why.to_owned() });
    }

    pub(super) fn passed(&self, name: &str) -> bool {
        has_passed(&self.outcomes, name)
    }

    /// Names the program that has ended by itself: what was still to be looked at needs it, and is missing.
    pub(super) async fn note_lost(&mut self, number: usize) -> anyhow::Result<()> {
        let (status, killed) = self.guests[number].ends(ENDED_WITHIN).await?;
        let which = if number == 0 { "it" } else { "another one of it" };
        let text = if killed {
            format!("{which} closed its output, or cannot be listened to any more, and ran on")
        } else {
            format!("{which} ended after its hello ({status}), before it was told to")
        };
        self.found(RUNS_ON, Need::Required, EvidenceSource::Process, false, text);
        Ok(())
    }

    /// Names the required checks that did not come about, where no failed one says why.
    fn note_missing(&mut self) {
        let is_required = |outcome: &&CheckOutcome| outcome.need == Need::Required;
        if self.outcomes.iter().filter(is_required).any(|outcome| outcome.result != KitFinding::Passed) {
            return;
        }
        let missing = |name: &&str| !self.outcomes.iter().any(|outcome| outcome.name == *name);
        for name in REQUIRED.into_iter().filter(missing).collect::<Vec<_>>() {
            self.untested(name, Need::Required, EvidenceSource::Report, "what it needs was not seen");
        }
    }

    fn note_garbage(&mut self) {
        let garbage = self.stage.facts(|fact| match &fact.what {
            StageEventKind::Garbage(text) => Some(text.clone()),
            _ => None,
        });
        let said = !self.stage.facts(|fact| matches!(fact.what, StageEventKind::Said(_)).then_some(())).is_empty();
        if garbage.is_empty() && !said {
            return self.untested(
                "speaks_the_protocol_alone",
                Need::Required,
                EvidenceSource::Report,
                "it said nothing",
            );
        }
        let text = match garbage.first() {
            None => "every line of its output is a message".to_owned(),
            Some(first) => format!("{} lines of its output are none, the first is {first}", garbage.len()),
        };
        self.found("speaks_the_protocol_alone", Need::Required, EvidenceSource::Report, garbage.is_empty(), text);
    }

    /// All findings. `trouble`: why the examination itself failed.
    pub(super) fn report(mut self, trouble: Option<String>) -> ExaminationReport {
        self.note_garbage();
        self.note_missing();
        let failed = self.outcomes.iter().any(|outcome| outcome.result == KitFinding::Failed);
        let last_words = self.guests.iter().filter(|_| failed).flat_map(|guest| guest.program.last_words()).collect();
        let evidence = self.evidence();
        let next = run_of(self.stage.command());
        let Self { name, version, outcomes, .. } = self;
        ExaminationReport { name, version, outcomes, evidence, last_words, trouble, not_tested: NOT_TESTED, next }
    }

    /// The evidence grades that verdicts can have.
    fn evidence(&self) -> Vec<EvidenceSource> {
        let spoke = self.guests.iter().any(|guest| guest.slots.borrow().sessions().next().is_some());
        let wrote = self.passed("leads_and_writes");
        let reported = self.passed("reports_before_it_acts") && self.passed("clock_is_ours");
        [(EvidenceSource::Effect, wrote), (EvidenceSource::Wire, spoke), (EvidenceSource::Report, reported)]
            .into_iter()
            .filter_map(|(grade, has)| has.then_some(grade))
            .collect()
    }
}

/// What became of a former leader's stale writes: the fence has to refuse them.
fn of_stale(stale: usize, refused: usize) -> String {
    let writes = plural(stale as u64, "stale write", "stale writes");
    let them = if stale == 1 { "it" } else { "them" };
    match (stale, refused) {
        (0, _) => "no stale write followed".to_owned(),
        (all, refused) if all == refused => format!("{writes} followed, and the fence refused {them}, as it should"),
        (_, refused) => format!("{writes} followed, and the fence refused only {refused}"),
    }
}

/// All slots that a program with this number may take.
pub(super) fn guest_slots(number: usize) -> impl Iterator<Item = u32> {
    let first = to_u32(number) * ELECTIONS;
    first..first + ELECTIONS
}

#[cfg(test)]
mod tests {
    use super::of_stale;

    #[test]
    fn stale_writes_that_the_fence_refused_read_as_no_accusation() {
        assert_eq!(of_stale(0, 0), "no stale write followed");
        assert_eq!(of_stale(1, 1), "1 stale write followed, and the fence refused it, as it should");
        assert_eq!(of_stale(12, 12), "12 stale writes followed, and the fence refused them, as it should");
        assert_eq!(of_stale(3, 2), "3 stale writes followed, and the fence refused only 2");
    }
}
