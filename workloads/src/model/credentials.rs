//! Ids and passwords of sessions.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::interface::Server;
use super::op::{Micros, SessionId};

/// The lowest id that this server assigns from now on: its own id in the top byte, below it the milliseconds, and room
/// for a count.
pub(super) fn first_session(server: Server, now: Micros, epoch_ms: i64) -> SessionId {
    let ms = epoch_ms.cast_unsigned().wrapping_add(now / 1_000);
    (((server as u64 + 1) << 56) | ((ms << 24) >> 8)) as i64
}

/// The password of a session: derived whenever it is needed, by any server.
pub(super) fn password(seed: u64, session: SessionId) -> [u8; 16] {
    let mut whole = [0; 32];
    whole[..8].copy_from_slice(&seed.to_le_bytes());
    whole[8..16].copy_from_slice(&session.to_le_bytes());
    let mut password = [0; 16];
    ChaCha8Rng::from_seed(whole).fill_bytes(&mut password);
    password
}
