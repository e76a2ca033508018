//! Memory and devices: what there is, what is promised to whom, whose turn it is.

pub mod permit;
