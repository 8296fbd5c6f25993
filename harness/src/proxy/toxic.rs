//! The API's toxics: kinds, attributes, defaults and validation.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::body::{or_default, said};
use super::error::ApiError;

/// Maximum of effective milliseconds (eleven days) or KB/s. Larger values have the same effect.
const TAKEN_MAX: i64 = 1_000_000_000;
const NAME_BYTES_MAX: usize = 256;

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stream {
    /// From client to server.
    Upstream,
    /// From server to client.
    Downstream,
}

impl Stream {
    fn parse(text: &str) -> Result<Self, ApiError> {
        match text.to_ascii_lowercase().as_str() {
            "upstream" => Ok(Self::Upstream),
            "downstream" => Ok(Self::Downstream),
            _ => Err(ApiError::bad_stream()),
        }
    }
}

/// An attribute as requested: any integer, as in Toxiproxy. Negative values act like 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Amount(i64);

impl Amount {
    pub(super) fn taken(self) -> u64 {
        self.0.clamp(0, TAKEN_MAX).unsigned_abs()
    }

    /// The clamped value, which may be negative.
    pub(super) fn signed(self) -> f64 {
        self.0.clamp(-TAKEN_MAX, TAKEN_MAX) as f64
    }

    /// The value without an upper limit.
    pub(super) fn whole(self) -> u64 {
        self.0.max(0).unsigned_abs()
    }
}

/// Delays data by `latency` ± `jitter` milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Latency {
    pub(super) latency: Amount,
    pub(super) jitter: Amount,
}

/// Limits to `rate` KB/s (1,000 bytes each); 0 holds all data and loses none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Bandwidth {
    pub(super) rate: Amount,
}

/// Delays the close by `delay` milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SlowClose {
    pub(super) delay: Amount,
}

/// Milliseconds of a `timeout`, a `reset_peer` or an `await_upstream`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ToxicTimeout {
    pub(super) timeout: Amount,
}

/// Cuts data into slices of `average_size` ± `size_variation` bytes, `delay` microseconds apart. An average size of 0
/// does not cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Slicer {
    pub(super) average_size: Amount,
    pub(super) size_variation: Amount,
    pub(super) delay: Amount,
}

/// Closes the connection once `bytes` have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LimitData {
    pub(super) bytes: Amount,
}

/// No attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Noop {}

/// No attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Hold {}

/// No attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PlainGreeting {}

/// Number of `creates` that lose their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LoseReply {
    pub(super) creates: Amount,
}

/// The effect of a toxic on data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", content = "attributes", rename_all = "snake_case")]
pub(super) enum ToxicKind {
    Latency(Latency),
    Bandwidth(Bandwidth),
    SlowClose(SlowClose),
    /// Drops all data. Closes the connection after the time, or (for 0) when the toxic is removed.
    Timeout(ToxicTimeout),
    /// Resets the connection this long after the next data.
    ResetPeer(ToxicTimeout),
    Slicer(Slicer),
    LimitData(LimitData),
    /// Does nothing.
    Noop(Noop),
    /// Stops all data and drops none, until the toxic is removed.
    Hold(Hold),
    /// Converts the greeting of a ZooKeeper election connection to the older form, which contains no address.
    PlainGreeting(PlainGreeting),
    /// Holds back the answers to this many executed creates of ZooKeeper clients, over all connections of the proxy. It
    /// closes each connection instead.
    LoseReply(LoseReply),
    /// A connection whose upstream refuses retries for this time, instead of closing at once.
    AwaitUpstream(ToxicTimeout),
}

impl ToxicKind {
    fn parse(kind: &str, attributes: Map<String, Value>) -> Result<Self, ApiError> {
        Ok(match kind {
            "latency" => Self::Latency(read(attributes)?),
            "bandwidth" => Self::Bandwidth(read(attributes)?),
            "slow_close" => Self::SlowClose(read(attributes)?),
            "timeout" => Self::Timeout(read(attributes)?),
            "reset_peer" => Self::ResetPeer(read(attributes)?),
            "slicer" => Self::Slicer(read(attributes)?),
            "limit_data" => Self::LimitData(read(attributes)?),
            "noop" => Self::Noop(read(attributes)?),
            "hold" => Self::Hold(read(attributes)?),
            "plain_greeting" => Self::PlainGreeting(read(attributes)?),
            "lose_reply" => Self::LoseReply(read(attributes)?),
            "await_upstream" => Self::AwaitUpstream(read(attributes)?),
            _ => return Err(ApiError::bad_toxic_type()),
        })
    }
}

