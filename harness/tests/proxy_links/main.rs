//! The embedded link proxy and the driver of links, as processes and sockets show them. One binary, to link once.

mod api;
mod clients;
mod driver;
mod hold;
mod liars;
mod measure;
mod slow;
mod support;
mod toxics;
