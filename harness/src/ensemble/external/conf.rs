//! The parts of a server's reply to `conf` that a run needs.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::ensemble::four_letter;

const ID: &str = "serverId";
const TICK: &str = "tickTime";
const CONNECTIONS: &str = "maxClientCnxns";
const TIMEOUT_MIN: &str = "minSessionTimeout";
const TIMEOUT_MAX: &str = "maxSessionTimeout";
const KEYS: [&str; 5] = [ID, TICK, CONNECTIONS, TIMEOUT_MIN, TIMEOUT_MAX];
/// The servers' settings are integers of 32 bits.
const INT_MAX: i64 = i32::MAX as i64;

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

/// Why a reply to `conf` cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConfFlaw {
    /// It has none of the needed lines: it is not the reply of a serving server.
    Foreign,
    /// Completes "its answer to conf …".
    Unusable(String),
}

impl Conf {
    pub(super) fn parse(text: &str) -> Result<Self, ConfFlaw> {
        if KEYS.iter().all(|key| line_of(text, key).is_none()) {
            return Err(ConfFlaw::Foreign);
        }
        let count = |key, least| number(text, key, least..=INT_MAX).map(i64::unsigned_abs);
        let member = |line: &str| line.strip_prefix("server.")?.split_once('=')?.0.parse().ok();
        let conf = Self {
            id: number(text, ID, 0..=i64::MAX)?.unsigned_abs(),
            tick_ms: count(TICK, 1)?,
            connections_max: u64::try_from(number(text, CONNECTIONS, -INT_MAX - 1..=INT_MAX)?)
                .ok()
                .filter(|limit| *limit > 0),
            timeout_ms_min: count(TIMEOUT_MIN, 0)?,
            timeout_ms_max: count(TIMEOUT_MAX, 1)?,
            members: text.lines().filter_map(member).collect(),
        };
        if conf.timeout_ms_min > conf.timeout_ms_max {
            let (least, most) = (conf.timeout_ms_min, conf.timeout_ms_max);
            return Err(ConfFlaw::Unusable(format!("has {TIMEOUT_MIN}={least} above {TIMEOUT_MAX}={most}")));
        }
        Ok(conf)
    }
}

/// The first line of this key, and its value.
fn line_of<'a>(text: &'a str, key: &str) -> Option<(&'a str, &'a str)> {
    text.lines().find_map(|line| Some((line, line.strip_prefix(key)?.strip_prefix('=')?.trim())))
}

/// The number of this key.
fn number(text: &str, key: &str, range: RangeInclusive<i64>) -> Result<i64, ConfFlaw> {
    let Some((line, value)) = line_of(text, key) else {
        return Err(ConfFlaw::Unusable(format!("has no line {key}=")));
    };
    value.parse::<i64>().ok().filter(|value| range.contains(value)).ok_or_else(|| {
        let (line, least, most) = (four_letter::shown(line), range.start(), range.end());
        ConfFlaw::Unusable(format!("has '{line}', where a whole number from {least} to {most} is expected"))
    })
}

#[cfg(test)]
mod tests {
    use super::{Conf, ConfFlaw};

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
        let idle = "This ZooKeeper instance is not currently serving requests\n";
        assert_eq!(Conf::parse(idle), Err(ConfFlaw::Foreign));
    }

    #[test]
    fn a_value_that_no_server_can_have_is_quoted() {
        let long = format!("maxClientCnxns={}", "9".repeat(40));
        for (line, odd) in [
            ("tickTime=2000", "tickTime=-1"),
            ("tickTime=2000", "tickTime=0"),
            ("tickTime=2000", "tickTime=soon"),
            ("maxClientCnxns=60", long.as_str()),
            ("minSessionTimeout=4000", "minSessionTimeout=-1"),
            ("maxSessionTimeout=40000", "maxSessionTimeout=0"),
            ("serverId=2", "serverId=-2"),
        ] {
            match Conf::parse(&TEXT.replace(line, odd)) {
                Err(ConfFlaw::Unusable(told)) => assert!(told.starts_with(&format!("has '{odd}', where a")), "{told}"),
                other => panic!("{odd}: {other:?}"),
            }
        }
        let escape = Conf::parse(&TEXT.replace("tickTime=2000", "tickTime=\u{1b}[2J"));
        assert!(matches!(escape, Err(ConfFlaw::Unusable(told)) if told.contains("tickTime=\u{fffd}[2J")));
    }

    #[test]
    fn a_missing_line_and_bounds_that_leave_no_timeout_are_named() {
        let told = |text: &str| match Conf::parse(text) {
            Err(ConfFlaw::Unusable(told)) => told,
            other => panic!("{other:?}"),
        };
        assert_eq!(told(&TEXT.replace("maxClientCnxns=60\n", "")), "has no line maxClientCnxns=");
        let crossed = told(&TEXT.replace("minSessionTimeout=4000", "minSessionTimeout=50000"));
        assert_eq!(crossed, "has minSessionTimeout=50000 above maxSessionTimeout=40000");
    }
}
