//! A group that is never led at all.

use super::*;
use crate::check::enrolment::Enrolment;
use hustings_record::numbers::to_u32;

pub(in crate::mutations) const GROUP_NEVER_LED: Mutation = Mutation {
    name: "group-never-led",
    about: "nobody ever leads one of the groups",
    check: Enrolment::NAME,
    verdict: Verdict::Inconclusive,
    one_by_one: true,
    sites: |scene| {
        SiteFilter::of(scene.index.terms.by_group.keys().map(|&group| group as usize), "nobody ever led").sites()
    },
    edit,
};

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let of_group = |cand: u32| scene.index.candidates.all.get(&cand).map(|candidate| candidate.group);
    let first = sites.first().map(|&group| to_u32(group));
    let is_it = move |cand: u32| first.is_some() && of_group(cand) == first;
    Edits::default()
        .drop_if(move |_, event| match event {
            Event::Grant { cand, .. }
            | Event::Granted { cand, .. }
            | Event::Revoke { cand, .. }
            | Event::Write { cand, .. } => is_it(*cand),
            _ => false,
        })
        .with_honest_ledgers()
}
