//! Parsing of request bodies.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::ApiError;

/// Parses a body. `null` gives the default. Field names are case-insensitive, as in Go's decoder.
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

/// `null` gives the default, as in Go's decoder.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(value: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}
