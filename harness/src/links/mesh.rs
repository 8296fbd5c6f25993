//! Links between servers, in an embedded proxy of their own: one per direction and port between each pair of servers.
//! They can be held and released. The proxy's counters show that no bytes pass while they are held.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use hustings_record::Direction;

use crate::process::clock;
use crate::recording::archive::AddSegment;

use super::actions;
use super::caller::Caller;
use super::control::Control;
use super::driver::CALL_LIMIT;
use super::error::LinkError;
use super::fleet::Fleet;
use super::layout::Link;
use super::toxics::{self, Toxic};

/// How long a refused follower retries its new leader (five times, 100 ms apart). A link cannot refuse, so it retries
/// instead. A follower whose connection closes would look for another leader at once.
const PATIENCE_MS: u32 = 400;
/// Time for which the counters of held links are watched.
const WATCHED: Duration = Duration::from_millis(150);

/// Name of its proxies' segments.
const WRITER: &str = "quorum-proxy";

/// From one server to a port of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerLink {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Whether it leads to the election port. Otherwise it leads to the quorum port.
    pub(crate) election: bool,
    /// Address that the first server connects to.
    pub(crate) listen: SocketAddr,
    /// Address on which the second server listens.
    pub(crate) upstream: SocketAddr,
}

impl PeerLink {
    /// The name of its proxy.
    fn name(&self) -> String {
        format!("{}-{}-{}", if self.election { "election" } else { "quorum" }, self.from, self.to)
    }
}

/// Observation of held links.
#[derive(Clone, Debug)]
pub(crate) struct HeldLinks {
    /// The two servers of each link: from, to.
    pub(crate) ways: Vec<(u32, u32)>,
    /// Total bytes passed on all of them, before and after watching.
    pub(crate) bytes: (u64, u64),
    /// Time for which no byte passed on any of them.
    pub(crate) watched: Duration,
}

/// All links of an ensemble.
#[derive(Debug)]
pub(crate) struct Mesh {
    // Dropped first: the processes must be killed before the thread that started them ends.
    fleet: RefCell<Fleet>,
    caller: Caller,
    ways: Vec<(PeerLink, Link)>,
    /// Links that are held, or may be, by name. True: they were read back as held.
    held: RefCell<BTreeMap<String, bool>>,
}

impl Mesh {
    /// Starts a proxy process and creates these links in it. The servers reach each other only over them.
    ///
    /// # Errors
    /// It cannot be started, does not answer, or a port is taken. Nothing remains in that case.
    pub(crate) async fn start(exe: &Path, ways: Vec<PeerLink>) -> Result<Self, LinkError> {
        let caller = Caller::start()?;
        let exe = exe.to_owned();
        let start = move |controls: &mut Vec<Control>| {
            let (fleet, apis) = Fleet::start(&exe, 1, false)?;
            for api in apis {
                controls.push(Control::connect(api)?);
            }
            Ok(fleet)
        };
        let fleet = caller.call("start the proxy of the quorum's links", CALL_LIMIT * 2, start).await?;
        let mesh = Self::of(fleet, caller, ways);
        mesh.populate().await?;
        Ok(mesh)
    }

    fn of(fleet: Fleet, caller: Caller, ways: Vec<PeerLink>) -> Self {
        let ends = |way: &PeerLink| (u16::try_from(way.from).unwrap_or(u16::MAX), way.to);
        let link = |way: PeerLink| (way, Link { api: 0, name: way.name(), endpoint: way.listen, ends: ends(&way) });
        let ways = ways.into_iter().map(link).collect();
        Self { fleet: RefCell::new(fleet), caller, ways, held: RefCell::default() }
    }

    async fn populate(&self) -> Result<(), LinkError> {
        let wanted =
            |(way, link): &(PeerLink, Link)| (link.name.clone(), way.listen.to_string(), way.upstream.to_string());
        let wanted: Vec<_> = self.ways.iter().map(wanted).collect();
        let elections = self.links(|way| way.election);
        let quorum = self.links(|way| !way.election);
        let populate = move |controls: &mut Vec<Control>| {
            controls.iter().try_for_each(|control| control.populate(&wanted).map(|_| ()))?;
            actions::inject(controls, &elections, &[Toxic::new("plain_greeting", "upstream", &[])])?;
            actions::inject(controls, &quorum, &[Toxic::new("await_upstream", "upstream", &[("timeout", PATIENCE_MS)])])
        };
        self.caller.call("make the quorum's links", CALL_LIMIT, populate).await.map(|_| ())
    }

