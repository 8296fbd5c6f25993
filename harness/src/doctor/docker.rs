//! Checks whether a Docker engine answers and has the images that runs use. Only runs on Docker need one.

use super::{CheckFinding, Context};
use crate::ensemble::docker::{DockerOptions, look};
use crate::ensemble::server_options::ServerOptions;

pub(super) fn docker(_: &Context) -> CheckFinding {
    let options = DockerOptions::new(ServerOptions::of(3));
    let images = [options.zookeeper_image.as_str(), options.toxiproxy_image.as_str()];
    match look(&images) {
        Ok((engine, there)) => {
            let told = images.iter().zip(there).map(|(image, there)| {
                format!("the image {image} {}", if there { "is there" } else { "would have to be pulled" })
            });
            CheckFinding::info(format!("{engine}; {}", told.collect::<Vec<_>>().join(", ")))
        }
        Err(error) => CheckFinding::info(error.to_string()),
    }
}
