//! Unguessable values.

use anyhow::Context as _;
use rand::TryRng as _;
use rand::rngs::SysRng;

/// 128 random bits from the kernel, in hex.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn secret() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 16];
    SysRng.try_fill_bytes(&mut bytes).context("the kernel gives no random bytes")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