    /// Holds all links that `which` selects, in both directions, and then watches their counters. `in_effect` is called
    /// before watching. On failure no link is held, unless the API does not answer: then links may be held until
    /// [`Self::release`].
    ///
    /// # Errors
    /// A link is already held (then nothing changes), bytes passed anyway, or the API cannot be reached or does not apply
    /// the change.
    pub(crate) async fn hold(
        &self,
        which: impl Fn(&PeerLink) -> bool,
        in_effect: impl Fn(),
    ) -> Result<HeldLinks, LinkError> {
        let links = self.links(which);
        if let Some(link) = links.iter().find(|link| self.held.borrow().contains_key(&link.name)) {
            return Err(LinkError::AlreadyThere { proxy: link.name.clone(), toxic: hold("upstream").name() });
        }
        self.note(&links, false);
        let held = self.hold_and_watch(&links, in_effect).await;
        match &held {
            Ok(_) => {}
            // The hold of another program is not taken back.
            Err(error) if error.is_in_effect() => self.forget(&links),
            Err(_) => _ = self.let_go(&links).await,
        }
        held
    }

    async fn hold_and_watch(&self, links: &[Link], in_effect: impl Fn()) -> Result<HeldLinks, LinkError> {
        let here = links.to_vec();
        let hold = move |controls: &mut Vec<Control>| {
            actions::inject(controls, &here, &holds())?;
            passed(controls, &here)
        };
        let (from, before) = self.caller.call("hold the quorum's links", CALL_LIMIT, hold).await?;
        self.note(links, true);
        in_effect();
        tokio::time::sleep(WATCHED).await;
        let here = links.to_vec();
        let look = move |controls: &mut Vec<Control>| {
            passed(controls, &here).and_then(|now| expect_quiet(before, now.1).map(|()| now))
        };
        let (to, after) = self.caller.call("read the counters", CALL_LIMIT, look).await?;
        let ways = links.iter().map(|link| (u32::from(link.ends.0), link.ends.1)).collect();
        Ok(HeldLinks { ways, bytes: (before, after), watched: Duration::from_nanos(to.saturating_sub(from)) })
    }

    /// Releases all links that `which` selects and returns their number. Held data then flows on. After a hold that
    /// failed, it releases those that are held.
    ///
    /// # Errors
    /// A link was never held (then nothing changes), somebody else has released it (the others are released), or the API
    /// cannot be reached or does not apply the change.
    pub(crate) async fn release(&self, which: impl Fn(&PeerLink) -> bool) -> Result<usize, LinkError> {
        let links = self.links(which);
        if let Some(link) = links.iter().find(|link| !self.held.borrow().contains_key(&link.name)) {
            return Err(LinkError::NotThere { proxy: link.name.clone(), toxic: hold("upstream").name() });
        }
        let was_read_back = links.iter().all(|link| self.held.borrow().get(&link.name) == Some(&true));
        if !was_read_back {
            return self.let_go(&links).await.map(|()| links.len());
        }
        if let Err(error) = self.withdraw(&links).await {
            // Only the first error is reported.
            let _ = self.let_go(&links).await;
            return Err(match error {
                LinkError::NotThere { proxy, toxic } => {
                    let (asked, found) = (format!("{toxic} until its heal"), "no such toxic".to_owned());
                    LinkError::NotApplied { proxy, asked, found }
                }
                other => other,
            });
        }
        self.forget(&links);
        Ok(links.len())
    }

    /// Removes the holds of these links, which must all be there.
    async fn withdraw(&self, links: &[Link]) -> Result<(), LinkError> {
        let here = links.to_vec();
        let withdraw = move |controls: &mut Vec<Control>| actions::withdraw(controls, &here, &holds());
        self.caller.call("let the quorum's links go", CALL_LIMIT, withdraw).await
    }

    /// Removes all holds that these links have, and reads that back.
    async fn let_go(&self, links: &[Link]) -> Result<(), LinkError> {
        let here = links.to_vec();
        let let_go = move |controls: &mut Vec<Control>| actions::end(controls, &here, &holds());
        self.caller.call("let the quorum's links go", CALL_LIMIT, let_go).await?;
        self.forget(links);
        Ok(())
    }

    fn note(&self, links: &[Link], is_read_back: bool) {
        self.held.borrow_mut().extend(links.iter().map(|link| (link.name.clone(), is_read_back)));
    }

    fn forget(&self, links: &[Link]) {
        self.held.borrow_mut().retain(|name, _| links.iter().all(|link| link.name != *name));
    }

    /// The names of its proxies that are stopped.
    ///
    /// # Errors
    /// A proxy has ended.
    pub(crate) fn check_alive(&self) -> Result<Vec<String>, LinkError> {
        self.fleet.borrow_mut().check_alive(WRITER)
    }

