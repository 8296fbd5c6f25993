//! Runs compared with each other and with limits.

mod compare;
mod forced;
mod gate;
mod made;
mod rare;
#[path = "../render_sample/mod.rs"]
#[expect(dead_code, reason = "others use the rest of it")]
mod render_sample;
mod spoilt;
mod undecided;
