//! What a model can be trusted with.

use serde::Serialize;

use super::gguf::Header;

/// Parameters from which a model is taken to plan and reason on its own. Below that, published scores fall
/// off a cliff: 1.2B models carry 8 % of multi-step requests through, 24B ones 26 to 66 % (LocalCowork's benchmark).
const CAPABLE_PARAMETERS: u64 = 3_000_000_000;

/// Seed 000: gates free agent loops and free reasoning. Planning that code owns runs on every model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ModelCapability {
    pub supports_advanced_orchestration: bool,
    pub supports_complex_reasoning: bool,
    pub max_context_tokens: usize,
    pub recommended_max_iterations: usize,
}

impl ModelCapability {
    pub fn capable(context: usize) -> ModelCapability {
        ModelCapability {
            supports_advanced_orchestration: true,
            supports_complex_reasoning: true,
            max_context_tokens: context.min(128_000),
            recommended_max_iterations: 12,
        }
    }

    pub fn weak() -> ModelCapability {
        ModelCapability {
            supports_advanced_orchestration: false,
            supports_complex_reasoning: false,
            max_context_tokens: 4096,
            recommended_max_iterations: 3,
        }
    }

    /// Judged by size alone.
    pub fn of(header: &Header, context: usize) -> ModelCapability {
        if header.parameters >= CAPABLE_PARAMETERS {
            ModelCapability::capable(context)
        } else {
            ModelCapability::weak()
        }
    }
}
