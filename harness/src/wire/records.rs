//! Records that several messages have in them.

use hustings_workloads::model::{Acl, Kind, Life, Stat};

use super::jute::{Reader, WireError, Writer};

/// The most milliseconds that a TTL can have: five bytes of an owner's eight.
pub const TTL_MS_MAX: i64 = 0xff_ffff_ffff;

/// What is wrong with a kind that no znode can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchKind;

pub(super) fn read_acl(from: &mut Reader<'_>) -> Result<Vec<Acl>, WireError> {
    from.vector(12, |from| Ok(Acl { perms: from.int()?, scheme: from.string()?, id: from.string()? }))
}

pub(super) fn write_acl(to: &mut Writer, acl: &[Acl]) {
    to.vector(acl, |to, entry| {
        to.int(entry.perms).string(&entry.scheme).string(&entry.id);
    });
}

pub(crate) fn read_stat(from: &mut Reader<'_>) -> Result<Stat, WireError> {
    Ok(Stat {
        czxid: from.long()?,
        mzxid: from.long()?,
        ctime: from.long()?,
        mtime: from.long()?,
        version: from.int()?,
        cversion: from.int()?,
        aversion: from.int()?,
        ephemeral_owner: from.long()?,
        data_length: from.int()?,
        num_children: from.int()?,
        pzxid: from.long()?,
    })
}

pub(crate) fn write_stat(to: &mut Writer, stat: &Stat) {
    to.long(stat.czxid).long(stat.mzxid).long(stat.ctime).long(stat.mtime);
    to.int(stat.version).int(stat.cversion).int(stat.aversion).long(stat.ephemeral_owner);
    to.int(stat.data_length).int(stat.num_children).long(stat.pzxid);
}

/// The kind that the flags of a create mean. `ttl_ms` is there if the request can carry one.
pub(super) fn kind(flags: i32, ttl_ms: Option<i64>) -> Result<Kind, NoSuchKind> {
    let (life, sequential) = match (flags, ttl_ms) {
        (0 | 2, None) => (Life::Persistent, flags == 2),
        (1 | 3, None) => (Life::Ephemeral, flags == 3),
        (4, None) => (Life::Container, false),
        (5 | 6, Some(ms @ 1..=TTL_MS_MAX)) => (Life::Ttl { ms }, flags == 6),
        _ => return Err(NoSuchKind),
    };
    Ok(Kind { life, sequential })
}

pub(super) fn flags(kind: Kind) -> i32 {
    match kind.life {
        Life::Persistent => i32::from(kind.sequential) * 2,
        Life::Ephemeral => 1 + i32::from(kind.sequential) * 2,
        Life::Container => 4,
        Life::Ttl { .. } => 5 + i32::from(kind.sequential),
    }
}
