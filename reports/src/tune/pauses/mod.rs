//! The pauses of the user's own processes, read from what there is: a file of milliseconds, logs of a JVM, interval logs of
//! HdrHistogram. Bytes in, pauses out, in bounded memory; what is not understood is an error that names its line.

mod clock;
mod error;
mod intervals;
mod jvm;
mod lines;
mod log;
mod longest_pauses;
mod milliseconds;
mod overlaps;
mod read;
mod read_pauses;
mod stamp;
mod stop_cover;

pub use error::PauseError;
pub use log::{Coverage, Pause, PauseLog, PauseLogFormat, UnreadLines, WEEK_NS};
pub use overlaps::OverlappingPauses;
pub use read::read;
