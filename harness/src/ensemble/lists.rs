//! ZooKeeper's lists of its clients: sessions and ephemeral znodes (`dump`), and watches by path (`wchp`).

use hustings_record::Holdings;

/// Parses a server's replies to `dump` and `wchp`; None while it does not serve. Leaders and followers format sessions
/// differently, one per line. Lines without a path or session are ignored.
#[must_use]
pub fn holdings(dump: &str, wchp: &str) -> Option<Holdings> {
    let (_, rest) = dump.split_once("SessionTracker dump:")?;
    let (sessions, rest) = rest.split_once("ephemeral nodes dump:")?;
    let ephemerals = rest.split_once("Connections dump:").map_or(rest, |(ephemerals, _)| ephemerals);
    let mut holdings = Holdings { sessions: sessions.lines().filter_map(session).collect(), ..Holdings::default() };
    let mut owner = None;
    for line in ephemerals.lines() {
        match line.strip_prefix('\t') {
            Some(path) => holdings.ephemerals.extend(owner.map(|owner| (path.to_owned(), owner))),
            None => owner = session(line),
        }
    }
    let mut path = "";
    for line in wchp.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix('\t') {
            Some(watcher) => {
                holdings.watches.entry(path.to_owned()).or_default().extend(session(watcher));
            }
            None => path = line,
        }
    }
    Some(holdings)
}

/// The session at the beginning of a line: `0x` and its digits; the rest is ignored.
fn session(line: &str) -> Option<i64> {
    let digits = line.trim_start().strip_prefix("0x")?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok().map(u64::cast_signed)
}

#[cfg(test)]
mod tests {
    use super::holdings;

    const OWNED: &str = "ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x100000c3cba0000:\n\t/e/a\n\t/e/b\n\
                         Connections dump:\nConnections Sets (1)/(1):\n2 expire at Sun Nov 22 20:14:00 UTC 2026:\n\
                         \tip: /127.0.0.1:46766 sessionId: 0x0\n";

    #[test]
    fn leaders_and_followers_of_3_8_list_the_same_sessions() {
        let leader = "SessionTracker dump:\nSession Sets (2)/(2):\n0 expire at Sun Nov 22 20:13:43 UTC 2026:\n\
                      1 expire at Sun Nov 22 20:13:50 UTC 2026:\n\t0x100000c3cba0000\n\t0xf00000c3dac0000\n";
        let follower =
            "SessionTracker dump:\nGlobal Sessions(2):\n0x100000c3cba0000\t10000ms\n0xf00000c3dac0000\t10000ms\n";
        let said = [leader, follower].map(|sessions| holdings(&format!("{sessions}{OWNED}"), "").expect("it serves"));
        assert!(said[0].agrees_with(&said[1]));
        let sessions: Vec<i64> = said[0].sessions.iter().copied().collect();
        assert_eq!(sessions, [0x0100_000c_3cba_0000, 0x0f00_000c_3dac_0000]);
        let owner = 0x0100_000c_3cba_0000;
        assert_eq!(
            said[0].ephemerals.clone().into_iter().collect::<Vec<_>>(),
            [("/e/a".into(), owner), ("/e/b".into(), owner)]
        );
    }

    #[test]
    fn watches_are_listed_by_path() {
        let dump = format!("SessionTracker dump:\nGlobal Sessions(0):\n{OWNED}");
        let watches = holdings(&dump, "/e\n\t0x1\n\t0x2\n/e/nothere\n\t0x1\n\n").expect("it serves").watches;
        assert_eq!((watches["/e"].len(), watches["/e/nothere"].len()), (2, 1));
    }

    #[test]
    fn a_server_that_does_not_serve_has_no_lists() {
        assert_eq!(holdings("This ZooKeeper instance is not currently serving requests\n", ""), None);
    }
}
