//! The servers' own lists of sessions, ephemeral znodes and watches, at both edges of the measured window.

use hustings_record::{Event, Holdings, WindowEdge};

use super::few::Told;
use crate::stats::spans::Span;

/// What all servers together listed at one edge.
#[derive(Clone, Debug)]
pub struct Listed {
    /// From the first question to the last answer.
    pub asked: Span,
    pub holds: Holdings,
    /// Servers that said otherwise than most.
    pub dissent: Vec<u32>,
}

/// None: the servers were not asked, or did not say.
#[derive(Default)]
pub struct Lists {
    pub begin: Option<Listed>,
    pub end: Option<Listed>,
}

impl Lists {
    pub(super) fn new(few: &[Told<'_>]) -> Self {
        let mut lists = Self::default();
        for (_, event) in few {
            let Event::Holdings { from, to, at, servers, holds } = event else { continue };
            let of_edge = match at {
                WindowEdge::Begin => &mut lists.begin,
                WindowEdge::End => &mut lists.end,
            };
            match of_edge {
                None => {
                    let holds = (**holds).clone();
                    *of_edge = Some(Listed { asked: (*from, *to), holds, dissent: Vec::new() });
                }
                Some(listed) => {
                    listed.holds.add(holds);
                    listed.asked = (listed.asked.0.min(*from), listed.asked.1.max(*to));
                    listed.dissent.extend(servers);
                }
            }
        }
        lists
    }
}
