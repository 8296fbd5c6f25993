//! What the bodies of requests say.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::ApiError;

/// What a body says; `null` says nothing. Names of fields may be in any case, as Go's decoder has it.
pub(super) fn said<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, ApiError> {
    let said: Value = serde_json::from_slice(body).map_err(ApiError::bad_body)?;
    let said: Option<T> = serde_json::from_value(in_lower_case(said)).map_err(ApiError::bad_body)?;
    Ok(said.unwrap_or_default())
}

fn in_lower_case(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), in_lower_case(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(in_lower_case).collect(),
        other => other,
    }
}

/// `null` leaves what is there without it, as Go's decoder does.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(value: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}
