//! The servers elect another server than their votes determine.

use super::*;
use crate::check::server_elections::{EnsembleSection, foretold};

pub(in crate::mutations) const OTHER_WINNER: Mutation = Mutation::fails::<EnsembleSection>(
    "other-winner",
    "another server leads than the one that the votes elect",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let elections = &scene.index.servers.elections;
    let predicted = crate::check::server_elections::predicted(scene.index);
    SiteFilter::of(0..elections.len(), "the servers held no election")
        .keep("nobody won an election", |&place| elections[place].winner.is_some())
        .keep("no election's winner follows from the recorded votes", |place| predicted.contains(place))
        .keep("nobody else came back from the election and heard the winner's vote", |&place| {
            other(scene, place).is_some()
        })
        .sites()
}

/// A follower of the winner that received the winner's vote: had it won, its votes would certainly elect another
/// server.
fn other(scene: &IndexedCell<'_>, place: usize) -> Option<u32> {
    let election = &scene.index.servers.elections[place];
    let back = |role: &crate::index::Role| role.back.is_some() || role.elected.is_some();
    election
        .roles
        .iter()
        .filter(|(_, role)| back(role))
        .map(|(&server, _)| server)
        .filter(|&server| Some(server) != election.winner)
        .find(|&server| foretold(scene.index, election, server).is_some_and(|one| one != server))
}

/// Swaps the winner and one of its followers from this election on.
fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let swaps: Vec<(u64, u32, u32)> = sites
        .iter()
        .take(1)
        .filter_map(|&place| {
            let election = &scene.index.servers.elections[place];
            Some((election.lost.0, election.winner?, other(scene, place)?))
        })
        .collect();
    let swapped = move |t: u64, server: u32| {
        let swap = swaps.iter().find(|swap| t > swap.0)?;
        (server == swap.1).then_some(false).or((server == swap.2).then_some(true))
    };
    Edits::default().replace(move |_, event| match event {
        Event::ServerState { from, to, server, state: ServerState::Leading | ServerState::Following, zxid } => {
            let leads = swapped(*to, *server)?;
            let state = if leads { ServerState::Leading } else { ServerState::Following };
            Some(Event::ServerState { from: *from, to: *to, server: *server, state, zxid: *zxid })
        }
        Event::ServerLog { t, server, line: ServerLine::Elected { took_ms, .. } } => {
            let line = ServerLine::Elected { leading: swapped(*t, *server)?, took_ms: *took_ms };
            Some(Event::ServerLog { t: *t, server: *server, line })
        }
        Event::ServerLog { t, server, line: ServerLine::Serving { .. } } => {
            let line = ServerLine::Serving { leading: swapped(*t, *server)? };
            Some(Event::ServerLog { t: *t, server: *server, line })
        }
        _ => None,
    })
}
