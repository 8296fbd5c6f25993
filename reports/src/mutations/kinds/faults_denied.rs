//! Faults of which the effect or the end is not proven: a verification of the injection or of the heal says that it is
//! unverified, or says that it is verified while its evidence shows no effect.

use super::*;
use crate::check::verifications::FaultsSection;

pub(in crate::mutations) const FAULT_UNVERIFIED: Mutation = Mutation {
    name: "fault-unverified",
    about: "a fault was not seen to take effect",
    check: FaultsSection::NAME,
    verdict: Verdict::Inconclusive,
    one_by_one: true,
    sites: |scene| SiteFilter::of(verified(scene), "no fault was verified").sites(),
    edit: |scene, sites| {
        altered(scene, sites, VerificationStage::Injected, |verification| {
            verification.verified = false;
            true
        })
    },
};

pub(in crate::mutations) const FAULT_WITHOUT_EFFECT: Mutation = Mutation {
    name: "fault-without-effect",
    about: "a fault is called verified, and what was probed shows that nothing happened",
    sites: |scene| {
        let recorded =
            |fault: &usize| scene.index.faults.all[*fault].injected.as_ref().is_some_and(|proof| proof.recorded());
        SiteFilter::of(verified(scene), "no fault was verified")
            .keep("what was probed is not recorded", recorded)
            .sites()
    },
    edit: |scene, sites| {
        altered(scene, sites, VerificationStage::Injected, |verification| {
            verification.seen.as_deref_mut().is_some_and(deny)
        })
    },
    ..FAULT_UNVERIFIED
};

pub(in crate::mutations) const FAULT_NOT_HEALED: Mutation = Mutation {
    name: "fault-not-healed",
    about: "a fault was not seen to end",
    sites: |scene| {
        let healed = |fault: &usize| scene.index.faults.all[*fault].healed.is_some();
        SiteFilter::of(verified(scene), "no fault was verified").keep("no fault of this cell is healed", healed).sites()
    },
    edit: |scene, sites| {
        altered(scene, sites, VerificationStage::Healed, |verification| {
            verification.verified = false;
            true
        })
    },
    ..FAULT_UNVERIFIED
};

fn verified(scene: &IndexedCell<'_>) -> impl Iterator<Item = usize> {
    (0..scene.index.faults.all.len()).filter(|&fault| scene.index.faults.all[fault].verified())
}

/// Alters the verifications of these faults at this stage.
fn altered<'s>(
    scene: &'s IndexedCell<'s>,
    sites: &'s [usize],
    stage: VerificationStage,
    alter: impl Fn(&mut VerificationEvent) -> bool + 's,
) -> Edits<'s> {
    let ids: Vec<u32> = sites.iter().map(|&fault| scene.index.faults.all[fault].id).collect();
    Edits::default().replace(move |_, event| {
        let Event::Verification(verification) = event else { return None };
        if verification.stage != stage || !ids.contains(&verification.id) {
            return None;
        }
        let mut verification = verification.clone();
        alter(&mut verification).then_some(Event::Verification(verification))
    })
}

/// Alters the probed values so that they show no effect.
fn deny(seen: &mut Evidence) -> bool {
    match seen {
        // The link answered all the while.
        Evidence::Cut { links, .. } => {
            for link in &mut *links {
                link.new.came = link.before.came;
                if let Some(old) = &mut link.old {
                    old.came = link.before.came;
                }
            }
            !links.is_empty()
        }
        Evidence::Reset { links } => {
            for link in &mut *links {
                (link.closed, link.left) = (Some(false), true);
            }
            !links.is_empty()
        }
        Evidence::Slow { held, .. } => {
            for slow in held.iter_mut().filter(|slow| !slow.spared) {
                slow.seen_ms = Some(0.0);
                for probe in &mut slow.of {
                    if let Some(before) = &probe.before {
                        probe.during.clone_from(before);
                    }
                }
            }
            held.iter().any(|slow| !slow.spared)
        }
        Evidence::Modelled { links } => {
            for link in &mut *links {
                (link.held, link.slow) = (None, false);
            }
            !links.is_empty()
        }
        Evidence::Lost { replies, .. } => {
            replies.iter_mut().for_each(|reply| reply.zxid = 0);
            !replies.is_empty()
        }
        // The order was obeyed before it was given.
        Evidence::Obeyed { sent, answered, .. } => {
            (*sent, *answered) = (0, 0);
            true
        }
        Evidence::Processes { hosts, .. } => {
            for host in &mut *hosts {
                host.1 = hustings_record::ProcessFate::Kept;
            }
            !hosts.is_empty()
        }
        Evidence::Withheld { hosts } => {
            hosts.iter_mut().for_each(|host| host.1 = 0);
            !hosts.is_empty()
        }
        Evidence::WallClocks { hosts, .. } => {
            hosts.iter_mut().for_each(|host| host.2 = host.1);
            !hosts.is_empty()
        }
        Evidence::Servers { asked } => {
            asked.iter_mut().for_each(|server| server.1 = hustings_record::ServerState::Following);
            !asked.is_empty()
        }
        Evidence::Apart { ways, bytes } => {
            *bytes = Some((0, 1));
            !ways.is_empty()
        }
        // Restored links are no evidence of an earlier effect.
        Evidence::Whole { .. } => false,
    }
}
