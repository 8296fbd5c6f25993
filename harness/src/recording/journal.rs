//! Writes a segment from one process: events in order, beliefs at once, other events within 20 ms.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use hustings_record::{Event, SCHEMA, SegmentWriter};
use tokio::sync::Notify;

use crate::files::write_error::WriteError;
use crate::process::clock;

/// Maximum time before an event is passed to the kernel.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);

/// A segment to which many tasks of one thread write.
#[derive(Clone)]
pub struct Journal(Rc<JournalState>);

struct JournalState {
    path: PathBuf,
    writer: RefCell<SegmentWriter>,
    /// The last event has been written.
    ended: Cell<bool>,
    /// Why a write failed. Nothing is written afterwards, because data after a torn block is unreadable.
    failure: RefCell<Option<String>>,
    failed: Notify,
}

/// The owner of a segment.
pub struct SegmentOwner<'a> {
    pub cell: u32,
    pub writer: &'a str,
    pub host: Option<u16>,
    pub generation: u32,
}

impl Journal {
    /// Creates the segment and writes its first event through to the kernel.
    pub fn create(path: &Path, owner: &SegmentOwner<'_>) -> Result<Self, WriteError> {
        Self::begin(path, owner).map_err(WriteError::record(path))
    }

    fn begin(path: &Path, owner: &SegmentOwner<'_>) -> std::io::Result<Self> {
        let mut writer = SegmentWriter::create(path)?;
        writer.push(&Event::Segment {
            schema: SCHEMA,
            t: clock::now(),
            cell: owner.cell,
            writer: owner.writer.to_owned(),
            host: owner.host,
            generation: owner.generation,
            pid: std::process::id(),
            clock_uncertainty_ns: clock::uncertainty(),
        })?;
        writer.flush()?;
        Ok(Self(Rc::new(JournalState {
            path: path.to_owned(),
            writer: RefCell::new(writer),
            ended: Cell::new(false),
            failure: RefCell::default(),
            failed: Notify::new(),
        })))
    }

    /// Adds an event. A written-through event has reached the kernel when this returns, others do within the flush
    /// interval. Events after the last event are dropped, though tasks run until the process exits. So are events after
    /// a failure: data after a torn block is unreadable, and unwritable data must not accumulate.
    pub fn push(&self, event: &Event) {
        self.attempt(|writer| {
            writer.push(event)?;
            if event.is_written_through() { writer.flush() } else { Ok(()) }
        });
    }

    /// Flushes until it is dropped. Runs concurrently with the tasks that push.
    pub async fn flush_forever(self) {
        loop {
            tokio::time::sleep(FLUSH_INTERVAL).await;
            self.flush();
        }
    }

    pub fn flush(&self) {
        self.attempt(SegmentWriter::flush);
    }

    /// Writes the last event. Returns the first failure, if any: the segment is then unreliable.
    pub fn end(&self) -> Result<(), String> {
        self.push(&Event::End { t: clock::now() });
        self.0.ended.set(true);
        self.failure().map_or(Ok(()), Err)
    }

    /// The reason why the segment can no longer be written, if any.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.0.failure.borrow().clone()
    }

    /// Waits for the first failure.
    pub async fn failed(&self) -> String {
        loop {
            let notified = self.0.failed.notified();
            if let Some(failure) = self.failure() {
                return failure;
            }
            notified.await;
        }
    }

    /// Marks the segment as failed. The first reason is kept, and nothing more is written.
    pub fn fail(&self, why: &str) {
        self.0.failure.borrow_mut().get_or_insert_with(|| why.to_owned());
        self.0.failed.notify_waiters();
    }

    fn attempt(&self, write: impl FnOnce(&mut SegmentWriter) -> std::io::Result<()>) {
        if self.0.ended.get() || self.0.failure.borrow().is_some() {
            return;
        }
        let written = write(&mut self.0.writer.borrow_mut());
        if let Err(cause) = written {
            self.fail(&WriteError::record(&self.0.path)(cause).to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use hustings_record::{Event, read_segment};

    use super::{Journal, SegmentOwner};

    #[test]
    fn nothing_is_written_after_the_last_event() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("one.jsonl");
        let journal = Journal::create(&path, &SegmentOwner { cell: 0, writer: "one", host: None, generation: 0 })
            .expect("created");
        assert_eq!(journal.end(), Ok(()));
        journal.push(&Event::Stall { from: 1, to: 2, program: false, ran_ns: 0 });
        journal.flush();
        let (events, torn) = read_segment(&path).expect("whole blocks");
        assert!(matches!(events.last(), Some(Event::End { .. })), "{events:?}");
        assert_eq!(torn, None);
    }

    #[tokio::test]
    async fn nothing_is_written_after_a_failure_and_its_reason_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("one.jsonl");
        let journal = Journal::create(&path, &SegmentOwner { cell: 0, writer: "one", host: None, generation: 0 })
            .expect("created");
        journal.push(&Event::End { t: 1 });
        journal.fail("the disk is full");
        journal.fail("and the cellar too");
        journal.push(&Event::End { t: 2 });
        assert_eq!(journal.failed().await, "the disk is full");
        assert_eq!(journal.end(), Err("the disk is full".to_owned()));
        let (events, torn) = read_segment(&path).expect("whole blocks");
        assert_eq!((events.last(), torn), (Some(&Event::End { t: 1 }), None));
    }
}
