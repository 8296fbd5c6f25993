//! The sessions, ephemerals and watches of a server, as ZooKeeper's `dump` and `wchp` list them.

use hustings_record::Holdings;

use super::ensemble::Ensemble;
use super::interface::Server;
use super::life;

impl Ensemble {
    /// Sessions, ephemeral znodes and watches of one server. As in ZooKeeper, watches for children are not listed.
    #[must_use]
    pub fn holdings(&self, server: Server) -> Holdings {
        let member = &self.members[server];
        let ephemerals = member.tree.walk().filter(|node| life::is_session(node.owner));
        let mut holdings = Holdings {
            sessions: member.tree.sessions().map(|(session, _)| session).collect(),
            ephemerals: ephemerals.map(|node| (node.path.to_string(), node.owner)).collect(),
            ..Holdings::default()
        };
        for (path, conn) in member.watches.listed() {
            let Some(connection) = member.conns.get(&conn) else { continue };
            holdings.watches.entry(path.to_owned()).or_default().insert(connection.session);
        }
        holdings
    }
}
