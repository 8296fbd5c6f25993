//! Judges verifications again: the evidence must show the effect, on all targets that the fault claims, at matching times.
//! Beside evidence, the verification's own claim counts for nothing.

use std::collections::BTreeMap;

use super::candidates::Candidates;
use super::control_plane::PlacedEvent;
use super::fault::Fault;
use super::verification::VerificationResult;
use super::znodes::Znodes;
use hustings_record::{
    CellInfo, CellRecord, Event, Evidence, FaultKind, Nanos, PartitionedLink, TargetClass, Token, VerificationEvent,
    VerificationStage,
};

/// The znode of a lead that was given up, and when its deletion was answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReleasedZnode<'a> {
    pub(super) cand: u32,
    pub(super) session: i64,
    pub(super) node: &'a str,
    /// [`Token::UNKNOWN_CZXID`] where it is not recorded.
    pub(super) czxid: i64,
    pub(super) answered: Nanos,
}

/// What shows that a znode stood long after its deletion was answered, in words; None: nothing does.
pub(super) type StandingZnodes<'i> = dyn Fn(&ReleasedZnode<'_>) -> Option<String> + 'i;

/// Proofs as their verifications claim them, by fault and whether they are of its injection.
pub(super) fn collect<'a>(few: &[PlacedEvent<'a>]) -> BTreeMap<(u32, bool), Box<VerificationResult<'a>>> {
    let mut proofs: BTreeMap<(u32, bool), Box<VerificationResult<'a>>> = BTreeMap::new();
    for &(_, event) in few {
        let Event::Verification(verification) = event else { continue };
        let VerificationEvent { id, stage, from, to, verified, evidence, touches, seen } = &**verification;
        let proof = proofs.entry((*id, *stage == VerificationStage::Injected)).or_insert_with(|| {
            Box::new(VerificationResult {
                from: *from,
                to: *to,
                verified: true,
                evidence: Vec::with_capacity(1),
                touches: Vec::new(),
                seen: Vec::new(),
                claimed: true,
                unfounded: None,
                is_denied: false,
            })
        });
        proof.from = proof.from.min(*from);
        proof.to = proof.to.max(*to);
        proof.claimed &= *verified;
        proof.verified = proof.claimed;
        proof.evidence.push(evidence);
        proof.touches.extend_from_slice(touches);
        proof.seen.extend(seen.as_deref());
    }
    proofs
}

/// A candidate believed that it leads, by this znode of its session.
#[derive(Clone, Copy)]
struct Belief<'a> {
    session: i64,
    czxid: i64,
    node: &'a str,
    from: Nanos,
    until: Nanos,
}

/// The beliefs of each candidate.
#[derive(Default)]
pub(super) struct BeliefIndex<'a>(BTreeMap<u32, Vec<Belief<'a>>>);

impl<'a> BeliefIndex<'a> {
    pub(super) fn new(cell: &'a CellRecord, znodes: &Znodes<'_>) -> Self {
        let mut beliefs = Self::default();
        for (_, event) in cell.events() {
            if let Event::Grant { t, cand, session, czxid, node, .. } = event {
                let named = if *czxid == Token::UNKNOWN_CZXID { znodes.named(*session, node) } else { None };
                let (session, czxid, from, until) = (*session, named.unwrap_or(*czxid), *t, Nanos::MAX);
                beliefs.0.entry(*cand).or_default().push(Belief { session, czxid, node, from, until });
            }
        }
        for (_, event) in cell.events() {
            let Event::Revoke { to, cand, session, .. } = event else { continue };
            let of = beliefs.0.get_mut(cand).into_iter().flatten();
            let begun = of.filter(|of| of.session == *session && of.from <= *to && of.until == Nanos::MAX);
            if let Some(last) = begun.max_by_key(|belief| belief.from) {
                last.until = *to;
            }
        }
        beliefs
    }

    /// The last one under this session, if it is known, at some time within `span`.
    fn within(&self, cand: u32, session: Option<i64>, span: (Nanos, Nanos)) -> Option<Belief<'a>> {
        let of = self.0.get(&cand)?.iter().filter(|of| session.is_none_or(|session| session == of.session));
        of.filter(|of| of.from <= span.1 && of.until >= span.0).max_by_key(|of| of.from).copied()
    }
}

/// Judges the proofs of a fault again.
pub(super) fn judge(
    fault: &mut Fault<'_>,
    info: &CellInfo,
    candidates: &Candidates<'_>,
    beliefs: &BeliefIndex<'_>,
    standing: &StandingZnodes<'_>,
) {
    let injected = fault.injected.as_ref().map(|proof| {
        let released = doubt(fault, VerificationStage::Injected, proof, info)
            .and_then(|()| released(fault, proof, candidates, beliefs))
            .map_err(|why| (why, false))?;
        released.iter().find_map(standing).map_or(Ok(()), |why| Err((why, true)))
    });
    let healed = fault
        .healed
        .as_ref()
        .map(|proof| doubt(fault, VerificationStage::Healed, proof, info).map_err(|why| (why, false)));
    for (proof, judged) in [(&mut fault.injected, injected), (&mut fault.healed, healed)] {
        let (Some(proof), Some(judged)) = (proof.as_mut().filter(|proof| proof.claimed), judged) else { continue };
        proof.verified = judged.is_ok();
        (proof.unfounded, proof.is_denied) = match judged {
            Ok(()) => (None, false),
            Err((why, is_denied)) => (Some(why), is_denied),
        };
    }
}

