//! Orders the messages that wait for the coordinator at one moment by the times at which their hosts had them. The order
//! in which the sockets are read does not show which host wrote first.

use std::collections::BTreeMap;

use crate::coordinator::hosts::HostMessage;
use crate::protocol::FromHost;

/// A host may receive a write this long after its program sent it.
const HANDED_OVER_NS: u64 = 5_000_000;

/// Orders writes and fencings by the timestamps of their hosts. A program's own timestamp from long before its host had
/// the write does not count. Each host's messages stay in their own order.
pub(super) fn in_order_of_sending(batch: impl Iterator<Item = HostMessage>) -> impl Iterator<Item = HostMessage> {
    let mut reached: BTreeMap<u16, u64> = BTreeMap::new();
    let mut placed: Vec<(u64, HostMessage)> = batch
        .map(|inbound| {
            let reached = reached.entry(inbound.host).or_insert(0);
            match &inbound.message {
                Some(FromHost::Write { sent, came, .. }) if *came > sent.saturating_add(HANDED_OVER_NS) => {
                    *reached = (*reached).max(*came);
                }
                Some(FromHost::Write { sent, .. } | FromHost::Fence { sent, .. }) => *reached = (*reached).max(*sent),
                _ => {}
            }
            (*reached, inbound)
        })
        .collect();
    placed.sort_by_key(|(sent, _)| *sent);
    placed.into_iter().map(|(_, inbound)| inbound)
}

#[cfg(test)]
mod tests {
    use hustings_workloads::host::Token;

    use super::*;

    fn from(host: u16, message: FromHost) -> HostMessage {
        HostMessage { host, generation: 0, message: Some(message) }
    }

    fn write(host: u16, sent: u64) -> HostMessage {
        write_that_came(host, sent, 0)
    }

    fn write_that_came(host: u16, sent: u64, came: u64) -> HostMessage {
        let (cand, token) = (u32::from(host), Token { czxid: 1, session: 1 });
        from(host, FromHost::Write { cand, token, node: None, sent, is_stamped: true, came })
    }

    fn ordered(batch: Vec<HostMessage>) -> Vec<(u16, Option<u64>)> {
        let sent = |inbound: HostMessage| match inbound.message {
            Some(FromHost::Write { sent, .. }) => (inbound.host, Some(sent)),
            _ => (inbound.host, None),
        };
        in_order_of_sending(batch.into_iter()).map(sent).collect()
    }

    #[test]
    fn a_program_does_not_get_ahead_of_others_by_dating_its_write_back() {
        let ms = 1_000_000;
        let batch = vec![write_that_came(0, 60 * ms, 61 * ms), write_that_came(1, 10 * ms, 70 * ms)];
        assert_eq!(ordered(batch), [(0, Some(60 * ms)), (1, Some(10 * ms))]);
        // A host that is busy for a moment changes nothing.
        let batch = vec![write_that_came(0, 60 * ms, 64 * ms), write_that_came(1, 61 * ms, 62 * ms)];
        assert_eq!(ordered(batch), [(0, Some(60 * ms)), (1, Some(61 * ms))]);
    }

    #[test]
    fn of_what_waited_the_first_sent_comes_first_and_no_host_overtakes_itself() {
        let batch = vec![
            write(1, 50),
            from(1, FromHost::Ready { acts: None, equal_paths: false }),
            write(1, 70),
            write(0, 20),
            write(0, 60),
        ];
        assert_eq!(ordered(batch), [(0, Some(20)), (1, Some(50)), (1, None), (0, Some(60)), (1, Some(70))]);
        // A clock that goes back does not reorder one host's messages.
        assert_eq!(ordered(vec![write(0, 9), write(0, 3), write(1, 5)]), [(1, Some(5)), (0, Some(9)), (0, Some(3))]);
    }
}
