//! The words every layer shares: units, identifiers, cancellation, configuration, files replaced whole, nearest names, what is private.

pub mod cancel;
pub mod config;
pub mod file;
pub mod ids;
pub mod near;
pub mod private;
pub mod units;

pub use cancel::Cancel;
pub use config::Config;
pub use ids::{CallId, ConversationId, StepId};
pub use units::Bytes;
