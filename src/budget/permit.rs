//! One permit a device (placeholder until the real one is merged).
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    Background,
    Step,
    User,
}

#[derive(Clone, Debug, Default)]
pub struct Permit(Arc<Mutex<()>>);

impl Permit {
    pub fn take(&self, _priority: Priority) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
