//! One simulated cell from set-up to tear-down, in the phases of a real one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use futures::executor::LocalPool;
use futures::future::{AbortHandle, join_all};
use futures::stream::{self, StreamExt as _};

use super::client::Owner;
use super::owners::Owners;
use super::script::{Step, What, When};
use super::seat::Seat;
use super::session::SimSession;
use super::stage::{HostStage, Stage};
use super::timing::Timing;
use super::traps::Trap;
use super::witness::{By, Phase, Saw, Witness};
use super::world::{Due, NOWHERE, World, sleep_until};
use super::write_probe::WriteProbe;
use crate::coordination::{CreateMode, OpError, Session as _, Watch as _};
use crate::leaders::Leaders;
use crate::model::{Bugs, Micros, Options};
use crate::plan::plan;
use crate::scenario::{Cell as Parameters, ROOT, placement};
use crate::seed;

/// The coordinator's own session must outlive every fault.
const ADMIN_TIMEOUT_MS: u64 = 600_000;
/// Znodes that the coordinator creates at a time.
const CREATES_AT_ONCE: usize = 64;
/// Nothing is begun or ended this close to a look at the servers' counters.
const QUIET_US: Micros = 300_000;
/// No schedule lasts longer.
const SCHEDULE_MAX_US: Micros = 3_600_000_000;
const FLOOR_SAMPLES: u32 = 20;
/// After the last step of a schedule its consequences are waited for as long as this many session timeouts.
const AFTERMATH_T: u64 = 3;

/// What is to be simulated.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub cell: Parameters,
    pub seed: u64,
    pub timing: Timing,
    pub bugs: Bugs,
    pub what: Course,
}

/// What happens to the candidates.
#[derive(Clone, Debug, PartialEq)]
pub enum Course {
    /// The faults of the cell, as planned by the seed.
    Planned,
    /// A schedule instead of them. Candidates join one after the other.
    Scheduled(Vec<Step>),
}

/// What came of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Things that happened in the simulated world.
    pub events: u64,
    /// The time there when it ended.
    pub end: Micros,
    /// It came to its end. Otherwise something in it waited for ever, which would be an error of the simulation.
    pub in_order: bool,
}

