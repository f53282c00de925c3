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
}

/// Specs with when they are listed. What is listed is the same `Arc` as long as the same is in use.
pub(crate) struct Listing {
    specs: Vec<(ToolSpec, Listed)>,
    by_use: [OnceLock<Arc<[ToolSpec]>>; 8],
}

impl Listing {
    pub(crate) fn new(specs: Vec<(ToolSpec, Listed)>) -> Self {
        Self { specs, by_use: Default::default() }
    }

    /// Returns what a request lists.
    pub(crate) fn listed(&self, in_use: InUse) -> &Arc<[ToolSpec]> {
        let InUse { jobs, notebooks, somebody } = in_use;
        self.by_use[usize::from(jobs) + 2 * usize::from(notebooks) + 4 * usize::from(somebody)].get_or_init(
            || {
                let listed = |listed: Listed| match listed {
                    Listed::Always => true,
                    Listed::WithJobs => jobs,
                    Listed::WithNotebooks => notebooks,
                    Listed::WithSomebody => somebody,
                };
                self.specs.iter().filter(|(_, when)| listed(*when)).map(|(spec, _)| spec.clone()).collect()
            },
        )
    }

    /// Returns the same with each spec changed, or left out.
    pub(crate) fn map(&self, change: impl Fn(&ToolSpec) -> Option<ToolSpec>) -> Self {
        Self::new(self.specs.iter().filter_map(|(spec, when)| Some((change(spec)?, *when))).collect())
    }
}
