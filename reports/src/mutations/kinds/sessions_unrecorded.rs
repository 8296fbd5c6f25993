//! The record lacks the establishment of sessions.

use super::*;
use crate::check::sessions::SessionsSection;

pub(in crate::mutations) const SESSIONS_UNRECORDED: Mutation = Mutation {
    name: "sessions-unrecorded",
    about: "that sessions were established is not recorded",
    check: SessionsSection::NAME,
    verdict: Verdict::Inconclusive,
    one_by_one: false,
    sites: |scene| {
        SiteFilter::of(scene.index.candidates.sessions.keys().take(1).map(|_| 0), "there is no session").sites()
    },
    edit: |_, _| Edits::default().drop_if(|_, event| matches!(event, Event::Session { .. })),
};
