//! Random numbers: one generator for every purpose, all derived from the run's one seed. So an additional choice in one
//! place changes nothing in another.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The generator for `purpose` within `scope` (for example a cell's name) of the run with this seed.
#[must_use]
pub fn rng(seed: u64, scope: &str, purpose: &str) -> ChaCha8Rng {
    let mut bytes = [0_u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&fnv1a(scope).to_le_bytes());
    bytes[16..24].copy_from_slice(&fnv1a(purpose).to_le_bytes());
    ChaCha8Rng::from_seed(bytes)
}

/// 64-bit FNV-1a: the same on every machine and in every version, unlike the standard library's hashes.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