/// Simulates one cell; the witness is told all that happens. The same arguments give the same tale.
pub fn simulate(simulation: &Simulation, witness: Rc<dyn Witness>) -> Ran {
    let Simulation { cell, seed, timing, bugs, .. } = simulation;
    let mut pool = LocalPool::new();
    let rng = seed::rng(*seed, &cell.name, "simulation");
    let world = World::new(options(cell, *seed, *bugs), timing.clone(), cell.hosts, rng, witness, pool.spawner());
    let stage = set_stage(simulation, &world);
    let done = Rc::new(Cell::new(false));
    let coordinator = coordinate(stage.clone(), simulation.clone());
    let finished = done.clone();
    world.spawn(async move {
        coordinator.await;
        finished.set(true);
    });
    // Far beyond what the phases may take together.
    let measure_ms = if simulation.what == Course::Planned { plan(cell, *seed).measure_ms } else { 0 };
    let at_most = SCHEDULE_MAX_US + 10_000 * (cell.phases.enrol_max_ms + measure_ms + cell.phases.drain_max_ms);
    loop {
        pool.run_until_stalled();
        if done.get() || world.now() > at_most || !world.step() {
            break;
        }
    }
    let ran = Ran { events: world.happened.get(), end: world.now(), in_order: done.get() };
    stage.seats.borrow_mut().clear();
    stage.aborts.borrow_mut().clear();
    // Tasks let go of their sessions while the world is still there.
    drop(pool);
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

fn set_stage(simulation: &Simulation, world: &Rc<World>) -> Rc<Stage> {
    let Simulation { cell, seed, what, .. } = simulation;
    let placed = match what {
        Course::Planned => placement(cell, *seed),
        Course::Scheduled(_) => (0..cell.candidates() as u32)
            .map(|cand| (cand / cell.candidates_per_group.max(1), (cand % u32::from(cell.hosts.max(1))) as u16))
            .collect(),
    };
    let paths: Vec<String> = cell.group_names.iter().map(|group| format!("{ROOT}/{group}")).collect();
    let elections = (0..cell.groups).map(|group| Rc::new(cell.election(group, false))).collect();
    let stage = Rc::new(Stage {
        world: world.clone(),
        cell: cell.clone(),
        leaders: RefCell::new(Leaders::new(cell.groups as usize, placed)),
        resource: RefCell::new(crate::resource::Resource::new(cell.groups as usize)),
        owners: RefCell::new(Owners::new(&paths, cell.recipe.is_lock())),
        elections,
        seats: RefCell::default(),
        aborts: RefCell::default(),
        hosts: (0..cell.hosts).map(|_| HostStage::new(cell.connect_concurrency)).collect(),
        standing: Cell::new(0),
        living: Cell::new(0),
        watcher: RefCell::default(),
        injured: RefCell::default(),
        injured_servers: RefCell::default(),
        faults: Cell::new(0),
        on_leading: RefCell::default(),
        admin: Cell::new(0),
    });
    world.set_stage(&stage);
    let placed: Vec<(u32, u16)> = stage.leaders.borrow().placement().to_vec();
    let seats = placed.iter().zip(0..).map(|((group, host), cand)| Seat::new(stage.clone(), cand, *group, *host));
    let seats: Vec<Rc<Seat>> = seats.collect();
    stage.seats.replace(seats);
    let aborts = placed.iter().map(|_| AbortHandle::new_pair().0).collect();
    stage.aborts.replace(aborts);
    stage
}

async fn coordinate(stage: Rc<Stage>, simulation: Simulation) {
    let world = stage.world.clone();
    phase(&world, Phase::SetUp);
    for server in 0..simulation.cell.servers as usize {
        world.start_server(server);
    }
    world.plan(world.tick_us / 2, Due::HandOver);
    let Some(admin) = SimSession::connect(&world, Owner::NOBODY, ADMIN_TIMEOUT_MS).await else {
        return note(&world, "the servers gave no session");
    };
    stage.admin.set(admin.client());
    if let Err(error) = lay_out(&admin, &simulation.cell).await {
        return note(&world, &format!("the elections could not be created: {error}"));
    }
    let writes = simulation.cell.watch_ms.map(|_| {
        world.watch_servers();
        WriteProbe::begin(&world)
    });
    phase(&world, Phase::Enrol);
    if let Course::Scheduled(steps) = &simulation.what {
        lay_traps(&stage, steps, false);
    }
    if enrol(&stage, &simulation).await {
        measure(&stage, &simulation).await;
    }
    tear_down(&stage);
    if let Some(writes) = writes {
        writes.end();
        world.unwatch_servers();
    }
    phase(&world, Phase::End);
    drop(admin);
}

fn phase(world: &World, phase: Phase) {
    world.saw(By::Coordinator, Saw::Phase(phase));
}

fn note(world: &World, text: &str) {
    world.saw(By::Coordinator, Saw::Note { cand: None, text: text.to_owned() });
}

async fn lay_out(admin: &SimSession, cell: &Parameters) -> Result<(), OpError> {
    admin.create(ROOT, b"", CreateMode::Persistent).await?;
    let creates = cell.group_names.iter().map(|group| async move {
        admin.create(&format!("{ROOT}/{group}"), b"", CreateMode::Persistent).await.map(drop)
    });
    let mut creates = stream::iter(creates).buffer_unordered(CREATES_AT_ONCE);
    while let Some(created) = creates.next().await {
        created?;
    }
    Ok(())
}

/// Lets everybody stand, and waits until every group is led. False: it did not come to that.
async fn enrol(stage: &Rc<Stage>, simulation: &Simulation) -> bool {
    let (world, cell) = (&stage.world, &simulation.cell);
    let until = world.now() + cell.phases.enrol_max_ms * 1_000;
    (0..cell.hosts).for_each(|host| stage.start_host(host));
    for cand in 0..cell.candidates() as u32 {
        stage.enrol(cand);
        if matches!(simulation.what, Course::Scheduled(_)) {
            let stands = |stage: &Stage| stage.standing.get() > u64::from(cand);
            within(stage, until, stands).await;
        }
    }
    let settled = within(stage, until, Stage::settled).await;
    if !settled {
        let led = stage.leaders.borrow().led();
        let text = format!("only {} candidates stand and {led} groups are led", stage.standing.get());
        note(world, &text);
    }
    settled
}

/// Waits until the condition holds, or until that time. Gives whether it holds.
async fn within(stage: &Rc<Stage>, until: Micros, holds: impl Fn(&Stage) -> bool) -> bool {
    let world = &stage.world;
    world.later(until, |world| {
        if let Some(stage) = world.stage() {
            stage.touch();
        }
    });
    stage.until(|stage| holds(stage) || stage.world.now() >= until).await;
    holds(stage)
}

async fn measure(stage: &Rc<Stage>, simulation: &Simulation) {
    let (world, cell) = (&stage.world, &simulation.cell);
    phase(world, Phase::WarmUp);
    let warm = world.now() + cell.phases.warm_up_ms * 1_000;
    // A schedule may have felled anybody by now.
    if simulation.what == Course::Planned {
        floor(stage).await;
    }
    sleep_until(world, NOWHERE, warm).await;
    servers(world, "begin");
    sleep_until(world, NOWHERE, world.now() + QUIET_US).await;
    phase(world, Phase::Measure);
    let begin = world.now();
    let end = match &simulation.what {
        Course::Planned => {
            let planned = plan(cell, simulation.seed);
            let end = begin + planned.measure_ms * 1_000;
            let faults = planned.faults.into_iter().map(|fault| {
                let at = begin + fault.at_ms * 1_000;
                stage.clone().carry_out(fault, simulation.seed, at, end)
            });
            join_all(faults).await;
            end
        }
        Course::Scheduled(steps) => begin + follow(stage, steps) + AFTERMATH_T * cell.timeout_granted_ms() * 1_000,
    };
    sleep_until(world, NOWHERE, end).await;
    phase(world, Phase::Heal);
    phase(world, Phase::Drain);
    let (least, most) = (world.now() + cell.phases.drain_ms * 1_000, world.now() + cell.phases.drain_max_ms * 1_000);
    sleep_until(world, NOWHERE, least).await;
    if !within(stage, most, Stage::settled).await {
        note(world, "the drain ended before every candidate stood and every group was led");
    }
    servers(world, "end");
    sleep_until(world, NOWHERE, world.now() + QUIET_US).await;
}

/// Begins a schedule. Gives how long its own steps take at most, as far as that is known.
fn follow(stage: &Rc<Stage>, steps: &[Step]) -> Micros {
    let world = &stage.world;
    lay_traps(stage, steps, true);
    let mut last = 0;
    for step in steps {
        let lasts_ms = match step.what {
            What::Partition { for_ms, .. } | What::Pause { for_ms, .. } => for_ms,
            What::Crash { for_ms, .. } => for_ms.unwrap_or(0),
            What::DelayRequest(ms) | What::DelayReply(ms) => ms,
            _ => 0,
        };
        let at_ms = match step.when {
            When::At(ms) => {
                let what = step.what;
                world.later(world.now() + ms * 1_000, move |world| world.do_to(what));
                ms
            }
            When::Sent { after_ms, .. } => after_ms.unwrap_or(0),
            When::Leads { .. } => 0,
        };
        last = last.max((at_ms + lasts_ms) * 1_000);
    }
    last
}

/// Lays what waits for requests or terms: those from the start on, or those that count from now on.
fn lay_traps(stage: &Rc<Stage>, steps: &[Step], measuring: bool) {
    let now = stage.world.now();
    for step in steps {
        match step.when {
            When::Sent { cand, kind, part, nth, after_ms } if after_ms.is_some() == measuring => {
                let from = now + after_ms.unwrap_or(0) * 1_000;
                let trap = Trap { cand, kind, part: part.to_owned(), left: nth, from, what: step.what };
                stage.world.traps.borrow_mut().laid.push(trap);
            }
            When::Leads { cand, nth } if !measuring => {
                stage.on_leading.borrow_mut().entry((cand, nth)).or_default().push(step.what);
            }
            _ => {}
        }
    }
}

fn servers(world: &World, at: &'static str) {
    let metrics: BTreeMap<_, _> = world.metrics();
    world.saw(By::Coordinator, Saw::Servers { at, metrics });
}

/// What delete → notified → listed takes without any election around it: the first host is told, the last one deletes.
async fn floor(stage: &Rc<Stage>) {
    let (world, cell) = (&stage.world, &stage.cell);
    if cell.groups == 0 || cell.hosts == 0 {
        return;
    }
    let timeout_ms = cell.session_timeout_ms;
    let on = |host| Owner { host, ..Owner::NOBODY };
    let Some(told) = SimSession::connect(world, on(0), timeout_ms).await else { return };
    let Some(deletes) = SimSession::connect(world, on(cell.hosts - 1), timeout_ms).await else { return };
    let listed = format!("{ROOT}/{}", cell.group_names[0]);
    for sample in 0..FLOOR_SAMPLES {
        if let Err(error) = one_sample(world, &told, &deletes, sample, &listed).await {
            note(world, &format!("the floor could not be measured: {error}"));
            break;
        }
    }
}

async fn one_sample(
    world: &World,
    told: &SimSession,
    deletes: &SimSession,
    sample: u32,
    listed: &str,
) -> Result<(), OpError> {
    let path = format!("/floor-{sample}");
    told.create(&path, b"", CreateMode::Ephemeral).await?;
    let (_, _, mut watch) = told.get_and_watch(&path).await?;
    deletes.sync(&path).await?;
    let deleted = world.now() * 1_000;
    let gone = deletes.delete(&path, None);
    let heard = async {
        watch.fired().await;
        let notified = world.now() * 1_000;
        told.children(listed).await.map(|_| (notified, world.now() * 1_000))
    };
    let (gone, heard) = futures::future::join(gone, heard).await;
    gone?;
    let (notified, listed) = heard?;
    world.saw(By::Coordinator, Saw::Floor { deleted, notified, listed });
    Ok(())
}

/// Nobody is stopped: a simulated world leaves nothing behind that somebody would have to take away. What stood and led
/// stands and leads where the record ends.
fn tear_down(stage: &Stage) {
    let world = &stage.world;
    phase(world, Phase::TearDown);
    for host in 0..stage.cell.hosts {
        let alive = world.hosts.borrow()[usize::from(host)].alive;
        if alive {
            let life = stage.hosts[usize::from(host)].life.get();
            world.saw(By::Host(host), Saw::HostEnded { host, life, killed: false });
        }
    }
}