/// Parses the known attributes. As in Toxiproxy, others are ignored, and `null` leaves the default.
fn read<T: DeserializeOwned + Default + Serialize>(mut attributes: Map<String, Value>) -> Result<T, ApiError> {
    let Value::Object(known) = json!(T::default()) else { return Ok(T::default()) };
    attributes.retain(|name, value| known.contains_key(name) && !value.is_null());
    for (name, value) in &attributes {
        if !value.is_i64() {
            return Err(ApiError::bad_body(format!("attributes.{name} must be a whole number of 64 bits")));
        }
    }
    serde_json::from_value(Value::Object(attributes)).map_err(ApiError::bad_body)
}

/// One toxic on one direction of one proxy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Toxic {
    /// Unique in a process. Distinguishes an updated toxic from a new one of the same name.
    #[serde(skip)]
    pub(super) serial: u64,
    pub(super) name: String,
    #[serde(skip)]
    pub(super) stream: Stream,
    /// The stream as requested, in upper or lower case.
    #[serde(rename = "stream")]
    said_stream: String,
    /// The share of affected connections: none at 0 or below, all at 1 or above.
    pub(super) toxicity: f32,
    #[serde(flatten)]
    pub(super) kind: ToxicKind,
}

/// A requested toxic. Unknown fields on this level are ignored, as in Toxiproxy.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ToxicRequest {
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    r#type: String,
    stream: Option<String>,
    toxicity: Option<f32>,
    attributes: Option<Map<String, Value>>,
}

impl Toxic {
    /// Parses the body of a creation.
    pub(super) fn create(body: &[u8], serial: u64) -> Result<Self, ApiError> {
        let request: ToxicRequest = said(body)?;
        let said_stream = request.stream.unwrap_or_else(|| "downstream".to_owned());
        let stream = Stream::parse(&said_stream)?;
        let kind = ToxicKind::parse(&request.r#type, request.attributes.unwrap_or_default())?;
        let name = if request.name.is_empty() {
            format!("{}_{said_stream}", request.r#type)
        } else {
            checked_name(request.name)?
        };
        Ok(Self { serial, name, stream, said_stream, toxicity: finite(request.toxicity.unwrap_or(1.0))?, kind })
    }

    /// This toxic with the toxicity and the attributes in the body.
    pub(super) fn updated(&self, body: &[u8]) -> Result<Self, ApiError> {
        let request: ToxicRequest = said(body)?;
        let mut shown = json!(self.kind);
        let mut attributes = match shown["attributes"].take() {
            Value::Object(attributes) => attributes,
            _ => Map::new(),
        };
        attributes.extend(request.attributes.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null()));
        let kind = ToxicKind::parse(shown["type"].as_str().unwrap_or_default(), attributes)?;
        let toxicity = finite(request.toxicity.unwrap_or(self.toxicity))?;
        Ok(Self { toxicity, kind, ..self.clone() })
    }

    /// Whether it affects this connection. The result is the same for every call.
    pub(super) fn hits(&self, connection: u64, seed: u64) -> bool {
        unit(mix(seed ^ mix(connection) ^ mix(self.serial).rotate_left(17))) < f64::from(self.toxicity)
    }
}

/// Go's decoder refuses values that exceed 32 bits.
fn finite(toxicity: f32) -> Result<f32, ApiError> {
    if toxicity.is_finite() { Ok(toxicity) } else { Err(ApiError::bad_body("toxicity must be a number of 32 bits")) }
}

/// Names are part of paths: not empty, and of limited length.
pub(super) fn checked_name(name: String) -> Result<String, ApiError> {
    if name.is_empty() {
        Err(ApiError::missing("name"))
    } else if name.len() > NAME_BYTES_MAX {
        Err(ApiError::bad_body(format!("a name may have {NAME_BYTES_MAX} bytes")))
    } else {
        Ok(name)
    }
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a well-mixed number from any number.
pub(super) fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// [0, 1)
pub(super) fn unit(n: u64) -> f64 {
    (n >> 11) as f64 / (1u64 << 53) as f64
}
