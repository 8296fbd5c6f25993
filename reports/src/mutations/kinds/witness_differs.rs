//! A candidate reports its own znode with another czxid than its link shows.

use super::*;
use crate::check::witness::Witness;
use hustings_record::numbers::to_u32;

pub(in crate::mutations) const WITNESS_DIFFERS: Mutation = Mutation::fails::<Witness>(
    "witness-differs",
    "a candidate reports its own znode with another czxid than passed on its link",
    |scene| {
        let reads_along = scene.index.info.parameters.get("witness").is_some_and(|witness| witness == "true");
        let stands = scene.index.candidates.stands.iter().filter(|(_, stands)| stands.iter().any(|s| s.node.is_some()));
        SiteFilter::of(stands.map(|(&cand, _)| cand as usize), "no candidate has a znode of its own")
            .only_if("nobody reads along on the links", reads_along)
            .sites()
    },
    edit,
);

fn edit<'s>(_: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let cand = sites.first().map(|&cand| to_u32(cand));
    Edits::default().rule(move |_, segment, event| {
        use crate::mutations::edits::EventEdit::{Keep, Replace};
        match event {
            Event::Joined { t, cand: of, session, node: Some(node), czxid: Some(czxid) }
                if segment.host.is_some() && Some(*of) == cand =>
            {
                let (t, cand, session, czxid) = (*t, *of, *session, Some(czxid + 1));
                Replace(Event::Joined { t, cand, session, node: Some(node.clone()), czxid })
            }
            _ => Keep,
        }
    })
}
