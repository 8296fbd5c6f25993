//! The endpoints of the links between local servers, and the links that a cut severs.

use std::net::{Ipv4Addr, SocketAddr};

use super::ports::Ports;
use crate::links::PeerLink;

/// Two links from every server to every other one: to its quorum port and to its election port.
pub(super) fn ways(ports: &Ports) -> Vec<PeerLink> {
    let local = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let both = ports.links.iter().filter_map(|link| {
        let own = ports.servers.get(link.to as usize - 1)?;
        let way = |election, listen, upstream| PeerLink {
            from: link.from,
            to: link.to,
            election,
            listen: local(listen),
            upstream: local(upstream),
        };
        Some([way(false, link.quorum, own.quorum), way(true, link.election, own.election)])
    });
    both.flatten().collect()
}

/// Whether a link has exactly one end among these servers.
pub(super) fn crosses(servers: &[u32], way: &PeerLink) -> bool {
    servers.contains(&way.from) != servers.contains(&way.to)
}

#[cfg(test)]
mod tests {
    use super::super::ports::reserve;
    use super::{crosses, ways};

    #[test]
    fn a_cut_severs_every_link_between_its_sides_both_ways_and_no_other() {
        let all = ways(&reserve(5, true, None, 6).expect("ports"));
        assert_eq!(all.len(), 40);
        let cut: Vec<_> = all.iter().filter(|way| crosses(&[1, 4], way)).collect();
        assert_eq!(cut.len(), 2 * 3 * 2 * 2);
        assert!(cut.iter().all(|way| [1, 4].contains(&way.from) != [1, 4].contains(&way.to)));
    }

    #[test]
    fn a_link_leads_to_a_port_of_its_server() {
        let ports = reserve(3, true, None, 7).expect("ports");
        for way in ways(&ports) {
            let own = ports.servers[way.to as usize - 1];
            assert_eq!(way.upstream.port(), if way.election { own.election } else { own.quorum });
            assert_ne!(way.listen, way.upstream);
        }
    }
}
