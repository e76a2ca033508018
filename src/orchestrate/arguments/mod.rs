//! What a clause spells out of a change or a command: the line that is meant by `change X from A to B`, what is to be taken out, what is run.
//! Pure, no model.

mod edit;
mod intent;
mod object;
mod phrases;
mod places;
mod removal;
mod said;

pub use edit::{Edit, settle_edit};
pub use phrases::{command, names_command, shows_command};
pub use removal::{removes, settle_removal};
