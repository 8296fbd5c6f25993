//! Checks the messages that may come only once, or only after an order: hello, resigned and bye.

use hustings_record::{EvidenceSource, Nanos};

use super::super::message::{Ability, FromProgram, ToProgram};
use super::examination::{Examination, LAST_WORDS, guest_slots};
use super::outcome::Need;
use super::stage::RESIGNATION;
use crate::process::clock;

/// The messages of a program, and when each was received.
type ReceivedMessages = [(Nanos, FromProgram)];

/// A slot, and when it was ordered to resign.
type ResignOrder = (Nanos, u32);

impl Examination<'_> {
    pub(super) fn order_to_resign(&mut self, slot: u32) {
        self.resign_orders.push((clock::now(), slot));
        let guest = self.guest_of(slot);
        guest.slots.borrow_mut().resigns(slot);
        guest.program.tell(ToProgram::Resign { slot, fault: RESIGNATION });
    }

    /// Checks the messages of the whole examination after its end.
    pub(super) async fn messages(&mut self) {
        if let Some(number) = self.stopped_by_order {
            // Its last message may still be in the pipe.
            self.stage.until(LAST_WORDS, || self.is_over(number)).await;
        }
        self.hellos();
        self.resignations();
        self.byes();
    }

    fn hellos(&mut self) {
        let all: Vec<_> = (0..self.guests.len()).map(|guest| self.said_by(guest)).collect();
        if !all.iter().flatten().any(|(_, said)| is_hello(said)) {
            // `says_hello` has failed.
            return;
        }
        let wrong = all.iter().find_map(|said| wrong_hello(said));
        let fits = wrong.is_none();
        let text = wrong.unwrap_or_else(|| "it is the first message, and comes once".to_owned());
        self.found("says_hello_once", Need::Required, EvidenceSource::Report, fits, text);
    }

    fn resignations(&mut self) {
        const NAME: &str = "says_resigned_once_for_each_order";
        let unordered = (0..self.guests.len()).find_map(|guest| {
            let is_own = |order: &&ResignOrder| guest_slots(guest).any(|slot| slot == order.1);
            let orders = self.resign_orders.iter().filter(is_own).copied().collect();
            unordered_resignation(&self.said_by(guest), orders)
        });
        if unordered.is_none() && self.resign_orders.is_empty() {
            let claims = self.has(Ability::Resign);
            let why = if claims { "it was not ordered to resign" } else { "it does not claim to resign" };
            return self.untested(NAME, Need::Optional, EvidenceSource::Report, why);
        }
        let fits = unordered.is_none();
        let text = unordered.unwrap_or_else(|| "none came without an order, or a second time".to_owned());
        self.found(NAME, Need::Optional, EvidenceSource::Report, fits, text);
    }

    fn byes(&mut self) {
        const NAME: &str = "says_bye_after_stop";
        let early = (0..self.guests.len()).any(|guest| {
            let ordered = self.stage.ordered_to_end(guest);
            self.said_by(guest).iter().any(|&(t, ref said)| is_bye(said) && ordered.is_none_or(|at| t < at))
        });
        let missing = self.stopped_by_order.map(|guest| !self.said_by(guest).iter().any(|(_, said)| is_bye(said)));
        let (fits, text) = match (early, missing) {
            (true, _) => (false, "it said bye before the order to stop"),
            (false, Some(true)) => (false, "it was ordered to stop, and ended without bye"),
            (false, Some(false)) => (true, "bye came after the order to stop"),
            (false, None) => {
                let why = "it did not end by an order to stop";
                return self.untested(NAME, Need::Advised, EvidenceSource::Report, why);
            }
        };
        self.found(NAME, Need::Advised, EvidenceSource::Report, fits, text.to_owned());
    }
}

fn is_hello(said: &FromProgram) -> bool {
    matches!(said, FromProgram::Hello { .. })
}

fn is_bye(said: &FromProgram) -> bool {
    matches!(said, FromProgram::Bye)
}

/// Why a program's hello breaks the protocol. A program without one has failed another check.
fn wrong_hello(said: &ReceivedMessages) -> Option<String> {
    let count = said.iter().filter(|(_, said)| is_hello(said)).count();
    if count > 1 {
        return Some(format!("it said hello {count} times"));
    }
    let first = said.iter().position(|(_, said)| is_hello(said))?;
    (first > 0).then(|| "another message came before its hello".to_owned())
}

/// The first resigned that no order of these explains. An order explains one.
fn unordered_resignation(said: &ReceivedMessages, mut orders: Vec<ResignOrder>) -> Option<String> {
    let ordered: Vec<u32> = orders.iter().map(|&(_, slot)| slot).collect();
    said.iter().find_map(|&(t, ref said)| {
        let &FromProgram::Resigned { slot, fault, .. } = said else { return None };
        let is_its = |&(at, of): &ResignOrder| of == slot && fault == RESIGNATION && at <= t;
        if let Some(place) = orders.iter().position(is_its) {
            orders.remove(place);
            return None;
        }
        let is_again = ordered.contains(&slot) && fault == RESIGNATION && !orders.iter().any(|order| order.1 == slot);
        let how = if is_again { "a second time" } else { "without such an order" };
        Some(format!("slot {slot} said resigned for fault {fault} {how}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> FromProgram {
        FromProgram::Hello { protocol: 1, name: "one".to_owned(), version: String::new(), can: Vec::new() }
    }

    fn resigned(slot: u32, fault: u32) -> FromProgram {
        FromProgram::Resigned { slot, fault, t0: 1, t1: 2 }
    }

    /// One message a nanosecond, from the tenth on.
    fn received<const N: usize>(messages: [FromProgram; N]) -> Vec<(Nanos, FromProgram)> {
        (10..).zip(messages).collect()
    }

    #[test]
    fn a_hello_is_the_first_message_and_comes_once() {
        let sync = || FromProgram::Sync { n: 1, t: 1, wall: None };
        assert_eq!(wrong_hello(&received([hello(), sync(), FromProgram::Bye])), None);
        assert_eq!(wrong_hello(&received([])), None);
        let twice = wrong_hello(&received([hello(), sync(), hello()]));
        assert_eq!(twice.as_deref(), Some("it said hello 2 times"));
        let late = wrong_hello(&received([sync(), hello()]));
        assert_eq!(late.as_deref(), Some("another message came before its hello"));
    }

    #[test]
    fn an_order_to_resign_explains_one_answer_that_comes_after_it() {
        let unordered = |said: &ReceivedMessages| unordered_resignation(said, vec![(11, 3)]);
        assert_eq!(unordered(&received([hello(), resigned(3, RESIGNATION)])), None);
        assert_eq!(unordered(&received([hello()])), None);
        let twice = unordered(&received([hello(), resigned(3, RESIGNATION), resigned(3, RESIGNATION)]));
        assert_eq!(twice.as_deref(), Some("slot 3 said resigned for fault 1 a second time"));
        for (said, what) in [
            (received([hello(), resigned(4, RESIGNATION)]), "slot 4 said resigned for fault 1 without such an order"),
            (received([hello(), resigned(3, 0)]), "slot 3 said resigned for fault 0 without such an order"),
            (received([resigned(3, RESIGNATION)]), "slot 3 said resigned for fault 1 without such an order"),
        ] {
            assert_eq!(unordered(&said).as_deref(), Some(what));
        }
    }
}
