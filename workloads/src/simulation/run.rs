//! One simulated cell from set-up to tear-down, in the phases of a real one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::executor::LocalPool;
use hustings_record::Nanos;

use super::event_sink::{EventSink, Writer};
use super::hosts::sessions;
use super::sim_cell::{SimCell, SimHost};
use super::slot::SimSlot;
use super::timing::Timing;
use super::world::{Owners, SimWorld};
use crate::driver::{self, State};
use crate::model::{Bugs, Micros, Options};
use crate::plan::plan;
use crate::recipes::RecipeKind;
use crate::scenario::{Cell as Parameters, ROOT, placement};
use crate::schedule::Step;
use crate::seed;

/// The coordinator's own session must outlive every fault.
pub(super) const ADMIN_TIMEOUT_MS: u64 = 600_000;
/// Bound on the duration of a schedule.
const SCHEDULE_MAX_US: Micros = 3_600_000_000;

/// The parameters of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub cell: Parameters,
    pub seed: u64,
    pub timing: Timing,
    pub bugs: Bugs,
    /// A schedule instead of the faults that the cell plans by its seed; candidates then join one after the other.
    pub schedule: Option<Vec<Step>>,
}

impl Simulation {
    /// A cell with the faults that it plans, and the usual times, on servers without a bug.
    #[must_use]
    pub fn of(cell: Parameters, seed: u64) -> Self {
        Self { cell, seed, timing: Timing::default(), bugs: Bugs::default(), schedule: None }
    }
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationResult {
    /// Number of events in the simulated world.
    pub events: u64,
    /// The time of its clocks at the end.
    pub end: Nanos,
    /// Whether it finished. If not, something in it waited forever, which is an error of the simulation.
    pub in_order: bool,
}

/// Simulates one cell; the sink takes all events. The same arguments give the same events.
pub fn simulate(simulation: &Simulation, sink: Rc<dyn EventSink>) -> SimulationResult {
    let Simulation { cell, seed, timing, bugs, .. } = simulation;
    // An external program has no virtual time.
    let Some(recipe) = cell.recipe.own() else { return SimulationResult { events: 0, end: 0, in_order: false } };
    let mut pool = LocalPool::new();
    let rng = seed::rng(*seed, &cell.name, "simulation");
    let paths = cell.group_names.iter().map(|group| format!("{ROOT}/{group}")).collect();
    let owners = Owners::new(paths, recipe.is_lock());
    let options = options(cell, *seed, *bugs);
    let world = SimWorld::new(options, timing.clone(), cell.hosts, owners, rng, sink, pool.spawner());
    let sim = set_up(simulation, recipe, &world);
    let done = Rc::new(Cell::new(false));
    let coordinator = coordinate(sim.clone());
    let finished = done.clone();
    world.spawn(async move {
        coordinator.await;
        finished.set(true);
    });
    // Far beyond the total duration of the phases.
    let measure_ms = if simulation.schedule.is_none() { plan(cell, *seed).measure_ms } else { 0 };
    let at_most = SCHEDULE_MAX_US + 10_000 * (cell.phases.enrol_max_ms + measure_ms + cell.phases.drain_max_ms);
    loop {
        pool.run_until_stalled();
        if done.get() || world.clock.now() > at_most || !world.step() {
            break;
        }
    }
    let ran = SimulationResult { events: world.clock.happened(), end: world.clock.nanos(), in_order: done.get() };
    // Tasks and hosts drop their sessions while the world still exists.
    drop((pool, sim));
    world.end();
    ran
}

fn options(cell: &Parameters, seed: u64, bugs: Bugs) -> Options {
    Options {
        servers: cell.servers as usize,
        tick_ms: cell.tick_ms,
        timeout_min_ms: 2 * cell.tick_ms,
        timeout_max_ms: (20 * cell.tick_ms).max(ADMIN_TIMEOUT_MS),
        sync_limit: cell.sync_limit_ms() / cell.tick_ms.max(1),
        bugs,
        tell_changes: true,
        seed,
        ..Options::default()
    }
}

fn set_up(simulation: &Simulation, recipe: RecipeKind, world: &Rc<SimWorld>) -> Rc<SimCell> {
    let Simulation { cell, seed, schedule, .. } = simulation;
    let placed: Vec<(u32, u16)> = match schedule {
        None => placement(cell, *seed),
        Some(_) => {
            let members = |group: u32| std::iter::repeat_n(group, cell.candidates_per_group as usize);
            (0..cell.groups).flat_map(members).zip((0..cell.hosts.max(1)).cycle()).collect()
        }
    };
    let slots = placed.iter().zip(0..).map(|(&(group, host), cand)| SimSlot::new(cand, group, host)).collect();
    let host = |host| SimHost { generation: Cell::new(0), sessions: RefCell::new(sessions(world, cell, host)) };
    Rc::new(SimCell {
        world: world.clone(),
        state: State::new(Rc::new(cell.clone()), *seed, placed),
        schedule: schedule.clone(),
        elections: (0..cell.groups).map(|group| cell.election(group, recipe, false)).collect(),
        slots: RefCell::new(slots),
        hosts: (0..cell.hosts).map(host).collect(),
        standing: Cell::new(0),
        living: Cell::new(0),
        changes: Rc::default(),
        alarm: Cell::new(0),
        on_leading: RefCell::default(),
        sync_point: RefCell::default(),
        hung: RefCell::default(),
        admin: RefCell::default(),
    })
}

async fn coordinate(sim: Rc<SimCell>) {
    if let Err(why) = driver::run(&sim).await {
        sim.world.note(Writer::Coordinator, None, &why);
    }
    sim.admin.take();
}
