//! `monobloc models probe`: measures what a model can be trusted with.

use anyhow::Result;

use crate::models::{Measured, Role};
use crate::orchestrate::Toolkit;
use crate::orchestrate::probe::{Depth, measure};

use super::eval::Silent;

/// A model that was probed.
pub struct Probed {
    pub model: String,
    /// What models.toml says, which counts more.
    pub said: Option<bool>,
    pub measured: Measured,
}

/// Asks the model of `role` every prompt of the probe; what is remembered of it serves unless it is to be asked `again`.
pub async fn run(toolkit: &Toolkit, role: Role, again: bool) -> Result<Probed> {
    let host = Silent::default();
    let model = toolkit.model(role, &host).await?;
    let remembered = model.measured.clone().filter(|measured| measured.complete && !again);
    let measured = match remembered {
        Some(measured) => measured,
        None => measure(toolkit, &model, Depth::Whole, &host).await?,
    };
    let said = model.said.then_some(model.capability.supports_advanced_orchestration);
    Ok(Probed { model: model.engine.model().to_owned(), said, measured })
}
