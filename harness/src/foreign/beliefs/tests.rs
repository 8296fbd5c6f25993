use super::*;

const SLOT: u32 = 7;

fn beliefs(by: EvidenceSource) -> ProgramBeliefs {
    since_hello(by, 0)
}

/// The beliefs of a program that said hello at `since`.
fn since_hello(by: EvidenceSource, since: Nanos) -> ProgramBeliefs {
    ProgramBeliefs::new(by, std::iter::once(SLOT), 20, 10, since)
}

fn held() -> HeldZnodes {
    HeldZnodes { token: PartialToken { czxid: Some(100), session: Some(70) }, node: Some("n-1".into()) }
}

fn grant(slot: u32, term: u32, t0: Nanos, t1: Nanos) -> FromProgram {
    FromProgram::Grant { slot, term, t0, t1, node: None, token: None, session: None }
}

fn revoke(term: u32, t0: Nanos, t1: Nanos, reason: &str) -> FromProgram {
    FromProgram::Revoke { slot: SLOT, term, t0, t1, reason: Some(reason.into()) }
}

#[test]
fn a_term_is_as_it_is_reported_with_what_the_wire_knows_of_it() {
    let mut beliefs = beliefs(EvidenceSource::Report);
    let told = beliefs.reported(2_000, &grant(SLOT, 1, 1_000, 1_500), &held()).unwrap();
    let token = Token { czxid: 100, session: 70 };
    assert_eq!(told.belief, Some((SLOT, Some(token))));
    assert!(matches!(&told.events[0], Event::Grant { t: 1_000, czxid: 100, node, .. } if node == "n-1"));
    assert!(matches!(told.events[1], Event::Granted { t: 1_500, term: 1, .. }));
    let told = beliefs.reported(4_000, &revoke(1, 3_000, 3_100, "resigned"), &HeldZnodes::default()).unwrap();
    assert_eq!(told.belief, Some((SLOT, None)));
    assert!(matches!(
        told.events[0],
        Event::Revoke { from: 3_000, to: 3_100, session: 70, reason: RevokeReason::Resigned, .. }
    ));
    // A late write belongs to the term that it names, regardless of the current znode.
    let said = WriteStatement { term: Some(1), ..WriteStatement::default() };
    let now = HeldZnodes { token: PartialToken { czxid: Some(200), session: Some(71) }, node: Some("n-2".into()) };
    assert_eq!(beliefs.written_by(SLOT, &said, now, |_| None).token, token);
}

#[test]
fn a_write_bears_the_token_that_it_was_sent_with() {
    let mut beliefs = beliefs(EvidenceSource::Report);
    beliefs.reported(2_000, &grant(SLOT, 1, 1_000, 1_500), &held()).unwrap();
    for (by, own) in [(Some(1), 100), (None, 100)] {
        let sent = |token| WriteStatement { term: by, token, t: None };
        let token = |token| beliefs.written_by(SLOT, &sent(token), HeldZnodes::default(), |_| None).token;
        assert_eq!(token(None), Token { czxid: own, session: 70 });
        assert_eq!(token(Some(7)), Token { czxid: 7, session: 70 });
    }
}

#[test]
fn a_token_that_nobody_knew_when_the_lead_was_granted_is_known_once_it_is_told() {
    let mut beliefs = beliefs(EvidenceSource::Report);
    let unknown = HeldZnodes { token: PartialToken { czxid: None, session: Some(70) }, node: Some("n-1".into()) };
    let told = beliefs.reported(2_000, &grant(SLOT, 1, 1_000, 1_500), &unknown).unwrap();
    assert!(matches!(told.events[0], Event::Grant { czxid: Token::UNKNOWN_CZXID, session: 70, .. }));
    let written_by = |told: Option<i64>| {
        let told = |node: &str| told.filter(|_| node == "n-1");
        beliefs.written_by(
            SLOT,
            &WriteStatement { term: Some(1), ..WriteStatement::default() },
            HeldZnodes::default(),
            told,
        )
    };
    assert_eq!(written_by(None), TermBasis { token: Token { czxid: -1, session: 70 }, node: Some("n-1".into()) });
    assert_eq!(written_by(Some(100)).token.czxid, 100);
}

