//! The program as users of the Agent Zero command line know it: `zori` with that provider (DECISIONS 19).

use super::{Profile, ZORI};

/// The values of `a0`.
pub const A0: Profile = Profile {
    name: "a0",
    dialect: &zori_tools::dialect::A0,
    provider: Some(zori_providers::agent_zero::NAME),
    ..ZORI
};
