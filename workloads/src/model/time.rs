//! Changes caused by the passing of time.

use super::ensemble::Ensemble;
use super::interface::Server;
use super::op::Micros;

impl Ensemble {
    /// Performs everything that is due by now: lost leaders and followers, elections, expiries, containers.
    pub fn advance(&mut self, now: Micros) {
        self.reconsider(now);
        for server in 0..self.members.len() {
            if self.members[server].is_paused || self.members[server].lead.is_none() {
                continue;
            }
            self.expire_sessions(now, server);
            self.reap_containers(now, server);
        }
    }

    /// The latest time for the next call of [`advance`](Self::advance).
    #[must_use]
    pub fn due(&self) -> Option<Micros> {
        let leading = self.members.iter().filter(|member| !member.is_paused).filter_map(|member| member.lead.as_ref());
        let clocks = leading.flat_map(|lead| lead.tracker.due().into_iter().chain([lead.containers_due]));
        clocks.chain(self.change_of_roles_due()).min()
    }

    fn expire_sessions(&mut self, now: Micros, leader: Server) {
        while let Some(expired) = self.members[leader].lead.as_mut().and_then(|lead| lead.tracker.expire(now)) {
            for session in expired {
                self.expire(now, leader, session);
            }
        }
    }

    fn reap_containers(&mut self, now: Micros, leader: Server) {
        let Some(lead) = self.members[leader].lead.as_mut().filter(|lead| lead.containers_due <= now) else { return };
        lead.containers_due = now + self.options.container_check_ms * 1_000;
        let tree = &self.members[leader].tree;
        let mut due: Vec<String> = tree.emptied().map(|node| node.path.to_string()).collect();
        due.sort_unstable();
        for path in due {
            self.reap(now, leader, path);
        }
    }
}
