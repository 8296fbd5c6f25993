//! A requested proxy.

use serde::{Deserialize, Deserializer};

use super::body::or_default;
use super::error::ApiError;
use super::toxic::checked_name;

/// A requested proxy. Toxics in the request are ignored, as in Toxiproxy.
#[derive(Deserialize)]
#[serde(default)]
pub(super) struct ProxyRequest {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) listen: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) upstream: String,
    #[serde(deserialize_with = "or_yes")]
    pub(super) enabled: bool,
}

impl Default for ProxyRequest {
    fn default() -> Self {
        Self { name: String::new(), listen: String::new(), upstream: String::new(), enabled: true }
    }
}

fn or_yes<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or(true))
}

impl ProxyRequest {
    /// The request, if it is valid.
    pub(super) fn checked(self, place: &str) -> Result<Self, ApiError> {
        if self.name.is_empty() {
            return Err(ApiError::missing(format!("name{place}")));
        }
        if self.upstream.is_empty() {
            return Err(ApiError::missing(format!("upstream{place}")));
        }
        Ok(Self { name: checked_name(self.name)?, ..self })
    }
}
