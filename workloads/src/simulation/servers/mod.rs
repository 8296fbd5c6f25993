//! The timing of a world's servers; the model makes their decisions. The files build on each other: `between`, then
//! `outputs` and `work`, then `faults`.

mod between;
mod faults;
mod outputs;
mod work;
