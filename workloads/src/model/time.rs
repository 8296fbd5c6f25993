//! What happens because time has passed.

use super::ensemble::Ensemble;
use super::interface::Server;
use super::life;
use super::op::Micros;

impl Ensemble {
    /// Lets everything happen that is due by now: lost leaders and followers, elections, expiries, containers.
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

    /// When [`advance`](Self::advance) is to be called next, at the latest.
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
        let now_ms = self.options.epoch_ms + (now / 1_000) as i64;
        let tree = &self.members[leader].tree;
        let is_over = |owner: i64, since_ms: i64| life::ttl_ms(owner).is_some_and(|ttl_ms| now_ms - since_ms > ttl_ms);
        let dead = tree.mortal().filter(|node| node.children == 0 && is_over(node.owner, node.mtime_ms));
        let mut due: Vec<String> = tree.emptied().chain(dead).map(|node| node.path.to_string()).collect();
        due.sort_unstable();
        for path in due {
            self.reap(now, leader, path);
        }
    }
}
