//! Where the events of a simulation are written: it keeps none of its own.

use hustings_record::Event;

/// Takes events in the order in which they happen. A host's segment begins with its `HostStarted`.
pub trait EventSink {
    fn record(&self, writer: Writer, event: Event);
}

/// Keeps nothing.
impl EventSink for () {
    fn record(&self, _: Writer, _: Event) {}
}

/// Whose segment of the record an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    Coordinator,
    Observer,
    Host(u16),
}
