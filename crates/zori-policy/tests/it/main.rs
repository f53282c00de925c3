//! What the decision promises for shell texts: the shared corpus, and properties of texts made from seeds.

mod corpus;
mod profile;
mod properties;
