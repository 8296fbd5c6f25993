//! The group and host of every candidate, as hosts state them when they begin, compared with all other events. A restarted
//! host states the same again. A candidate without such an event, as of a torn segment, is compared with nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::cell::CellInfo;
use crate::event::Event;
use crate::named_numbers::named;
use crate::verification::FaultOrder;
use crate::words::plural;

/// The events of a segment, in the order in which they were written, and the host that wrote them.
pub(crate) type SegmentEvents<'a> = (Option<u16>, &'a [Event]);

/// Group and host of a candidate.
type Placement = (u32, u16);

/// The first event that contradicts the placement of a candidate, in words.
pub(crate) fn misplaced(info: &CellInfo, segments: &[SegmentEvents<'_>]) -> Option<String> {
    let mut placements = BTreeMap::<u32, Placement>::new();
    for &(host, events) in segments {
        for event in events {
            let (Some(host), Event::Candidate { cand, group, .. }) = (host, event) else { continue };
            let placement = (*group, host);
            let first = *placements.entry(*cand).or_insert(placement);
            if first != placement {
                return Some(format!("candidate {cand} is {}, and also {}", words(first), words(placement)));
            }
        }
    }
    let mut sizes = BTreeMap::<u32, u32>::new();
    placements.values().for_each(|(group, _)| *sizes.entry(*group).or_default() += 1);
    let most = info.candidates_per_group;
    if let Some((group, size)) = sizes.into_iter().find(|(_, size)| *size > most) {
        let size = plural(size.into(), "candidate", "candidates");
        return Some(format!("group {group} has {size}, and by its parameters {most}"));
    }
    let of_segment =
        |&(writer, events): &SegmentEvents<'_>| events.iter().find_map(|event| elsewhere(&placements, writer, event));
    segments.iter().find_map(of_segment)
}

/// What an event says of a candidate, where that is another group or host than its own.
fn elsewhere(placements: &BTreeMap<u32, Placement>, writer: Option<u16>, event: &Event) -> Option<String> {
    if let Event::Fault(order) = event {
        return mistargeted(placements, order);
    }
    if let Event::Write { group, cand, host, .. } = event {
        let own = *placements.get(cand)?;
        let differs = own != (*group, *host);
        return differs.then(|| format!("candidate {cand} is {}, and writes {}", words(own), words((*group, *host))));
    }
    let (writer, cand) = (writer?, named(event).cands.first()?);
    let own = *placements.get(cand)?;
    (own.1 != writer).then(|| format!("candidate {cand} is {}, and acts on host {writer}", words(own)))
}

/// The groups of an order are those that its candidates lead, and its hosts have all of them.
fn mistargeted(placements: &BTreeMap<u32, Placement>, order: &FaultOrder) -> Option<String> {
    let hit: Option<Vec<Placement>> = order.cands.iter().map(|cand| placements.get(cand).copied()).collect();
    let hit = hit.filter(|hit| !hit.is_empty())?;
    let groups: BTreeSet<u32> = hit.iter().map(|(group, _)| *group).collect();
    let (id, kind) = (order.id, order.kind.noun());
    if let Some(group) = order.groups.iter().find(|group| !groups.contains(group)) {
        return Some(format!("fault {id}, {kind}, hits group {group}, and none of its candidates is of that group"));
    }
    let apart = hit.iter().find(|(_, host)| !order.hosts.is_empty() && !order.hosts.contains(host))?;
    Some(format!("fault {id}, {kind}, hits a candidate {}, and not that host", words(*apart)))
}

fn words((group, host): Placement) -> String {
    format!("of group {group} on host {host}")
}
