//! When the drain has ended, the servers list znodes, sessions or watches that they should not hold any more.

use super::*;
use crate::check::participation::Participation;
use crate::index::ROOT;

/// A name that no recipe gives.
const LEFT: &str = "left-behind-n_0000000000";

pub(in crate::mutations) const ZNODE_LISTED: Mutation = Mutation::fails::<Participation>(
    "znode-leaked",
    "the servers list an ephemeral znode in an election that is no candidate's own",
    |scene| Sites::At(vec![0]).listed(scene),
    |scene, _| {
        let session = scene.index.candidates.sessions.keys().next().copied().unwrap_or(0);
        let group = scene.index.group_name(0);
        altered_lists(move |holds| _ = holds.ephemerals.insert(format!("{ROOT}{group}/{LEFT}"), session))
    },
);

pub(in crate::mutations) const SESSION_LISTED: Mutation = Mutation {
    name: "session-leaked",
    about: "the servers list a session that its candidate gave up long before",
    sites: |scene| {
        let over = given_up(scene);
        SiteFilter::of(over.is_some().then_some(0), "no session was given up so long before the servers were asked")
            .sites()
            .listed(scene)
    },
    edit: |scene, _| {
        let session = given_up(scene).unwrap_or(0);
        altered_lists(move |holds| _ = holds.sessions.insert(session))
    },
    ..ZNODE_LISTED
};

pub(in crate::mutations) const WATCH_LISTED: Mutation = Mutation {
    name: "watch-leaked",
    about: "the servers list a watch of a follower on a znode that no candidate ever had",
    sites: |scene| {
        let promises = scene.index.info.leader_wakes().is_some();
        let follower = follower(scene);
        SiteFilter::of(follower.is_some().then_some(0), "no follower was at rest when the servers were asked")
            .only_if("the recipe does not say what it watches", promises)
            .sites()
            .listed(scene)
    },
    edit: |scene, _| {
        let (session, group) = follower(scene).unwrap_or((0, 0));
        let path = format!("{ROOT}{}/{LEFT}", scene.index.group_name(group));
        altered_lists(move |holds| _ = holds.watches.entry(path.clone()).or_default().insert(session))
    },
    ..ZNODE_LISTED
};

impl Sites {
    /// Only if the servers listed their holdings at the end of the drain, after enough time without an outage for a
    /// clean-up.
    fn listed(self, scene: &IndexedCell<'_>) -> Self {
        let Some(listed) = &scene.index.lists.end else {
            return Self::Nowhere("the servers were not asked for what they hold".into());
        };
        if quiet_before(scene, listed.asked.0) { self } else { Self::Nowhere(TOO_SHORT.into()) }
    }
}

const TOO_SHORT: &str = "what an earlier cell or a fault left behind may still be there when the servers are asked";

/// Time within which leftovers are removed: 2 T, 2 ticks and 1.5 s.
fn cleared_within(scene: &IndexedCell<'_>) -> Nanos {
    2 * (scene.index.timeout_or_asked() + scene.index.tick) + 1_500_000_000
}

/// Whether the cell, and the servers, had been up for long enough.
fn quiet_before(scene: &IndexedCell<'_>, at: Nanos) -> bool {
    let quiet = at.saturating_sub(cleared_within(scene));
    quiet > scene.index.span.0 && !scene.index.servers.out_within((quiet, at))
}

/// A session that a candidate had given up for another one long before the servers were asked.
fn given_up(scene: &IndexedCell<'_>) -> Option<i64> {
    let index = scene.index;
    let at = index.lists.end.as_ref()?.asked.0;
    let limit = cleared_within(scene);
    let current: Vec<i64> =
        index.presence.incarnations.values().filter_map(|all| all.last()).map(|last| last.1).collect();
    let mut over = index.presence.incarnations.values().flat_map(|all| all.windows(2));
    let found = over.find(|pair| pair[1].0 + limit < at && !current.contains(&pair[0].1))?;
    Some(found[0].1)
}

/// Session and group of a follower at rest when the servers were asked.
fn follower(scene: &IndexedCell<'_>) -> Option<(i64, u32)> {
    let index = scene.index;
    let asked = index.lists.end.as_ref()?.asked;
    let around = (asked.0.saturating_sub(1_000_000_000), asked.1 + 200_000_000);
    let at_rest = |cand: u32| {
        let led =
            index.terms.by_cand.get(&cand).into_iter().flatten().any(|&term| index.terms.all[term].ended.1 > around.0);
        !led && !index.presence.is_unsettled(cand, around)
    };
    let mut followers = index.candidates.all.iter().filter(|(cand, _)| at_rest(**cand));
    followers.find_map(|(&cand, candidate)| Some((scene.calm(cand, around)?.session, candidate.group)))
}

fn altered_lists<'s>(alter: impl Fn(&mut Holdings) + 's) -> Edits<'s> {
    Edits::default().replace(move |_, event| match event {
        Event::Holdings { from, to, at: WindowEdge::End, servers, holds } => {
            let mut holds = holds.clone();
            alter(&mut holds);
            Some(Event::Holdings { from: *from, to: *to, at: WindowEdge::End, servers: servers.clone(), holds })
        }
        _ => None,
    })
}
