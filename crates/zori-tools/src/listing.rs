//! The tools as requests list them. Each one that is listed costs every request its tokens, so some come only once the
//! session has a use for them (DECISIONS 64).

use std::sync::{Arc, OnceLock};

use zori_core::tool::ToolSpec;

use crate::dialect::Listed;

/// What a session has come to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InUse {
    /// A background job was started.
    pub(crate) jobs: bool,
    /// A call was about a notebook.
    pub(crate) notebooks: bool,
    /// Somebody answers questions.
    pub(crate) somebody: bool,
    /// The web is searched without a question.
    pub(crate) searches: bool,
}

/// Specs with when they are listed. What is listed is the same `Arc` as long as the same is in use.
pub(crate) struct Listing {
    specs: Vec<(ToolSpec, Listed)>,
    by_use: [OnceLock<Arc<[ToolSpec]>>; 16],
}

impl Listing {
    pub(crate) fn new(specs: Vec<(ToolSpec, Listed)>) -> Self {
        Self { specs, by_use: Default::default() }
    }

    /// Returns what a request lists.
    pub(crate) fn listed(&self, in_use: InUse) -> &Arc<[ToolSpec]> {
        let InUse { jobs, notebooks, somebody, searches } = in_use;
        let bits = [jobs, notebooks, somebody, searches];
        let at = bits.iter().rev().fold(0, |at, bit| 2 * at + usize::from(*bit));
        self.by_use[at].get_or_init(|| {
            let listed = |listed: Listed| match listed {
                Listed::Always => true,
                Listed::WithJobs => jobs,
                Listed::WithNotebooks => notebooks,
                Listed::WithSomebody => somebody,
                Listed::WithSearches => searches,
            };
            self.specs.iter().filter(|(_, when)| listed(*when)).map(|(spec, _)| spec.clone()).collect()
        })
    }

    /// Returns the same with further specs behind, which are always listed.
    pub(crate) fn with(&self, more: impl Iterator<Item = ToolSpec>) -> Self {
        let own = self.specs.iter().cloned();
        Self::new(own.chain(more.map(|spec| (spec, Listed::Always))).collect())
    }

    /// Returns whether a spec has this name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.specs.iter().any(|(spec, _)| spec.name == name)
    }

    /// Returns the same with each spec changed, or left out.
    pub(crate) fn map(&self, change: impl Fn(&ToolSpec) -> Option<ToolSpec>) -> Self {
        Self::new(self.specs.iter().filter_map(|(spec, when)| Some((change(spec)?, *when))).collect())
    }
}
