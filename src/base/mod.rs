//! Holds what every layer of the program shares besides [`monobloc_base`]: identifiers, the masking of
//! private data, and what text looks like on a terminal.

pub mod folder;
pub(crate) mod ids;
pub mod mask;
pub mod names;
pub mod private;
pub mod trial;
mod visible;

pub use ids::{CallId, ConversationId, StepId};
pub use monobloc_base::*;
pub use visible::visible;
