//! Where a simulation writes its events: it stores none itself.

use hustings_record::Event;

/// Takes events in the order in which they occur. A host's segment begins with its `HostStarted`.
pub trait EventSink {
    fn record(&self, writer: Writer, event: Event);
}

/// Discards all events.
impl EventSink for () {
    fn record(&self, _: Writer, _: Event) {}
}

/// The segment of the record that an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    Coordinator,
    Observer,
    Host(u16),
}
