//! A leader is not notified of its session's end, and continues to believe beside the owner.

use super::*;
use crate::check::ownership::Ownership;
use crate::index::Ending;

pub(in crate::mutations) const BELIEVES_WITHOUT_OWNING: Mutation = Mutation::fails::<Ownership>(
    "believes-without-owning",
    "a leader that has lost its znode believes on to the end",
    sites,
    edit,
);

pub(in crate::mutations) const BELIEVES_ON_FOR_A_WHILE: Mutation = Mutation::fails::<Ownership>(
    "believes-on-for-a-while",
    "a leader that has lost its znode, and could know, believes on for one and a half seconds",
    sites,
    |scene, sites| edit_until(scene, sites, |loss| could_know_from(scene, loss).unwrap_or(0) + WRONG_NS),
);

/// A belief this long is wrong for a leader that could know of its loss.
const WRONG_NS: Nanos = 1_500_000_000;

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let until = scene.index.observed_until();
    scene
        .handovers()
        .keep("every leader died before its successor came", |&loss| {
            matches!(scene.loser(loss).ending, Ending::Revoked(_))
        })
        .keep("the cell ended, or the loser was kept from knowing, before so long a belief would be wrong", |&loss| {
            could_know_from(scene, loss).is_some_and(|from| until > from + WRONG_NS)
        })
        .keep("the observer did not see another owner for so long", |&loss| {
            let (lost, from) = (scene.loser(loss), could_know_from(scene, loss).unwrap_or(until));
            let intervals = scene.index.intervals.of_group(lost.group);
            let others =
                intervals.iter().filter(|interval| !interval.is_of(lost)).map(|interval| interval.span).collect();
            let seen = crate::stats::spans::within(&crate::stats::spans::union(others), (from, until));
            seen.iter().any(|span| span.1 - span.0 >= WRONG_NS)
        })
        .sites()
}

/// When another candidate owned leadership and the loser could know. By then no fault withholds that, and its policy
/// does not let it believe without a connection. Servers under a fault had time to end its session.
fn could_know_from(scene: &IndexedCell<'_>, loss: usize) -> Option<Nanos> {
    let (index, lost) = (scene.index, scene.loser(loss));
    let (from, until) = (others_own_from(scene, loss)?, index.observed_until());
    let expiry = 3 * index.timeout_or_asked() / 2;
    let deaf = index.faults.on_cand_in(lost.cand, (from, until));
    let deaf = deaf.filter(|fault| fault.kind.facts().suppresses_watch_events).map(|fault| fault.over());
    let states = index.candidates.states.get(&lost.session).map_or(&[][..], Vec::as_slice);
    let alone = states.iter().filter(|state| state.1 == SessionState::Disconnected && state.0 <= until);
    let alone = alone.map(|state| state.0 + expiry).filter(|_| index.info.step_down != Some(StepDown::OnDisconnect));
    let stalls = index.lives.stalls_in(&[lost.host], (from, until)).map(|stall| stall.to).collect::<Vec<_>>();
    let after = deaf.chain(alone).chain(stalls).fold(from, Nanos::max);
    Some(if index.servers_hit_within((from, after + WRONG_NS)) { after + expiry } else { after })
}

/// When another candidate began to own leadership.
fn others_own_from(scene: &IndexedCell<'_>, loss: usize) -> Option<Nanos> {
    let lost = scene.loser(loss);
    let intervals = scene.index.intervals.of_group(lost.group).iter();
    let next = scene.successor(loss)?;
    intervals
        .filter(|interval| interval.is_of(next))
        .map(|interval| interval.span.0)
        .filter(|&from| from >= lost.grant)
        .min()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let until = scene.index.observed_until();
    edit_until(scene, sites, move |_| until)
}

fn edit_until<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize], until: impl Fn(usize) -> Nanos) -> Edits<'s> {
    let lost: Vec<(&Term<'_>, Nanos)> = sites.iter().map(|&loss| (scene.loser(loss), until(loss))).collect();
    // After its loss it only believes.
    let ends: Vec<(u32, Nanos, Nanos)> = lost.iter().map(|(term, until)| (term.cand, term.ended.0, *until)).collect();
    let ended = ends.clone();
    let is_silent = move |cand: u32, t: Nanos| ends.iter().any(|&(of, ended, _)| of == cand && t > ended);
    let is_its_end = move |cand: u32, t: Nanos| ended.iter().any(|&(of, _, until)| of == cand && t == until);
    Edits::default()
        .replace(move |segment, event| {
            let Event::Revoke { cand, session, term, reason, .. } = event else { return None };
            let until = lost.iter().find(|(lost, _)| is_end_of(lost, segment, event))?.1;
            Some(Event::Revoke { from: until, to: until, cand: *cand, session: *session, term: *term, reason: *reason })
        })
        .drop_if(move |_, event| match event {
            Event::Incarnation { t, cand, .. }
            | Event::Joined { t, cand, .. }
            | Event::Created { t, cand, .. }
            | Event::Grant { t, cand, .. }
            | Event::Granted { t, cand, .. }
            | Event::Settled { t, cand, .. }
            | Event::Notified { t, cand, .. }
            | Event::Left { t, cand, .. }
            | Event::Write { t, cand, .. } => is_silent(*cand, *t),
            Event::Revoke { to, cand, .. } => !is_its_end(*cand, *to) && is_silent(*cand, *to),
            _ => false,
        })
        .with_honest_ledgers()
}
