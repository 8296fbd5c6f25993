//! How long should a session timeout be? From the user's own pauses, from how pauses expire sessions (measured, or by a model of
//! it) and from how long failovers take, to false failovers and time without a leader a week, for each timeout.

mod advice;
mod bands;
mod curve;
mod downtime;
mod incidents;
mod measured;
pub mod pauses;
mod poisson;
mod question;
mod rate;
mod row;
mod setting;
mod solve;
mod tail;
mod warnings;

pub use advice::{Advice, advise};
pub use bands::{Band, bands};
pub use curve::{Curve, FitError, LogisticCurve, PausedSession};
pub use downtime::Failover;
pub use measured::{ExcludedSessions, RunMeasurements, measured};
pub use poisson::{Bounds, bounds, upper_95};
pub use question::Question;
pub use rate::FalseFailovers;
pub use row::{JudgedTimeout, TimeoutGrade, TimeoutRow};
pub use setting::{Client, ExpirySettings};
pub use tail::{PauseTail, TailError};
