//! What `INFO replication` says.

use std::net::SocketAddr;

use hustings_workloads::redis_failover::{RedisInfo, RedisRole};

/// A server's replication, in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replication {
    pub(super) info: RedisInfo,
    /// A replica whose copy is whole and whose link to its master is up; a master is always.
    pub(super) is_linked: bool,
}

/// Reads the answer of a server of this group. None: it is not one.
pub(super) fn replication(text: &str, group: &[SocketAddr]) -> Option<Replication> {
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.trim())
    };
    let (role, offset) = match field("role")? {
        "master" => (RedisRole::Master, field("master_repl_offset")),
        "slave" => {
            let (host, port) = (field("master_host")?, field("master_port")?);
            let is_it = |one: &SocketAddr| one.ip().to_string() == host && one.port().to_string() == port;
            let of = group.iter().position(is_it).and_then(|place| u16::try_from(place).ok());
            (RedisRole::Replica { of }, field("slave_repl_offset"))
        }
        _ => return None,
    };
    // Before its first contact with a master, a replica has no offset.
    let offset = offset?.parse::<i64>().ok()?;
    let info = RedisInfo { role, offset: u64::try_from(offset).unwrap_or(0) };
    Some(Replication { info, is_linked: field("master_link_status").is_none_or(|status| status == "up") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_offsets_and_links_are_read() {
        let group = ["127.0.0.1:7001", "127.0.0.1:7002"].map(|one| one.parse().expect("an address"));
        let master = "# Replication\r\nrole:master\r\nconnected_slaves:1\r\nmaster_repl_offset:42\r\n";
        let found = replication(master, &group).expect("it is one");
        assert_eq!(found, Replication { info: RedisInfo { role: RedisRole::Master, offset: 42 }, is_linked: true });
        let replica = |port: &str, status: &str, offset: &str| {
            let text = format!(
                "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:{port}\r\nmaster_link_status:{status}\r\n\
                 slave_repl_offset:{offset}\r\n"
            );
            replication(&text, &group).expect("it is one")
        };
        let role = RedisRole::Replica { of: Some(1) };
        assert_eq!(replica("7002", "up", "7"), Replication { info: RedisInfo { role, offset: 7 }, is_linked: true });
        assert_eq!(replica("7002", "down", "-1").info.offset, 0);
        assert!(!replica("7002", "down", "-1").is_linked);
        assert_eq!(replica("7009", "up", "7").info.role, RedisRole::Replica { of: None });
        assert_eq!(replication("-NOAUTH Authentication required.", &group), None);
    }
}
