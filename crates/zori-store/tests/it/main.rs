//! Behaviour of the store through its public face.

mod fixtures;
