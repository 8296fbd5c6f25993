//! What the servers of a world do. What they decide is the model's; here is only when. From `between`, over
//! `outputs` and `work`, to `faults`, each file stands on those before it.

mod between;
mod faults;
mod outputs;
mod work;
