//! Holds what every layer of the program shares besides [`monobloc_base`]: the masking of private
//! data, and what text looks like on a terminal.

pub mod folder;
pub mod mask;
pub mod names;
pub mod private;
pub mod trial;
mod visible;

pub use monobloc_base::*;
pub use visible::visible;
