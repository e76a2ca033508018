//! Reads the explicit content of a clause without a model: an edit (`change X from A to B`), a removal or a command. Pure functions only.

mod edit;
mod intent;
mod object;
mod phrases;
mod places;
mod removal;
mod unsettled;

pub(super) use edit::settle;
pub use edit::{Edit, settle_edit};
pub(super) use intent::from_to;
pub use phrases::{command, names_command, shows_command};
pub use removal::{is_vague_removal, removes, settle_removal};
pub use unsettled::Unsettled;
