//! Signs in to a server that demands it, and keeps the token: OAuth 2.1 as the specification of MCP
//! wants it.
//!
//! The steps of a sign-in are values, so that the caller can ask the user between them:
//! [`Found`] is made by asking the server itself, [`Authority`] by asking the authorisation server
//! that it names, [`SignIn`] by registering there, and [`Kept`] is the token that the browser's
//! answer is exchanged for. [`Bearer`] lends the token for requests and renews it. Every request
//! goes through [`Reach`], which knows the hosts that the user has agreed to.

mod authority;
mod bearer;
mod callback;
mod challenge;
mod client;
mod hide;
mod kept;
mod reach;
mod resource;
mod sign_in;
mod token;

use std::path::PathBuf;

pub use authority::Authority;
pub use bearer::{Bearer, revoke};
pub use challenge::Challenge;
pub use kept::Kept;
pub use reach::{Reach, consent_line};
pub use resource::Found;
pub use sign_in::{SignIn, Wish};

use crate::base::places;

/// The folder with the tokens of this user, one file per server.
pub fn folder() -> PathBuf {
    places::data_dir().join("mcp")
}
