//! A candidate's slot (`seat`) as its recipe sees it: the [`Host`], and the leader's work.

use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use futures::channel::oneshot;
use hustings_record::FencingMethod;

use super::event_sink::Writer;
use super::process::SimProcess;
use super::seat::SimSeat;
use super::session::SimSession;
use super::sim_cell::{SimCell, Withheld};
use super::world::micros;
use crate::coordination::Session as _;
use crate::driver::{self, work};
use crate::host::{Departure, Event, Host, Nanos, Order, Predecessor, Token};

/// The slot as its recipe sees it.
#[derive(Clone)]
pub(super) struct HeldSeat {
    pub(super) sim: Rc<SimCell>,
    pub(super) seat: Rc<SimSeat>,
}

impl HeldSeat {
    /// A write sent at `sent` has arrived at the resource.
    fn written(&self, token: Token, sent: Nanos) {
        if let Some(withheld) = self.sim.hung.borrow_mut().get_mut(&self.seat.host) {
            return withheld.push(Withheld { seat: self.seat.clone(), token, sent });
        }
        self.taken(token, sent);
    }

    /// The resource accepts it.
    pub(super) fn taken(&self, token: Token, sent: Nanos) {
        let (world, seat) = (&self.sim.world, &self.seat);
        let taken = self.sim.state.resource.borrow_mut().write(seat.group as usize, seat.cand, token);
        let times = (Some(sent), world.clock.nanos());
        world.record(Writer::Coordinator, taken.event(times, seat.group, (seat.cand, seat.host), token));
        let own = seat.clone();
        world.clock.host_later(seat.host, world.clock.now() + world.timing.resource_us, move || own.answered());
    }
}

impl Host for HeldSeat {
    fn now(&self) -> Nanos {
        self.sim.world.clock.nanos()
    }

    fn wall_now(&self) -> Nanos {
        self.now().saturating_add_signed(self.seat.wall_ahead.get())
    }

    async fn sleep_until(&self, at: Nanos) {
        self.sim.world.clock.sleep_until(self.seat.host, micros(at)).await;
    }

    fn candidate(&self) -> u32 {
        self.seat.cand
    }

    fn number(&self) -> u16 {
        self.seat.host
    }

    fn draw(&self) -> u64 {
        self.sim.world.draw(u64::MAX)
    }

    fn record(&self, event: Event) {
        let (seat, scheduled) = (&self.seat, self.sim.schedule.is_some());
        match &event {
            Event::Joined { node, .. } if scheduled => _ = seat.node.replace(node.clone()),
            Event::Grant { node, .. } if scheduled => _ = seat.node.replace(Some(node.clone())),
            _ => {}
        }
        let joined = matches!(event, Event::Joined { .. });
        self.sim.world.record(Writer::Host(seat.host), event);
        if joined {
            self.sim.stands(seat, true);
        }
    }

    fn believe(&self, token: Option<Token>) {
        let seat = &self.seat;
        let change = seat.belief.get().1 + 1;
        seat.belief.set((token, change));
        self.sim.state.leaders.borrow_mut().believe(seat.cand, token);
        self.sim.changes.tell();
        if let Some(token) = token {
            seat.terms.set(seat.terms.get() + 1);
            self.sim.leads(seat.cand, seat.terms.get());
            let own = self.clone();
            self.sim.world.spawn(async move { work(&own, token, change).await });
        }
    }

    async fn work_done(&self) {
        std::future::poll_fn(|cx| {
            if !self.seat.writing.get() {
                return Poll::Ready(());
            }
            self.seat.done_waker.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    async fn fence(&self, old: &Predecessor, _: Token) -> Result<(), String> {
        let (seat, world) = (&self.seat, &self.sim.world);
        world.clock.sleep_until(seat.host, world.clock.now() + world.timing.resource_us).await;
        let (how, done) = match self.sim.state.cell.fencing {
            FencingMethod::None => (FencingMethod::None, false),
            FencingMethod::Resource => {
                self.sim.state.resource.borrow_mut().bar(seat.group as usize, old.token);
                (FencingMethod::Resource, true)
            }
            // A host cannot survive its own fencing.
            FencingMethod::Kill if old.host == seat.host => (FencingMethod::None, false),
            FencingMethod::Kill => {
                self.sim.fell(old);
                (FencingMethod::Kill, false)
            }
        };
        let (t, group, by) = (world.clock.nanos(), seat.group, seat.cand);
        let Token { czxid: old_czxid, session: old_session } = old.token;
        world.record(Writer::Coordinator, Event::Fence { t, group, by, old_czxid, old_session, how, done });
        world.clock.sleep_until(seat.host, world.clock.now() + world.timing.resource_us).await;
        Ok(())
    }

    async fn won(&self) {
        let (seat, world) = (&self.seat, &self.sim.world);
        let (hold, go_on) = oneshot::channel();
        {
            let mut sync_point = self.sim.sync_point.borrow_mut();
            let Some(sync_point) = sync_point.as_mut().filter(|sync_point| sync_point.hosts.contains(&seat.host))
            else {
                return;
            };
            let Some(tell) = sync_point.sprung.take() else { return };
            sync_point.held = Some(hold);
            // The receiver is gone if its time was over.
            let _ = tell.send(seat.host);
        }
        // A drop of the sender also releases it.
        let _ = go_on.await;
        // A process that is stopped in the meantime goes on when it is continued.
        world.clock.sleep_until(seat.host, world.clock.now()).await;
    }

    async fn order(&self) -> Order {
        std::future::poll_fn(|cx| {
            if self.seat.stopping.get() {
                return Poll::Ready(Order::Stop);
            }
            if let Some(left) = self.seat.orders.get().checked_sub(1) {
                self.seat.orders.set(left);
                return Poll::Ready(Order::Resign);
            }
            self.seat.order_waker.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await
    }
}

impl driver::Seat for HeldSeat {
    type Process = SimProcess;

    fn begins(&self, session: &SimSession) {
        self.seat.client.set(Some(session.client()));
        self.seat.session.set(session.id());
    }

    fn left(&self, departure: &Departure) {
        self.sim.stands(&self.seat, false);
        if let Some(waits) = self.seat.resigning.take() {
            // The receiver is gone if the fault has given up waiting.
            let _ = waits.send(departure.resignation());
        }
    }

    fn rejoin_after(&self) -> Duration {
        Duration::from_millis(self.sim.state.cell.rejoin_after_ms)
    }

    fn believes(&self, change: u64) -> bool {
        !self.seat.dead.get() && self.seat.belief.get().1 == change
    }

    fn write(&self, token: Token) {
        let (seat, world) = (&self.seat, &self.sim.world);
        if !seat.writing.replace(true) {
            let (own, sent) = (self.clone(), world.clock.nanos());
            let at = world.clock.now() + world.timing.resource_us + seat.writes_late_us.get();
            world.clock.later(at, move || own.written(token, sent));
        }
    }

    fn work_interval(&self) -> Duration {
        Duration::from_millis(self.sim.state.cell.work_interval_ms.max(1))
    }
}
