//! Lost replies: a link waits for a create that the server executes, and closes the connection instead of forwarding
//! the answer. Only the embedded proxy decodes the traffic.

use std::time::Duration;

use hustings_record::{Evidence, WithheldReply};
use hustings_workloads::driver::lost_replies;

use crate::proxy::stats::LostReply;

use super::actions;
use super::actions::ChangeBounds;
use super::control::Control;
use super::driver::{BEFORE_LIMIT, CALL_LIMIT, RunLinks, endpoints};
use super::error::LinkError;
use super::probe;
use super::toxics::{LOSE_REPLY, Toxic};
use super::verification::LinkVerification;

/// Number of creates whose answers each link loses.
const CREATES: u32 = 1;
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl RunLinks {
    /// Waits on all links of these hosts until each has lost an answer, or `goes_on` returns false.
    ///
    /// # Errors
    /// The exact injection failed (and has been undone), the links cannot decode traffic, or their API cannot be
    /// reached. If no create passes, this is no error, but an unverified verification.
    pub async fn lose_replies(
        &self,
        hosts: &[u16],
        goes_on: impl AsyncFn(Duration) -> bool,
    ) -> Result<LinkVerification, LinkError> {
        if !self.embedded {
            return Err(LinkError::CannotRead { url: self.url().to_owned() });
        }
        let links = self.layout().links(hosts)?;
        let before = probe::ask_all(&endpoints(&links), &self.question, BEFORE_LIMIT).await;
        self.remember(&links, before.iter().map(|answer| answer.came()));
        let toxics = vec![Toxic::new(LOSE_REPLY, "downstream", &[("creates", CREATES)])];
        let armed = self.inject("lose answers", &links, toxics).await?;
        loop {
            let goes_on = goes_on(LOOK_EVERY).await;
            let here = links.clone();
            let look = move |controls: &mut Vec<Control>| actions::counters(controls, &here);
            let stats = self.caller.call("read the counters", CALL_LIMIT, look).await?;
            // Answers that an earlier fault lost are still listed.
            let lost: Vec<LostReply> =
                stats.into_iter().flat_map(|link| link.lost).filter(|reply| reply.at >= armed.from).collect();
            if !goes_on || lost.len() >= links.len() {
                return Ok(verification(armed, hosts, &lost, links.len()));
            }
        }
    }
}

/// Verified: an answer was held back.
fn verification(armed: ChangeBounds, hosts: &[u16], lost: &[LostReply], links: usize) -> LinkVerification {
    let held_back = |reply: &LostReply| {
        let LostReply { at, xid, path, zxid, .. } = reply.clone();
        WithheldReply { at, xid, path, zxid }
    };
    let times = || lost.iter().map(|reply| reply.at);
    LinkVerification {
        from: times().min().unwrap_or(armed.from),
        to: times().max().unwrap_or(armed.to),
        verified: !lost.is_empty(),
        evidence: lost_replies(lost.iter().map(|reply| (reply.xid, reply.path.as_str(), reply.zxid)), links),
        seen: Evidence::Lost { hosts: hosts.to_vec(), replies: lost.iter().map(held_back).collect() },
    }
}
