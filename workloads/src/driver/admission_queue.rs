//! A semaphore that admits waiters in the order in which they came.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// Admits a bounded number of holders at a time.
pub(super) struct AdmissionQueue {
    free: Cell<u32>,
    /// In the order of their numbers.
    waiting: RefCell<VecDeque<(u64, Waker)>>,
    numbers: Cell<u64>,
}

impl AdmissionQueue {
    pub(super) fn new(free: u32) -> Self {
        Self { free: Cell::new(free.max(1)), waiting: RefCell::default(), numbers: Cell::new(0) }
    }

    /// Waits for a turn. A waiter that gives up delays no other.
    pub(super) async fn enter(&self) -> Admission<'_> {
        let place = WaiterPlace { turns: self, number: self.numbers.replace(self.numbers.get() + 1) };
        std::future::poll_fn(|cx| place.poll(cx)).await;
        Admission(self)
    }

    fn call_first(&self) {
        if let Some((_, waker)) = self.waiting.borrow().front() {
            waker.wake_by_ref();
        }
    }
}

/// A place in the waiting queue.
struct WaiterPlace<'a> {
    turns: &'a AdmissionQueue,
    number: u64,
}

impl WaiterPlace<'_> {
    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut waiting = self.turns.waiting.borrow_mut();
        let free = self.turns.free.get();
        if free > 0 && waiting.front().is_none_or(|(first, _)| *first == self.number) {
            waiting.pop_front();
            self.turns.free.set(free - 1);
            return Poll::Ready(());
        }
        let own = (self.number, cx.waker().clone());
        match waiting.binary_search_by_key(&self.number, |(number, _)| *number) {
            Ok(place) => waiting[place] = own,
            Err(place) => waiting.insert(place, own),
        }
        Poll::Pending
    }
}

impl Drop for WaiterPlace<'_> {
    fn drop(&mut self) {
        let mut waiting = self.turns.waiting.borrow_mut();
        if let Ok(place) = waiting.binary_search_by_key(&self.number, |(number, _)| *number) {
            waiting.remove(place);
            drop(waiting);
            // This waiter may have been woken just now.
            if self.turns.free.get() > 0 {
                self.turns.call_first();
            }
        }
    }
}

/// An admission, held until it is dropped.
pub(super) struct Admission<'a>(&'a AdmissionQueue);

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        self.0.free.set(self.0.free.get() + 1);
        self.0.call_first();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use futures::FutureExt as _;
    use futures::executor::LocalPool;
    use futures::future::{AbortHandle, Abortable};
    use futures::task::LocalSpawnExt as _;

    use super::AdmissionQueue;

    /// Which waiters get in after the current holder has left, if these give up: before that, or once they are woken.
    fn get_in(before: &[usize], when_called: &[usize]) -> Vec<usize> {
        let (turns, entered) = (Rc::new(AdmissionQueue::new(1)), Rc::new(RefCell::new(Vec::new())));
        let inside = turns.enter().now_or_never().expect("nobody is there");
        let mut pool = LocalPool::new();
        let waits = |number| {
            let (turns, entered) = (turns.clone(), entered.clone());
            let (abort, registration) = AbortHandle::new_pair();
            let task = async move {
                let _turn = turns.enter().await;
                entered.borrow_mut().push(number);
            };
            pool.spawner().spawn_local(Abortable::new(task, registration).map(drop)).expect("the pool runs");
            abort
        };
        let aborts: Vec<AbortHandle> = (0..4).map(waits).collect();
        pool.run_until_stalled();
        before.iter().for_each(|number| aborts[*number].abort());
        pool.run_until_stalled();
        drop(inside);
        when_called.iter().for_each(|number| aborts[*number].abort());
        pool.run_until_stalled();
        entered.take()
    }

    #[test]
    fn they_get_in_in_the_order_in_which_they_came() {
        assert_eq!(get_in(&[], &[]), [0, 1, 2, 3]);
    }

    #[test]
    fn whoever_gives_up_holds_nobody_up() {
        assert_eq!(get_in(&[0, 2], &[]), [1, 3]);
        assert_eq!(get_in(&[], &[0, 1]), [2, 3]);
    }
}
