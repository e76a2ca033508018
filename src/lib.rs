//! monobloc: a whole agent in one process. The modules in the order in which they stand on each other.

pub mod base;
pub mod protocol;

pub mod models;

pub mod embed;

pub mod tools;

pub mod orchestrate;
