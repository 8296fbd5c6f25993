//! Why a log of pauses cannot be used.

use std::io;

/// No log that is known has longer lines: the histogram of an interval takes some kilobytes.
pub(super) const LINE_BYTES_MAX: u64 = 1 << 20;

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PauseError {
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("it is empty; if there was no pause, let it hold a comment that says so (`# none`), and give --weeks")]
    Empty,
    #[error("it is text in UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE | hustings tune --pauses -")]
    Utf16,
    #[error("it is compressed by gzip; unpack it: zcat FILE | hustings tune --pauses -")]
    Compressed,
    #[error(
        "nothing is understood in its first {lines} lines ({bytes} bytes); give a log of pauses alone, of a kind that \
         `hustings tune --help` lists"
    )]
    SaysNothing { lines: u64, bytes: u64 },
    #[error("line {line} is longer than {LINE_BYTES_MAX} bytes: that is no log of pauses")]
    LineTooLong { line: u64 },
    #[error("line {line}: {text} is no number of milliseconds; comments begin with #")]
    NoNumber { line: u64, text: String },
    #[error(
        "line {line}: {text} is not understood; known are a number of milliseconds a line, a JVM's -Xlog:safepoint, -Xlog:gc* and \
         (of version 8) -XX:+PrintGCApplicationStoppedTime, and interval logs of HdrHistogram or jHiccup"
    )]
    UnknownShape { line: u64, text: String },
    #[error(
        "line {line}: {text}: this log contains no pause, and its settings do not show that pauses were logged; use -Xlog:safepoint \
         (version 8: -XX:+PrintGCApplicationStoppedTime), or -Xlog:gc* for collections alone"
    )]
    NothingShown { line: u64, text: String },
    #[error(
        "line {line}: {what}, and {count} of {timed} pauses overlap an earlier one: this is no log of one process; give one log per \
         process, each as a file of its own"
    )]
    Overlapping { line: u64, what: String, count: u64, timed: u64 },
    #[error(
        "line {line}: {text}: this pause is one of {other}, and none of the {kind} that this log has elsewhere goes with it: the log is \
         of processes that logged different kinds of pauses; cut it in files of one kind, and ask about each kind by itself"
    )]
    MixedKinds { line: u64, text: String, kind: &'static str, other: &'static str },
    #[error(
        "line {line}: its tag is {tag}, and that of the first interval is {first}: this log is of several things; give the intervals \
         of one tag"
    )]
    SecondTag { line: u64, tag: String, first: String },
    #[error("line {line}: {what}: {text}")]
    Damaged { line: u64, what: &'static str, text: String },
}
