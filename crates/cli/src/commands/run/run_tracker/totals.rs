//! Sums over the runs that a tracker waits for and the runs they delegated to: usage, denials, partial result.

use std::collections::BTreeMap;

use rooftree_protocol::{Usage, event::Denial};
use rooftree_view::TreeRun;

use super::RunTracker;

/// What our runs have done so far, for a run that is left before its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PartialResult<'a> {
    /// The last answer.
    pub text: &'a str,
    pub turns: u32,
    pub calls: u32,
    /// From the first event to the last.
    pub milliseconds: u64,
}

impl RunTracker {
    fn our_runs(&self) -> impl Iterator<Item = &TreeRun> {
        self.ours.iter().filter_map(|run| self.tree.run(run))
    }

    /// The model that answered last.
    pub fn model(&self) -> &str {
        self.our_runs().last().map_or("", |run| run.model.as_str())
    }

    /// What our ended runs and all delegated runs used.
    pub fn usage(&self) -> Usage {
        let ours = self.ended.iter().filter_map(|run| self.tree.run(run));
        let (mut usage, mut delegated) = (Usage::none(), Usage::none());
        ours.for_each(|run| usage += run.own_usage());
        self.tree
            .delegated()
            .for_each(|run| delegated += run.own_usage());
        usage += delegated;
        usage
    }

    /// What each model used.
    pub fn by_model(&self) -> BTreeMap<String, Usage> {
        let mut sum = BTreeMap::new();
        for (model, used) in self
            .our_runs()
            .chain(self.tree.delegated())
            .flat_map(|run| &run.counts.by_model)
        {
            *sum.entry(model.clone()).or_insert_with(Usage::none) += *used;
        }
        sum
    }

    /// What the delegated runs were not allowed to do, in the order in which they ended.
    pub fn denials(&self) -> Vec<Denial> {
        let mut ended: Vec<&TreeRun> = self.tree.delegated().collect();
        ended.sort_by_key(|run| run.updated_at);
        let ends = ended.into_iter().filter_map(|run| run.end.as_ref());
        ends.flat_map(|end| end.denials.iter().cloned()).collect()
    }

    /// What our runs have done so far.
    pub fn so_far(&self) -> PartialResult<'_> {
        let said = self
            .our_runs()
            .map(TreeRun::text)
            .filter(|text| !text.is_empty());
        let since = self.our_runs().next().map(|run| run.started_at);
        let until = self.our_runs().last().map(|run| run.updated_at);
        let lasted = until.zip(since).map(|(until, since)| until.since(since));
        PartialResult {
            text: said.last().unwrap_or_default(),
            turns: self.our_runs().map(|run| run.counts.turns).sum(),
            calls: self.our_runs().map(|run| run.counts.calls).sum(),
            milliseconds: lasted.map_or(0, |lasted| {
                u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX)
            }),
        }
    }
}
