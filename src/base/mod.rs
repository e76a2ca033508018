//! The words every layer shares: units, identifiers, cancellation, configuration.

pub mod cancel;
pub mod config;
pub mod ids;
pub mod units;

pub use cancel::Cancel;
pub use config::Config;
pub use ids::{CallId, ConversationId, StepId};
pub use units::Bytes;
