//! A candidate's slot as its recipe sees it: the [`Host`], and the leader's work.

use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use futures::channel::oneshot;
use hustings_record::FencingMethod;

use super::event_sink::Writer;
use super::process::SimProcess;
use super::session::SimSession;
use super::sim_cell::{SimCell, WithheldWrite};
use super::slot::SimSlot;
use super::world::micros;
use crate::coordination::Session as _;
use crate::driver::{self, work};
use crate::host::{Departure, Event, Host, Nanos, Order, Predecessor, Token};

/// The slot as its recipe sees it.
#[derive(Clone)]
pub(super) struct RecipeSlot {
    pub(super) sim: Rc<SimCell>,
    pub(super) slot: Rc<SimSlot>,
}

impl RecipeSlot {
    /// A write sent at `sent` has arrived at the resource.
    fn written(&self, token: Token, sent: Nanos) {
        if let Some(withheld) = self.sim.hung.borrow_mut().get_mut(&self.slot.host) {
            return withheld.push(WithheldWrite { slot: self.slot.clone(), token, sent });
        }
        self.taken(token, sent);
    }

    /// The resource accepts it.
    pub(super) fn taken(&self, token: Token, sent: Nanos) {
        let (world, slot) = (&self.sim.world, &self.slot);
        let taken = self.sim.state.resource.borrow_mut().write(slot.group as usize, slot.cand, token);
        let times = (Some(sent), world.clock.nanos());
        world.record(Writer::Coordinator, taken.event(times, slot.group, (slot.cand, slot.host), token));
        let own = slot.clone();
        world.clock.host_later(slot.host, world.clock.now() + world.timing.resource_us, move || own.answered());
    }
}

impl Host for RecipeSlot {
    fn now(&self) -> Nanos {
        self.sim.world.clock.nanos()
    }

    fn wall_now(&self) -> Nanos {
        self.now().saturating_add_signed(self.slot.wall_ahead.get())
    }

    async fn sleep_until(&self, at: Nanos) {
        self.sim.world.clock.sleep_until(self.slot.host, micros(at)).await;
    }

    fn candidate(&self) -> u32 {
        self.slot.cand
    }

    fn number(&self) -> u16 {
        self.slot.host
    }

    fn draw(&self) -> u64 {
        self.sim.world.draw(u64::MAX)
    }

    fn record(&self, event: Event) {
        let (slot, scheduled) = (&self.slot, self.sim.schedule.is_some());
        match &event {
            Event::Joined { node, .. } if scheduled => _ = slot.node.replace(node.clone()),
            Event::Grant { node, .. } if scheduled => _ = slot.node.replace(Some(node.clone())),
            _ => {}
        }
        let joined = matches!(event, Event::Joined { .. });
        self.sim.world.record(Writer::Host(slot.host), event);
        if joined {
            self.sim.stands(slot, true);
        }
    }

    fn believe(&self, token: Option<Token>) {
        let slot = &self.slot;
        let change = slot.belief.get().1 + 1;
        slot.belief.set((token, change));
        self.sim.state.leaders.borrow_mut().believe(slot.cand, token);
        self.sim.changes.tell();
        if let Some(token) = token {
            slot.terms.set(slot.terms.get() + 1);
            self.sim.leads(slot.cand, slot.terms.get());
            let own = self.clone();
            self.sim.world.spawn(async move { work(&own, token, change).await });
        }
    }

    async fn work_done(&self) {
        std::future::poll_fn(|cx| {
            if !self.slot.writing.get() {
                return Poll::Ready(());
            }
            self.slot.done_waker.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    async fn fence(&self, old: &Predecessor, _: Token) -> Result<(), String> {
        let (slot, world) = (&self.slot, &self.sim.world);
        world.clock.sleep_until(slot.host, world.clock.now() + world.timing.resource_us).await;
        let (how, done) = match self.sim.state.cell.fencing {
            FencingMethod::None => (FencingMethod::None, false),
            FencingMethod::Resource => {
                self.sim.state.resource.borrow_mut().bar(slot.group as usize, old.token);
                (FencingMethod::Resource, true)
            }
            // A host cannot survive its own fencing.
            FencingMethod::Kill if old.host == slot.host => (FencingMethod::None, false),
            FencingMethod::Kill => {
                self.sim.fell(old);
                (FencingMethod::Kill, false)
            }
        };
        let (t, group, by) = (world.clock.nanos(), slot.group, slot.cand);
        let Token { czxid: old_czxid, session: old_session } = old.token;
        world.record(Writer::Coordinator, Event::Fence { t, group, by, old_czxid, old_session, how, done });
        world.clock.sleep_until(slot.host, world.clock.now() + world.timing.resource_us).await;
        Ok(())
    }

    async fn won(&self) {
        let (slot, world) = (&self.slot, &self.sim.world);
        let (hold, go_on) = oneshot::channel();
        {
            let mut sync_point = self.sim.sync_point.borrow_mut();
            let Some(sync_point) = sync_point.as_mut().filter(|sync_point| sync_point.hosts.contains(&slot.host))
            else {
                return;
            };
            let Some(tell) = sync_point.triggered.take() else { return };
            sync_point.held = Some(hold);
            // The receiver is gone if its time was over.
            let _ = tell.send(slot.host);
        }
        // A drop of the sender also releases it.
        let _ = go_on.await;
        // A process that is stopped in the meantime goes on when it is continued.
        world.clock.sleep_until(slot.host, world.clock.now()).await;
    }

    async fn order(&self) -> Order {
        std::future::poll_fn(|cx| {
            if self.slot.stopping.get() {
                return Poll::Ready(Order::Stop);
            }
            if let Some(left) = self.slot.orders.get().checked_sub(1) {
                self.slot.orders.set(left);
                return Poll::Ready(Order::Resign);
            }
            self.slot.order_waker.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await
    }
}

impl driver::Slot for RecipeSlot {
    type Process = SimProcess;

    fn begins(&self, session: &SimSession) {
        self.slot.client.set(Some(session.client()));
        self.slot.session.set(session.id());
    }

    fn left(&self, departure: &Departure) {
        self.sim.stands(&self.slot, false);
        if let Some(waits) = self.slot.resigning.take() {
            // The receiver is gone if the fault has given up waiting.
            let _ = waits.send(departure.resignation());
        }
    }

    fn rejoin_after(&self) -> Duration {
        Duration::from_millis(self.sim.state.cell.rejoin_after_ms)
    }

    fn believes(&self, change: u64) -> bool {
        !self.slot.dead.get() && self.slot.belief.get().1 == change
    }

    fn write(&self, token: Token) {
        let (slot, world) = (&self.slot, &self.sim.world);
        if !slot.writing.replace(true) {
            let (own, sent) = (self.clone(), world.clock.nanos());
            let at = world.clock.now() + world.timing.resource_us + slot.writes_late_us.get();
            world.clock.later(at, move || own.written(token, sent));
        }
    }

    fn work_interval(&self) -> Duration {
        Duration::from_millis(self.sim.state.cell.work_interval_ms.max(1))
    }
}
