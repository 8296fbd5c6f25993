//! The parts of a server's reply to `conf` that a run needs.

use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conf {
    /// Its `myid`; 0 for a standalone server.
    pub(super) id: u64,
    pub(super) tick_ms: u64,
    /// Connections that it accepts from one address; None: no limit.
    pub(super) connections_max: Option<u64>,
    /// The session timeouts that it grants, in milliseconds.
    pub(super) timeout_ms_min: u64,
    pub(super) timeout_ms_max: u64,
    /// Ids of all servers of its ensemble; empty for a standalone one.
    pub(super) members: BTreeSet<u64>,
}

impl Conf {
    /// None if a value is missing: then this is not the reply of a serving server.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            found.and_then(|value| value.trim().parse::<i64>().ok())
        };
        let count = |key| value(key).and_then(|value| u64::try_from(value).ok());
        let member = |line: &str| line.strip_prefix("server.")?.split_once('=')?.0.parse().ok();
        Some(Self {
            id: count("serverId")?,
            tick_ms: count("tickTime")?,
            connections_max: u64::try_from(value("maxClientCnxns")?).ok().filter(|limit| *limit > 0),
            timeout_ms_min: count("minSessionTimeout")?,
            timeout_ms_max: count("maxSessionTimeout")?,
            members: text.lines().filter_map(member).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Conf;

    const TEXT: &str = "clientPort=2181\nsecureClientPort=-1\ndataDir=/data/version-2\ntickTime=2000\nmaxClientCnxns=60\n\
        minSessionTimeout=4000\nmaxSessionTimeout=40000\nclientPortListenBacklog=-1\nserverId=2\ninitLimit=10\n\
        syncLimit=5\nelectionAlg=3\npeerType=0\nmembership: \n\
        server.1=zoo1:2888:3888:participant;0.0.0.0:2181\nserver.2=zoo2:2888:3888:participant;0.0.0.0:2181\nversion=0";

    #[test]
    fn a_servers_conf_tells_who_it_is_and_what_it_grants() {
        let conf = Conf::parse(TEXT).expect("a conf");
        assert_eq!((conf.id, conf.tick_ms, conf.connections_max), (2, 2_000, Some(60)));
        assert_eq!((conf.timeout_ms_min, conf.timeout_ms_max), (4_000, 40_000));
        assert_eq!(conf.members, [1, 2].into());
    }

    #[test]
    fn no_limit_is_none_and_another_answer_is_no_conf() {
        let unlimited = TEXT.replace("maxClientCnxns=60", "maxClientCnxns=0");
        assert_eq!(Conf::parse(&unlimited).expect("a conf").connections_max, None);
        assert_eq!(Conf::parse("This ZooKeeper instance is not currently serving requests\n"), None);
    }
}
