//! Decides which paths of a project must not be read.

use std::fmt;
use std::sync::Arc;

type Decides = dyn Fn(&str) -> bool + Send + Sync;

/// Decides by rules whether a path, relative to the project and with `/` separators, must not be
/// read. Clones share the rules.
#[derive(Clone, Default)]
pub struct Hidden(Option<Arc<Decides>>);

impl Hidden {
    pub fn by(decides: impl Fn(&str) -> bool + Send + Sync + 'static) -> Hidden {
        Hidden(Some(Arc::new(decides)))
    }

    /// Whether there are no rules, so that nothing is hidden.
    pub fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the rules hide the file or folder.
    pub fn hides(&self, path: &str) -> bool {
        self.0.as_ref().is_some_and(|decides| decides(path))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_nothing() { "Hidden(nothing)" } else { "Hidden(by rules)" })
    }
}

impl PartialEq for Hidden {
    fn eq(&self, other: &Hidden) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        }
    }
}

impl Eq for Hidden {}
