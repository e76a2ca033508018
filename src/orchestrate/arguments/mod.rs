//! Fills in the arguments of a call with what the step, the user or an earlier result said. Pure, no model.

mod dates;
mod edit;
mod intent;
mod places;

pub use edit::{Edit, settle_edit};
