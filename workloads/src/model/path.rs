//! Paths: which are valid, and how they are split. The rules are those of ZooKeeper's own clients and servers.

use super::op::Code;

/// Znodes that always exist and cannot be deleted.
pub(super) const SPECIAL: [&str; 4] = ["/", "/zookeeper", "/zookeeper/quota", CONFIG];
/// The servers' own configuration, which clients may read.
pub(super) const CONFIG: &str = "/zookeeper/config";

/// Whether a znode can have this path.
///
/// # Errors
/// `BadArguments` when it is not absolute, ends with a slash, has an empty or relative part, or an invalid character.
pub fn validate(path: &str) -> Result<(), Code> {
    let Some(rest) = path.strip_prefix('/') else { return Err(Code::BadArguments) };
    if rest.is_empty() {
        return Ok(());
    }
    let good = rest.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if good && !rest.chars().any(is_banned) { Ok(()) } else { Err(Code::BadArguments) }
}

fn is_banned(c: char) -> bool {
    // Java checks UTF-16 units: a character of two units is banned as surrogates.
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}')
        || c as u32 > 0xffff
}

/// The parent's path; `None` for the root.
pub(super) fn parent(path: &str) -> Option<&str> {
    match path.rfind('/') {
        Some(0) if path.len() > 1 => Some("/"),
        Some(at) if at > 0 => Some(&path[..at]),
        _ => None,
    }
}

/// The last part of a path.
pub(super) fn name(path: &str) -> &str {
    path.rfind('/').map_or(path, |at| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_absolute_and_has_no_odd_part() {
        for good in ["/", "/a", "/a/b", "/a.b/..c/d..", "/ü/\u{a0}", "/zookeeper/quota"] {
            assert_eq!(validate(good), Ok(()), "{good:?}");
        }
        for bad in [
            "",
            "a",
            "a/b",
            "/a/",
            "//",
            "//a",
            "/a//b",
            "/.",
            "/..",
            "/a/./b",
            "/a/../b",
            "/a/..",
            "/\0",
            "/a\u{1}",
            "/\u{7f}",
            "/\u{e000}",
            "/\u{fff0}",
            "/\u{1f600}",
        ] {
            assert_eq!(validate(bad), Err(Code::BadArguments), "{bad:?}");
        }
    }

    #[test]
    fn a_path_comes_apart() {
        for (path, above, last) in
            [("/a/b", Some("/a"), "b"), ("/a", Some("/"), "a"), ("/", None, ""), ("a", None, "a")]
        {
            assert_eq!((parent(path), name(path)), (above, last), "{path:?}");
        }
    }
}
