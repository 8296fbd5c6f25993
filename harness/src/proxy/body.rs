//! What the bodies of requests say.

use serde::{Deserialize, Deserializer};

use super::error::ApiError;

/// What a body says; `null` says nothing.
pub(super) fn said<'a, T: Deserialize<'a> + Default>(body: &'a [u8]) -> Result<T, ApiError> {
    let said: Option<T> = serde_json::from_slice(body).map_err(ApiError::bad_body)?;
    Ok(said.unwrap_or_default())
}

/// `null` leaves what is there without it, as Go's decoder does.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(value: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}
