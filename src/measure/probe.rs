//! `monobloc models probe`: measures which tasks a model does reliably.

use anyhow::Result;

use crate::agent::Toolkit;
use crate::agent::probe::{Depth, measure};
use crate::models::{Measured, Role};

use super::eval::RejectingHost;

pub struct Probed {
    pub model: String,
    /// The value in models.toml; it takes precedence over the measurement.
    pub said: Option<bool>,
    pub measured: Measured,
}

/// Runs every prompt of the probe on the model of `role`; a stored complete result is used unless `again` is set.
pub async fn run(toolkit: &Toolkit, role: Role, again: bool) -> Result<Probed> {
    let host = RejectingHost::default();
    let model = toolkit.model(role, &host).await?;
    let remembered = model.measured().cloned().filter(|measured| measured.complete && !again);
    let measured = match remembered {
        Some(measured) => measured,
        None => measure(toolkit, &model, Depth::Whole, &host).await?,
    };
    let said = model.is_declared().then_some(model.capability().supports_advanced_orchestration);
    Ok(Probed { model: model.name().to_owned(), said, measured })
}
