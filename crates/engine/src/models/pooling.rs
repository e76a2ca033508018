//! How to pool a text's token vectors: as stated in models.toml, else in the file's header, else in the architecture's documentation.

use serde::Deserialize;

use super::architectures::{self, Work};
use super::gguf::{Header, Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub enum Pooling {
    #[serde(rename = "mean")]
    Mean,
    /// The first token, `[CLS]`.
    #[serde(rename = "cls")]
    First,
    #[serde(rename = "last")]
    Last,
}

/// Architectures documented by their makers to use the mean; early conversions of them do not state
/// the pooling.
const MEAN: [&str; 4] = ["jina-bert-v2", "nomic-bert", "nomic-bert-moe", "gemma-embedding"];
/// Encoders that need a different call.
const UNREAD: &str = "t5encoder";
const WAY_OUT: &str = "name an embedding model in [embedder] of models.toml";

impl Pooling {
    /// The pooling with this number in `enum llama_pooling_type` of llama.h; `None` for no pooling
    /// and for scores.
    pub fn by_number(number: u32) -> Option<Pooling> {
        [Pooling::Mean, Pooling::First, Pooling::Last].into_iter().find(|pooling| pooling.number() == number)
    }

    pub fn number(self) -> u32 {
        match self {
            Pooling::Mean => 1,
            Pooling::First => 2,
            Pooling::Last => 3,
        }
    }

    /// The pooling for an embedder's file. `wished` is the value in models.toml, which also turns a
    /// model whose header identifies it as a text generator into an embedder. The error continues a
    /// sentence that begins with the file's name.
    pub fn of(header: &Header, wished: Option<Pooling>) -> Result<Pooling, String> {
        let Header { kind, architecture, pooling, .. } = header;
        match architectures::work(architecture) {
            None => {
                return Err(format!(
                    "has the architecture `{architecture}`, which this build of llama.cpp does not support; {WAY_OUT}"
                ));
            }
            Some(Work::Generates | Work::Encodes) if architecture != UNREAD => {}
            Some(_) => {
                return Err(format!("has the architecture `{architecture}`, which makes no vectors here; {WAY_OUT}"));
            }
        }
        match (kind, wished) {
            (Kind::Embedding, None) => {}
            (Kind::Embedding | Kind::Chat | Kind::Base, Some(wished)) => return Ok(wished),
            (Kind::Chat | Kind::Base, None) => {
                return Err(format!(
                    "is {} and states no pooling; {WAY_OUT}, or write `pooling` there if this is one",
                    kind.name()
                ));
            }
            _ => return Err(format!("is {}; {WAY_OUT}", kind.name())),
        }
        let stated = pooling.and_then(Pooling::by_number);
        let documented = || MEAN.contains(&architecture.as_str()).then_some(Pooling::Mean);
        stated.or_else(documented).ok_or_else(|| {
            let said = match pooling {
                Some(number) => format!("has {architecture}.pooling_type = {number}"),
                None => format!("has no {architecture}.pooling_type"),
            };
            format!(
                "{said}, so it does not say how a text's tokens become one vector; write pooling = \"mean\", \"cls\" or \
                 \"last\" in [embedder] of models.toml, as its maker recommends"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::models::gguf::inspect;
    use crate::models::gguf::write::HeaderWriter;

    fn header(dir: &Path, architecture: &str, change: impl Fn(HeaderWriter) -> HeaderWriter) -> Header {
        let path = dir.join("m.gguf");
        let writer = HeaderWriter::new(architecture)
            .u32(&format!("{architecture}.block_count"), 1)
            .u32(&format!("{architecture}.embedding_length"), 64)
            .u32(&format!("{architecture}.context_length"), 512);
        std::fs::write(&path, change(writer).finish()).unwrap();
        inspect(&path).unwrap()
    }

    #[test]
    fn the_pooling_is_that_of_models_toml_then_of_the_header_then_of_the_architecture() {
        let dir = tempfile::tempdir().unwrap();
        let check = |architecture: &str, number: Option<u32>, wished, expected: Result<Pooling, &str>| {
            let header = header(dir.path(), architecture, |writer| match number {
                Some(number) => writer.u32(&format!("{architecture}.pooling_type"), number),
                None => writer,
            });
            match (Pooling::of(&header, wished), expected) {
                (found @ Ok(_), expected) => assert_eq!(found, expected.map_err(str::to_owned), "{architecture}"),
                (Err(told), Err(part)) => assert!(told.contains(part), "`{told}` does not say `{part}`"),
                (Err(told), Ok(_)) => panic!("{architecture}: {told}"),
            }
        };
        check("bert", Some(1), None, Ok(Pooling::Mean));
        check("bert", Some(2), None, Ok(Pooling::First));
        check("qwen3", Some(3), None, Ok(Pooling::Last));
        check("bert", Some(2), Some(Pooling::Mean), Ok(Pooling::Mean));
        check("nomic-bert", None, None, Ok(Pooling::Mean));
        check("bert", None, None, Err("has no bert.pooling_type"));
        check("bert", Some(0), None, Err("has bert.pooling_type = 0"));
        check("bert", None, Some(Pooling::First), Ok(Pooling::First));
        check("bert", Some(4), None, Err("is a re-ranker; name an embedding model"));
        check("bert", Some(4), Some(Pooling::Mean), Err("is a re-ranker"));
        check("qwen2", None, None, Err("is a base model (no chat template) and states no pooling"));
        check("qwen2", None, Some(Pooling::Last), Ok(Pooling::Last));
        check("clip", None, Some(Pooling::Last), Err("`clip`, which makes no vectors here"));
        check("t5encoder", Some(1), None, Err("`t5encoder`, which makes no vectors here"));
        check("hal9000", Some(1), None, Err("`hal9000`, which this build of llama.cpp does not support"));
    }
}
