//! The embedded link proxy and the driver of links, tested via processes and sockets. One binary, to link only once.

mod api;
mod clients;
mod driver;
mod hold;
mod liars;
mod measure;
mod refusals;
mod slow;
mod support;
mod toxics;