#[test]
fn a_token_of_minus_one_is_no_token() {
    let mut beliefs = beliefs(EvidenceSource::Report);
    let said = FromProgram::Grant {
        slot: SLOT,
        term: 1,
        t0: 1_000,
        t1: 1_500,
        node: Some("n-1".into()),
        token: Some(-1),
        session: None,
    };
    let granted = beliefs.reported(2_000, &said, &held()).unwrap();
    let own = Token { czxid: 100, session: 70 };
    assert_eq!(granted.belief, Some((SLOT, Some(own))), "by the connections, as without a token");
    let sent = |term| WriteStatement { term, token: Some(-1), t: None };
    let written = |term, held| beliefs.written_by(SLOT, &sent(term), held, |_| None).token;
    assert_eq!([Some(1), None].map(|term| written(term, HeldZnodes::default())), [own; 2]);
    // Without reports, a write counts for what the slot holds.
    let by_effect = since_hello(EvidenceSource::Effect, 0);
    assert_eq!(by_effect.written_by(SLOT, &sent(None), held(), |_| None).token, own);
}

#[test]
fn what_cannot_be_is_no_report() {
    let odd = |beliefs: &mut ProgramBeliefs, said: FromProgram| beliefs.reported(10_000, &said, &held()).unwrap_err().0;
    let mut fresh = beliefs(EvidenceSource::Report);
    assert_eq!(odd(&mut fresh, grant(8, 1, 1, 2)), Misbehaviour::UnknownSlot);
    assert_eq!(odd(&mut fresh, grant(SLOT, 3, 1, 2)), Misbehaviour::UnknownTerm);
    assert_eq!(odd(&mut fresh, grant(SLOT, 1, 2, 1)), Misbehaviour::OutOfTime);
    assert_eq!(odd(&mut fresh, grant(SLOT, 1, 2, 20_000)), Misbehaviour::OutOfTime);
    assert_eq!(odd(&mut fresh, revoke(1, 1, 2, "x")), Misbehaviour::UnknownTerm);
    fresh.reported(10_000, &grant(SLOT, 1, 1_000, 1_000), &held()).unwrap();
    assert_eq!(odd(&mut fresh, grant(SLOT, 2, 2_000, 2_000)), Misbehaviour::UnknownTerm);
    fresh.reported(10_000, &revoke(1, 5_000, 6_000, "x"), &held()).unwrap();
    assert_eq!(odd(&mut fresh, grant(SLOT, 2, 5_500, 7_000)), Misbehaviour::OutOfTime);
}

#[test]
fn times_before_the_program_said_hello_are_out_of_time() {
    let mut beliefs = since_hello(EvidenceSource::Report, 5_000);
    for (t0, t1) in [(1, 1), (1, 6_000), (4_989, 6_000)] {
        let (what, text) = beliefs.reported(10_000, &grant(SLOT, 1, t0, t1), &held()).unwrap_err();
        assert_eq!(what, Misbehaviour::OutOfTime);
        assert!(text.contains("before the program had said hello"), "{text}");
    }
    // Clocks are read with an uncertainty.
    assert_eq!(beliefs.reported(10_000, &grant(SLOT, 1, 4_990, 6_000), &held()).unwrap().events.len(), 2);
    let early = beliefs.reported(10_000, &revoke(1, 1, 7_000, "x"), &held()).unwrap_err();
    assert_eq!(early.0, Misbehaviour::OutOfTime);
}

#[test]
fn without_reports_a_term_is_from_the_first_write_of_a_token_to_the_last() {
    let mut beliefs = beliefs(EvidenceSource::Effect);
    assert!(beliefs.reported(9, &grant(SLOT, 1, 1, 2), &held()).unwrap().events.is_empty());
    let lead = |czxid, session| TermBasis { token: Token { czxid, session }, node: None };
    let [one, other] = [lead(100, 70), lead(200, 71)];
    let told = beliefs.wrote(1_000, SLOT, &one);
    assert!(matches!(told.events[..], [Event::Grant { t: 1_000, term: 1, .. }, Event::Granted { .. }]));
    assert!(beliefs.wrote(2_000, SLOT, &one).events.is_empty());
    let told = beliefs.wrote(5_000, SLOT, &other);
    assert!(matches!(told.events[0], Event::Revoke { from: 2_000, to: 5_000, term: 1, .. }), "{told:?}");
    assert!(matches!(told.events[1], Event::Grant { t: 5_000, term: 2, .. }));
    assert!(beliefs.fall_silent(5_000 + SILENT_NS).is_empty());
    let silent = beliefs.fall_silent(6_000 + SILENT_NS + SILENT_INTERVALS * 20_000_000);
    assert!(matches!(silent[..], [BeliefOutcome { belief: Some((SLOT, None)), .. }]), "{silent:?}");
    assert!(beliefs.fall_silent(u64::MAX / 2).is_empty());
}
