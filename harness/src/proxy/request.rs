//! A proxy as it is asked for.

use serde::Deserialize;

use super::error::ApiError;
use super::toxic::checked_name;

/// A proxy as it is asked for. Its toxics, if any are named, are ignored, as Toxiproxy does.
#[derive(Deserialize)]
pub(super) struct ProxyRequest {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) listen: String,
    #[serde(default)]
    pub(super) upstream: String,
    #[serde(default = "yes")]
    pub(super) enabled: bool,
}

fn yes() -> bool {
    true
}

impl ProxyRequest {
    /// What it says, if that can be.
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