/// Why the evidence does not prove this stage. A proof without recorded evidence rests on its verifications' claim alone.
fn doubt(
    fault: &Fault<'_>,
    stage: VerificationStage,
    proof: &VerificationResult<'_>,
    info: &CellInfo,
) -> Result<(), String> {
    proof.seen.iter().copied().try_for_each(|seen| seen.shows(fault.kind, stage))?;
    if proof.recorded() { covers(fault, stage, proof, info) } else { Ok(()) }
}

/// The evidence must cover all targets of the fault, before it and after it.
fn covers(
    fault: &Fault<'_>,
    stage: VerificationStage,
    proof: &VerificationResult<'_>,
    info: &CellInfo,
) -> Result<(), String> {
    let facts = fault.kind.facts();
    match facts.hits {
        TargetClass::Nobody => Ok(()),
        TargetClass::Candidates => {
            let obeyed = |seen: &Evidence| match seen {
                Evidence::Obeyed { cand, sent, .. } => fault.hits(*cand) && *sent >= fault.t,
                _ => false,
            };
            if proof.seen.iter().copied().all(obeyed) {
                Ok(())
            } else {
                Err("somebody else obeyed the order".to_owned())
            }
        }
        TargetClass::Servers => {
            let looked: Vec<u32> = proof.seen.iter().copied().flat_map(Evidence::servers).collect();
            let (hit, others): (Vec<u32>, Vec<u32>) = (1..=info.servers).partition(|&server| fault.hits_server(server));
            if let Some(server) = hit.iter().find(|server| !looked.contains(server)) {
                return Err(format!("server {server} was not looked at"));
            }
            let ways = || others.iter().flat_map(|&a| hit.iter().flat_map(move |&b| [(a, b), (b, a)]));
            let open = proof.seen.iter().copied().find_map(|seen| match seen {
                Evidence::Apart { ways: cut, .. } => ways().find(|way| !cut.contains(way)),
                _ => None,
            });
            open.map_or(Ok(()), |(a, b)| Err(format!("the way from server {a} to server {b} was not looked at")))
        }
        TargetClass::Hosts => {
            let looked: Vec<u16> = proof.seen.iter().copied().flat_map(Evidence::hosts).collect();
            let links: Vec<(u16, u32)> = proof.seen.iter().copied().filter_map(Evidence::links).flatten().collect();
            let by_link = proof.seen.iter().copied().any(|seen| seen.links().is_some());
            for &host in fault.hosts {
                if !looked.contains(&host) {
                    return Err(format!("host {host} was not looked at"));
                }
                // A heal must cover the links to all servers.
                let chosen = |server: u32| {
                    stage == VerificationStage::Healed || fault.servers.is_empty() || fault.servers.contains(&server)
                };
                let missing = |&server: &u32| by_link && chosen(server) && !links.contains(&(host, server));
                let missing = (1..=info.servers).find(missing);
                if let Some(server) = missing {
                    return Err(format!("the link from host {host} to server {server} was not looked at"));
                }
            }
            in_time(stage, proof)
        }
    }
}

/// Probes of the state before must precede the fault, and probes of the state after must follow it.
fn in_time(stage: VerificationStage, proof: &VerificationResult) -> Result<(), String> {
    let fits = |seen: &Evidence| match seen {
        Evidence::Cut { links, .. } => links.iter().all(|link: &PartitionedLink| {
            let during = [Some(link.new), link.old].into_iter().flatten();
            link.before.until <= proof.from && during.into_iter().all(|asked| asked.at >= proof.to)
        }),
        Evidence::Reset { links } => {
            links.iter().all(|link| link.before.until <= proof.from && link.after.at >= proof.to)
        }
        Evidence::Whole { links } => links.iter().all(|link| link.after.at >= proof.to),
        Evidence::Slow { .. }
        | Evidence::Modelled { .. }
        | Evidence::Lost { .. }
        | Evidence::Obeyed { .. }
        | Evidence::Processes { .. }
        | Evidence::Withheld { .. }
        | Evidence::WallClocks { .. }
        | Evidence::Servers { .. }
        | Evidence::Apart { .. } => true,
    };
    let when = if stage == VerificationStage::Injected { "injected" } else { "healed" };
    if proof.seen.iter().copied().all(fits) {
        Ok(())
    } else {
        Err(format!("it was looked at before it was {when}, or after"))
    }
}

/// A resignation must be that of a leader, under the session that left. Gives the znodes that must be gone by it.
fn released<'a>(
    fault: &Fault<'_>,
    proof: &VerificationResult<'_>,
    candidates: &Candidates<'_>,
    beliefs: &BeliefIndex<'a>,
) -> Result<Vec<ReleasedZnode<'a>>, String> {
    // A resignation that is aimed at no group's leader is that of a follower, which leaves the queue.
    if fault.kind != FaultKind::Resign || fault.groups.is_empty() {
        return Ok(Vec::new());
    }
    let released: Vec<ReleasedZnode<'a>> = fault
        .cands
        .iter()
        .filter_map(|&cand| {
            let departures = candidates.departures.get(&cand).map_or(&[][..], Vec::as_slice);
            let left = departures[departures.partition_point(|d| d.t < fault.t)..].first();
            let Belief { session, czxid, node, .. } =
                beliefs.within(cand, left.map(|left| left.session), (fault.t, proof.to))?;
            let deleted = left.and_then(|left| left.how.deletion());
            let answered = deleted.map_or(proof.to, |deleted| deleted.1.max(proof.to));
            Some(ReleasedZnode { cand, session, node, czxid, answered })
        })
        .collect();
    if released.is_empty() { Err("nobody who led resigned".to_owned()) } else { Ok(released) }
}
