//! The leader of each group, as far as the hosts have reported. Faults choose targets by it; verdicts never use it.

use crate::host::Token;

/// The beliefs of all candidates of a cell.
pub struct Leaders {
    /// Group and host of each candidate.
    placement: Vec<(u32, u16)>,
    /// Believers of each group, oldest first.
    by_group: Vec<Vec<u32>>,
    led: usize,
}

impl Leaders {
    #[must_use]
    pub fn new(groups: usize, placement: Vec<(u32, u16)>) -> Self {
        Self { placement, by_group: vec![Vec::new(); groups], led: 0 }
    }

    /// A candidate began or ceased to believe. Unknown candidates are ignored.
    pub fn believe(&mut self, cand: u32, token: Option<Token>) {
        let Some(&(group, _)) = self.placement.get(cand as usize) else { return };
        let believers = &mut self.by_group[group as usize];
        let before = !believers.is_empty();
        believers.retain(|&other| other != cand);
        if token.is_some() {
            believers.push(cand);
        }
        match (before, !believers.is_empty()) {
            (false, true) => self.led += 1,
            (true, false) => self.led -= 1,
            _ => {}
        }
    }

    /// A host's process has ended, and all beliefs on it.
    pub fn forget_host(&mut self, host: u16) {
        let gone: Vec<u32> = self.on_host(host).collect();
        for cand in gone {
            self.believe(cand, None);
        }
    }

    /// The leading candidate of each group and its host; the most recent belief where there are several.
    #[must_use]
    pub fn of_groups(&self) -> Vec<Option<(u32, u16)>> {
        let youngest = |believers: &Vec<u32>| believers.last().map(|&cand| (cand, self.placement[cand as usize].1));
        self.by_group.iter().map(youngest).collect()
    }

    /// How many groups have a leader.
    #[must_use]
    pub fn led(&self) -> usize {
        self.led
    }

    #[must_use]
    pub fn groups(&self) -> usize {
        self.by_group.len()
    }

    /// Group and host of each candidate.
    #[must_use]
    pub fn placement(&self) -> &[(u32, u16)] {
        &self.placement
    }

    #[must_use]
    pub fn group_of(&self, cand: u32) -> Option<u32> {
        self.placement.get(cand as usize).map(|&(group, _)| group)
    }

    #[must_use]
    pub fn host_of(&self, cand: u32) -> Option<u16> {
        self.placement.get(cand as usize).map(|&(_, host)| host)
    }

    /// Candidates placed on a host.
    pub fn on_host(&self, host: u16) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).zip(&self.placement).filter(move |(_, (_, h))| *h == host).map(|(cand, _)| cand)
    }
}
