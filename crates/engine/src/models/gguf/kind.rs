//! Determines from the header what a GGUF file is: a model that writes text, or a file for another purpose.

use serde::Serialize;

use super::Tensor;
use super::parse::Parsed;
use crate::models::architectures::{self, Work};

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Writes text and has a chat template.
    Chat,
    /// Writes text, but has no chat template.
    Base,
    /// Turns images or sound into vectors for a chat model (`mmproj`).
    Projector,
    /// Drafts tokens for a specific chat model: MTP heads, EAGLE, DFlash.
    Draft,
    /// Turns text into vectors.
    Embedding,
    /// Scores how well a text answers a question.
    Reranker,
    /// A LoRA adapter for a model.
    Adapter,
    /// A vocabulary or an importance matrix, without model weights.
    Data,
    /// Speech, diffusion and anything else that does not write text token by token.
    Other,
}

/// `enum llama_pooling_type` in llama.h: the value for models that rank; 1 to 3 make one vector per
/// text.
const POOLING_RANK: u32 = 4;

impl Kind {
    pub(super) fn of(parsed: &Parsed<'_>, architecture: &str, name: &str, tensors: &[Tensor]) -> Kind {
        let own = |key: &str| format!("{architecture}.{key}");
        let says = |word: &str| name.to_lowercase().contains(word);
        let has = |test: &dyn Fn(&str) -> bool| tensors.iter().any(|tensor| test(&tensor.name));
        let pooling = parsed.number(&own("pooling_type")).unwrap_or(0);
        match parsed.text("general.type").as_deref() {
            Some("adapter") => return Kind::Adapter,
            Some("mmproj") => return Kind::Projector,
            Some("imatrix" | "vocab") => return Kind::Data,
            _ => {}
        }
        match architectures::work(architecture) {
            Some(Work::Projects) => return Kind::Projector,
            Some(Work::Drafts) => return Kind::Draft,
            Some(Work::Other) => return Kind::Other,
            _ => {}
        }
        // Prediction heads in a separate file: they state which layer of their model they follow,
        // and lack its first layer.
        if has(&|tensor| tensor.contains(".nextn.")) && !has(&|tensor| tensor.starts_with("blk.0.")) {
            return Kind::Draft;
        }
        let ranks = has(&|tensor| tensor.starts_with("cls.")) || says("rerank");
        let encodes = architectures::work(architecture) == Some(Work::Encodes);
        match pooling {
            POOLING_RANK => Kind::Reranker,
            _ if ranks => Kind::Reranker,
            1..POOLING_RANK => Kind::Embedding,
            _ if encodes || parsed.flag(&own("attention.causal")) == Some(false) => Kind::Embedding,
            _ if parsed.text("tokenizer.chat_template").is_some() => Kind::Chat,
            _ => Kind::Base,
        }
    }

    /// Whether it can plan, route and answer.
    pub fn writes_text(self) -> bool {
        matches!(self, Kind::Chat | Kind::Base)
    }

    /// In words, to follow "is".
    pub fn name(self) -> &'static str {
        match self {
            Kind::Chat => "a chat model",
            Kind::Base => "a base model (no chat template)",
            Kind::Projector => "a projector for images or sound (mmproj)",
            Kind::Draft => "a draft head (it guesses tokens for another model)",
            Kind::Embedding => "an embedding model",
            Kind::Reranker => "a re-ranker",
            Kind::Adapter => "a LoRA adapter",
            Kind::Data => "a file without weights (vocabulary or importance matrix)",
            Kind::Other => "a model that writes no text (speech, diffusion)",
        }
    }
}