    /// Its proxy records its own stalls in its own segment.
    ///
    /// # Errors
    /// The segment cannot be created.
    pub(crate) fn begin_cell(&self, cell: u32, segment: AddSegment<'_>) -> anyhow::Result<()> {
        self.fleet.borrow_mut().begin_cell(WRITER, cell, segment, None)
    }

    /// Ends that segment.
    ///
    /// # Errors
    /// It could not be written to its end.
    pub(crate) fn end_cell(&self) -> anyhow::Result<()> {
        self.fleet.borrow_mut().end_cell()
    }

    /// Process ids of its proxies.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.fleet.borrow().pids()
    }

    /// Ends the proxy, and with it all links.
    pub(crate) fn end(&self) {
        drop(self.fleet.take());
    }

    fn links(&self, which: impl Fn(&PeerLink) -> bool) -> Vec<Link> {
        self.ways.iter().filter(|(way, _)| which(way)).map(|(_, link)| link.clone()).collect()
    }
}

/// The toxics that stop all traffic on a link.
fn holds() -> Vec<Toxic> {
    toxics::streams(Direction::Both).iter().copied().map(hold).collect()
}

fn hold(stream: &'static str) -> Toxic {
    Toxic::new("hold", stream, &[])
}

/// The time of the count, and the bytes passed so far on these links, in both directions.
fn passed(controls: &[Control], links: &[Link]) -> Result<(u64, u64), LinkError> {
    let now = clock::now();
    let counters = actions::counters(controls, links)?;
    Ok((now, counters.iter().map(|link| link.up.bytes + link.down.bytes).sum()))
}

fn expect_quiet(before: u64, after: u64) -> Result<(), LinkError> {
    if before == after {
        return Ok(());
    }
    let found = format!("{} bytes that passed", after.saturating_sub(before));
    Err(LinkError::NotApplied { proxy: "of the quorum".to_owned(), asked: "no byte to pass".to_owned(), found })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread;

    use super::*;
    use crate::proxy::{Options, ProxyServer};

    /// The address of a proxy's API, served by a thread of this process.
    fn proxy() -> SocketAddr {
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let options = Options { listen: (Ipv4Addr::LOCALHOST, 0).into(), lie: None, plain: false, seed: 0 };
                let server = ProxyServer::bind(options).expect("a port");
                sender.send(server.address().expect("its address")).expect("sent");
                server.serve().await
            })
        });
        receiver.recv().expect("it listens")
    }

    /// The links of two servers that do not exist.
    async fn mesh() -> Mesh {
        let api = proxy();
        let (any, nobody) = (SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv4Addr::LOCALHOST, 9)));
        let way = |from, to| PeerLink { from, to, election: false, listen: any, upstream: nobody };
        let mesh = Mesh::of(Fleet::default(), Caller::start().expect("a thread"), vec![way(1, 2), way(2, 1)]);
        act(&mesh, move |controls| Control::connect(api).map(|control| controls.push(control))).await;
        mesh.populate().await.expect("made");
        mesh
    }

    async fn act(mesh: &Mesh, job: impl FnOnce(&mut Vec<Control>) -> Result<(), LinkError> + Send + 'static) {
        mesh.caller.call("act on the links", CALL_LIMIT, job).await.expect("done");
    }

    #[tokio::test]
    async fn a_hold_that_broke_off_half_way_is_released_by_the_heal() {
        let mesh = mesh().await;
        let links = mesh.links(|_| true);
        mesh.note(&links, false);
        let first = links[..1].to_vec();
        act(&mesh, move |controls| actions::inject(controls, &first, &[hold("upstream")]).map(|_| ())).await;
        let again = mesh.hold(|_| true, || ()).await;
        assert!(matches!(&again, Err(error) if error.is_in_effect()), "{again:?}");
        assert_eq!(mesh.release(|_| true).await.expect("released"), 2);
        mesh.hold(|_| true, || ()).await.expect("nothing was held any more");
        assert_eq!(mesh.release(|_| true).await.expect("released"), 2);
        let again = mesh.release(|_| true).await;
        assert!(matches!(&again, Err(error) if error.is_in_effect()), "{again:?}");
    }

    #[tokio::test]
    async fn a_heal_of_links_that_somebody_else_has_released_fails_and_releases_the_others() {
        let mesh = mesh().await;
        mesh.hold(|_| true, || ()).await.expect("held");
        let name = mesh.links(|_| true)[0].name.clone();
        act(&mesh, move |controls| controls.iter().try_for_each(|control| control.remove(&name, &hold("upstream"))))
            .await;
        let released = mesh.release(|_| true).await;
        assert!(matches!(&released, Err(LinkError::NotApplied { .. })), "{released:?}");
        mesh.hold(|_| true, || ()).await.expect("nothing was held any more");
    }
}
