//! Records that several messages contain.

use hustings_workloads::model::{Acl, CreateKind, Stat, ZnodeLifetime};

use super::jute::{Reader, WireError, Writer};

/// Why a create requests an impossible kind of znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateKindError {
    Ever,
    /// Servers in their default configuration do not support znodes with a TTL.
    SwitchedOff,
}

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

/// The kind that the flags of a create mean, for requests with or without a TTL.
pub(super) fn kind(flags: i32, has_ttl: bool) -> Result<CreateKind, CreateKindError> {
    let (life, sequential) = match (flags, has_ttl) {
        (0 | 2, false) => (ZnodeLifetime::Persistent, flags == 2),
        (1 | 3, false) => (ZnodeLifetime::Ephemeral, flags == 3),
        (4, false) => (ZnodeLifetime::Container, false),
        (5 | 6, _) => return Err(CreateKindError::SwitchedOff),
        _ => return Err(CreateKindError::Ever),
    };
    Ok(CreateKind { life, sequential })
}

pub(super) fn flags(kind: CreateKind) -> i32 {
    match kind.life {
        ZnodeLifetime::Persistent => i32::from(kind.sequential) * 2,
        ZnodeLifetime::Ephemeral => 1 + i32::from(kind.sequential) * 2,
        ZnodeLifetime::Container => 4,
    }
}
