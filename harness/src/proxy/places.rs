//! The places of the API's connections. Their number is limited. If all are taken, the connection that has been idle
//! for longest gives way to a new one. A connection is busy only while a complete request is handled: one that is half
//! sent, and an answer that its client does not read, keep nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::process::lock::lock;

/// A connection that gives way ends at once. A new one waits no longer than this for it.
const GIVES_WAY_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct ApiPlaces {
    free: Arc<Semaphore>,
    taken: Arc<Mutex<TakenPlaces>>,
}

#[derive(Default)]
struct TakenPlaces {
    /// Numbers connections, and the moments at which they became idle.
    next: u64,
    by_id: BTreeMap<u64, TakenPlace>,
}

struct TakenPlace {
    /// None: it is busy.
    idle_since: Option<u64>,
    give_way: oneshot::Sender<()>,
}

/// The place of one connection. It is free once all copies of this are dropped.
#[derive(Clone)]
pub(super) struct ApiPlace(Arc<HeldPlace>);

struct HeldPlace {
    id: u64,
    places: ApiPlaces,
    _permit: OwnedSemaphorePermit,
}

/// The connection is busy, and keeps its place, until this is dropped.
pub(super) struct BusyPlace(ApiPlace);

impl ApiPlaces {
    pub(super) fn new(connections_max: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(connections_max)), taken: Arc::default() }
    }

    /// Takes a place, with the order to give way. None: all connections are busy.
    pub(super) async fn take(&self) -> Option<(ApiPlace, oneshot::Receiver<()>)> {
        let permit = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) if self.make_way() => {
                timeout(GIVES_WAY_WITHIN, Arc::clone(&self.free).acquire_owned()).await.ok()?.ok()?
            }
            Err(_) => return None,
        };
        let (give_way, ordered) = oneshot::channel();
        let mut taken = lock(&self.taken);
        let id = taken.number();
        taken.by_id.insert(id, TakenPlace { idle_since: Some(id), give_way });
        Some((ApiPlace(Arc::new(HeldPlace { id, places: self.clone(), _permit: permit })), ordered))
    }

    /// Orders the connection that has been idle for longest to end. False: there is none.
    fn make_way(&self) -> bool {
        let mut taken = lock(&self.taken);
        let idle = taken.by_id.iter().filter_map(|(id, place)| Some((place.idle_since?, *id)));
        let longest = idle.min().and_then(|(_, id)| taken.by_id.remove(&id));
        let Some(place) = longest else { return false };
        // An error means that it is about to end by itself.
        let _ = place.give_way.send(());
        true
    }
}

impl TakenPlaces {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl ApiPlace {
    pub(super) fn busy(&self) -> BusyPlace {
        if let Some(place) = lock(&self.0.places.taken).by_id.get_mut(&self.0.id) {
            place.idle_since = None;
        }
        BusyPlace(self.clone())
    }
}

impl Drop for BusyPlace {
    fn drop(&mut self) {
        let held = &self.0.0;
        let mut taken = lock(&held.places.taken);
        let now = taken.number();
        if let Some(place) = taken.by_id.get_mut(&held.id) {
            place.idle_since = Some(now);
        }
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        lock(&self.places.taken).by_id.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that ends when it is ordered to.
    async fn serve((place, ordered): (ApiPlace, oneshot::Receiver<()>)) {
        ordered.await.expect("an order");
        drop(place);
    }

    #[tokio::test]
    async fn of_all_connections_the_one_that_is_idle_for_longest_gives_way() {
        let places = ApiPlaces::new(3);
        let mut taken = Vec::new();
        for _ in 0..3 {
            taken.push(places.take().await.expect("a place"));
        }
        // The first has had its answer after the others came.
        drop(taken[0].0.busy());
        let (new, ()) = tokio::join!(places.take(), serve(taken.remove(1)));
        assert!(new.is_some());
        for (_, ordered) in &mut taken {
            assert!(ordered.try_recv().is_err(), "only one gives way");
        }
        let (newer, ()) = tokio::join!(places.take(), serve(taken.remove(1)));
        assert!(newer.is_some());
    }

    #[tokio::test]
    async fn a_busy_connection_gives_way_to_nobody_until_its_request_is_handled() {
        let places = ApiPlaces::new(1);
        let (place, mut ordered) = places.take().await.expect("a place");
        let busy = place.busy();
        assert!(places.take().await.is_none());
        assert!(ordered.try_recv().is_err());
        drop(busy);
        let (new, ()) = tokio::join!(places.take(), serve((place, ordered)));
        assert!(new.is_some());
    }

    #[tokio::test]
    async fn a_request_whose_client_has_left_keeps_its_place_until_it_is_handled() {
        let places = ApiPlaces::new(1);
        let (place, _) = places.take().await.expect("a place");
        let busy = place.busy();
        drop(place);
        assert!(places.take().await.is_none());
        drop(busy);
        assert!(places.take().await.is_some());
    }
}
