//! Permissions: access control lists of requests, checked against the identities of a connection.

use std::sync::{Arc, LazyLock};

use super::op::{Acl, Code};

/// All permissions for everyone; shared, because nearly every znode has it.
pub(super) static OPEN: LazyLock<Arc<[Acl]>> = LazyLock::new(|| Acl::open().into());

/// Read permission for everyone, and nothing else.
pub(super) static READ_ONLY: LazyLock<Arc<[Acl]>> =
    LazyLock::new(|| Acl::open().into_iter().map(|acl| Acl { perms: Acl::READ, ..acl }).collect());

/// Verified identities of a connection.
pub(super) type VerifiedIdentities = Vec<(String, String)>;

/// The list as it is stored: without duplicates, and with `auth` entries replaced by the connection's identities.
///
/// # Errors
/// `InvalidAcl` when it is empty or has an entry that no server accepts.
pub(super) fn fix_up(asked: &[Acl], proven: &VerifiedIdentities) -> Result<Arc<[Acl]>, Code> {
    if *asked == **OPEN {
        return Ok(OPEN.clone());
    }
    let mut fixed: Vec<Acl> = Vec::with_capacity(asked.len());
    let mut add = |acl: Acl| {
        if !fixed.contains(&acl) {
            fixed.push(acl);
        }
    };
    for acl in asked {
        let good = match acl.scheme.as_str() {
            "world" => acl.id == "anyone",
            "digest" => acl.id.split(':').count() == 2,
            "ip" => is_address(&acl.id),
            "auth" => {
                let known = proven.iter().filter(|(scheme, _)| scheme == "digest");
                let mut known = known.peekable();
                let any = known.peek().is_some();
                known.for_each(|(scheme, id)| {
                    add(Acl { perms: acl.perms, scheme: scheme.clone(), id: id.clone() });
                });
                if any {
                    continue;
                }
                false
            }
            _ => false,
        };
        if !good {
            return Err(Code::InvalidAcl);
        }
        add(acl.clone());
    }
    if fixed.is_empty() { Err(Code::InvalidAcl) } else { Ok(fixed.into()) }
}

fn is_address(id: &str) -> bool {
    let (address, bits) = id.split_once('/').map_or((id, None), |(address, bits)| (address, Some(bits)));
    let Ok(address) = address.parse::<core::net::IpAddr>() else { return false };
    let bits_max = if address.is_ipv4() { 32 } else { 128 };
    bits.is_none_or(|bits| bits.parse::<u8>().is_ok_and(|bits| bits <= bits_max))
}

/// Whether the list allows `perm` to a connection with these identities.
///
/// # Errors
/// `NoAuth` when it does not.
pub(super) fn check(acl: &[Acl], perm: i32, proven: &VerifiedIdentities) -> Result<(), Code> {
    let open = acl.is_empty() || proven.iter().any(|(scheme, _)| scheme == "super");
    let lets = |entry: &Acl| {
        let known = || proven.iter().any(|(scheme, id)| *scheme == entry.scheme && *id == entry.id);
        entry.perms & perm != 0 && (entry.scheme == "world" && entry.id == "anyone" || known())
    };
    if open || acl.iter().any(lets) { Ok(()) } else { Err(Code::NoAuth) }
}

/// The list for a reader without admin permission: without the hashes of passwords.
pub(super) fn masked(acl: &[Acl]) -> Vec<Acl> {
    let mask = |entry: &Acl| match entry.id.split_once(':') {
        Some((user, _)) if entry.scheme == "digest" => Acl { id: format!("{user}:x"), ..entry.clone() },
        _ => entry.clone(),
    };
    acl.iter().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(perms: i32, scheme: &str, id: &str) -> Acl {
        Acl { perms, scheme: scheme.into(), id: id.into() }
    }

    #[test]
    fn a_list_is_checked_and_auth_becomes_what_was_proven() {
        let proven = vec![("digest".to_owned(), "ann:hash".to_owned())];
        let asked = [entry(31, "auth", ""), entry(1, "world", "anyone"), entry(1, "world", "anyone")];
        let fixed = fix_up(&asked, &proven).unwrap();
        assert_eq!(*fixed, [entry(31, "digest", "ann:hash"), entry(1, "world", "anyone")]);
        assert_eq!(check(&fixed, Acl::WRITE, &proven), Ok(()));
        assert_eq!(check(&fixed, Acl::WRITE, &Vec::new()), Err(Code::NoAuth));
        assert_eq!(check(&fixed, Acl::READ, &Vec::new()), Ok(()));
        assert_eq!(masked(&fixed)[0].id, "ann:x");
        let bad: [&[Acl]; 6] = [
            &[],
            &[entry(31, "world", "ann")],
            &[entry(31, "digest", "ann")],
            &[entry(31, "ip", "1.2.3.4/33")],
            &[entry(31, "what", "x")],
            &[entry(31, "auth", "")],
        ];
        for acl in bad {
            assert_eq!(fix_up(acl, &Vec::new()), Err(Code::InvalidAcl), "{acl:?}");
        }
        assert!(fix_up(&[entry(31, "ip", "10.0.0.0/8")], &proven).is_ok());
    }
}
