//! Helpers for every layer in addition to [`monobloc_base`]: identifiers, line ends, masking, terminal-safe text.

mod address;
pub mod folder;
pub(crate) mod ids;
pub(crate) mod line_ends;
pub mod mask;
pub mod names;
pub mod private;
pub mod trial;
mod visible;

pub use address::path_of;
pub use ids::{CallId, ConversationId, StepId};
pub use monobloc_base::*;
pub use visible::visible;
