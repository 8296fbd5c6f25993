//! One cell of a record, read once and put in order: who stood where, who believed what and when, which faults hit whom,
//! what became of every lost lead. Checkers work on this; nothing here judges.

mod candidates;
mod cell;
mod elections;
mod faults;
mod handovers;
mod ledger;
mod lists;
mod lives;
mod losses;
mod notices;
mod overlaps;
mod places;
mod presence;
mod probes;
mod proofs;
mod reigns;
mod server;
mod servers;
mod terms;
mod time;
mod wakes;
mod writes;

pub use candidates::{Candidate, Candidates, Departed, Stand};
pub use cell::Index;
pub use elections::{Election, Lull, Role};
pub use faults::{Fault, Faults};
pub use handovers::{Blamed, Handover, Strike};
pub use ledger::Judged;
pub use lists::{Listed, Lists};
pub use lives::{Life, Lives, Stall};
pub use losses::{Change, Loss, Losses, Outcome};
pub use notices::{Notice, Notices};
pub(crate) use overlaps::Cut;
pub use places::{Place, Places};
pub use presence::Presence;
pub use probes::{Probes, WriteGap};
pub use proofs::Proof;
pub use reigns::{Reign, Reigns};
pub use server::{Absence, LOG_SLACK_NS, Server, Spell};
pub use servers::{Restart, ServerPauses, Servers, Snapshot};
pub use terms::{Ending, Term, Terms};
pub use time::{last_time, plausible};
pub(crate) use wakes::RECONNECT_NS;
pub use wakes::{Lost, Wakes};
pub use writes::{Work, WriteKey, Writing};
