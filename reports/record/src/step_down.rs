//! Step-down policies: when a leader that lost its connection stops believing.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::numbers::whole;

/// The largest useful fraction: the client library gives its session up after 1.4 T, and the belief ends there anyway.
pub const FRACTION_MAX: f64 = 1.4;

/// When a leader that lost its connection stops believing that it leads. Spelled `on-disconnect`, `on-expiry` or
/// `after=<fraction of T>`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum StepDown {
    /// As soon as the loss of the connection is noticed. Safe, but every reconnect costs a term.
    #[default]
    OnDisconnect,
    /// Only when the session has ended. Keeps the lead over a reconnect. Unsafe if the client learns of the end later
    /// than the ensemble decides it.
    OnExpiry,
    /// This fraction of the negotiated session timeout after the loss was seen; inside (0, 1.4).
    After(f64),
}

impl StepDown {
    /// Delay after the loss of the connection is noticed, in nanoseconds; `None`: not before the session ends.
    #[must_use]
    pub fn delay_ns(self, timeout_ms: u64) -> Option<u64> {
        match self {
            Self::OnDisconnect => Some(0),
            Self::OnExpiry => None,
            Self::After(fraction) => Some(whole(fraction * timeout_ms as f64 * 1e6)),
        }
    }
}

impl StepDown {
    /// A policy in words, or a note that none is declared.
    #[must_use]
    pub fn words(policy: Option<Self>) -> String {
        policy.map_or_else(|| "no declared step-down policy".into(), |policy| policy.to_string())
    }
}

impl fmt::Display for StepDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnDisconnect => f.pad("on-disconnect"),
            Self::OnExpiry => f.pad("on-expiry"),
            Self::After(fraction) => f.pad(&format!("after={fraction}")),
        }
    }
}

/// An unknown step-down policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown step-down policy `{0}`: use `on-disconnect`, `on-expiry` or `after=<fraction of T>` with a fraction \
     between 0 and 1.4"
)]
pub struct UnknownStepDown(pub String);

impl FromStr for StepDown {
    type Err = UnknownStepDown;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownStepDown(text.to_owned());
        match text {
            "on-disconnect" => Ok(Self::OnDisconnect),
            "on-expiry" => Ok(Self::OnExpiry),
            _ => {
                let fraction: f64 = text.strip_prefix("after=").and_then(|f| f.parse().ok()).ok_or_else(unknown)?;
                let useful = fraction > 0.0 && fraction < FRACTION_MAX;
                if useful { Ok(Self::After(fraction)) } else { Err(unknown()) }
            }
        }
    }
}

crate::serde_as_text!(StepDown);

impl JsonSchema for StepDown {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "StepDown".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(on-disconnect|on-expiry|after=[0-9.]+)$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_written() {
        for text in ["on-disconnect", "on-expiry", "after=0.5", "after=1.25"] {
            assert_eq!(text.parse::<StepDown>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_fraction_outside_the_useful_range_is_refused() {
        for text in ["after=0", "after=-1", "after=1.4", "after=nan", "after=inf", "after=", "after", "never"] {
            assert!(text.parse::<StepDown>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_delay_is_a_fraction_of_the_timeout() {
        assert_eq!(StepDown::After(0.5).delay_ns(2_000), Some(1_000_000_000));
        assert_eq!(StepDown::OnExpiry.delay_ns(2_000), None);
    }
}
