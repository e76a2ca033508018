//! `monobloc models probe`: measures which tasks a model does reliably.

use anyhow::{Result, bail};

use crate::agent::{Toolkit, probe};
use crate::models::{Measured, Role};

use super::rejecting::RejectingHost;

pub struct Probed {
    pub model: String,
    /// The value in models.toml; it takes precedence over the measurement.
    pub said: Option<bool>,
    pub measured: Measured,
}

/// Measures the model of `role`; stored results are used unless `again` is set.
pub async fn run(toolkit: &Toolkit, role: Role, again: bool) -> Result<Probed> {
    if Role::EXTRA.contains(&role) && !toolkit.pool.plays(role) {
        bail!("models.toml assigns no model to {role}, so the planner does its work: monobloc models probe planner");
    }
    let host = RejectingHost::default();
    let measured = probe::whole(toolkit, role, again, &host).await?;
    let model = toolkit.model(role, &host).await?;
    let said = model.is_declared().then_some(model.capability().supports_advanced_orchestration);
    Ok(Probed { model: model.name().to_owned(), said, measured })
}
