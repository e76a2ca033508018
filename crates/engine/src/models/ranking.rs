//! How a re-ranker's file scores a text for a question: which of its outputs counts, and with which prompt it was trained.

use super::architectures::{self, Work};
use super::gguf::{Header, Kind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// Number of outputs of its classification head.
    pub outputs: usize,
    /// The output that is the score.
    pub output: usize,
    /// The prompt, with `{query}` and `{document}`; `None` if the two texts are separated by
    /// special tokens alone.
    pub template: Option<String>,
}

/// The head that llama.cpp puts on the pooled vector (`llm_graph_context::build_pooling`). Without
/// it a number of the hidden vector would look like a score.
const HEAD: &str = "cls.output.weight";
/// The only architecture whose whole head is the tensor before it.
const SHORT_HEAD: (&str, &str) = ("jina-bert-v2", "cls.weight");
/// The output that says that a text answers the question, where outputs have names.
const YES: &str = "yes";
const QUERY: &str = "{query}";
const DOCUMENT: &str = "{document}";
const WAY_OUT: &str = "name another GGUF in [reranker] of models.toml, or take it out";

impl Ranking {
    /// The scoring of a re-ranker's file. The error follows the file's name.
    pub fn of(header: &Header) -> Result<Ranking, String> {
        let Header { kind, architecture, labels, rerank_template, .. } = header;
        match architectures::work(architecture) {
            Some(Work::Generates | Work::Encodes) => {}
            Some(_) => {
                return Err(format!("has the architecture `{architecture}`, which cannot score texts; {WAY_OUT}"));
            }
            None => {
                return Err(format!(
                    "has the architecture `{architecture}`, which this build of llama.cpp does not support; {WAY_OUT}"
                ));
            }
        }
        if *kind != Kind::Reranker {
            return Err(format!("is {}, not a re-ranker; {WAY_OUT}", kind.name()));
        }
        let shape = |name: &str| header.tensors.iter().find(|tensor| tensor.name == name).map(|tensor| &tensor.shape);
        let (short, last) = SHORT_HEAD;
        let head = shape(HEAD).or_else(|| shape(last).filter(|_| architecture == short));
        let Some(head) = head else {
            return Err(format!(
                "has no classification head ({HEAD}), so llama.cpp cannot score with it: take a conversion that has one \
                 (for Qwen3-Reranker, one by llama.cpp's own converter); {WAY_OUT}"
            ));
        };
        let outputs = head.get(1).copied().unwrap_or(1).max(1) as usize;
        if outputs != labels.len().max(1) {
            return Err(format!("has {outputs} outputs and {} names for them; {WAY_OUT}", labels.len()));
        }
        let output = match labels.iter().position(|label| label.eq_ignore_ascii_case(YES)) {
            Some(yes) => yes,
            None if outputs == 1 => 0,
            None => {
                return Err(format!(
                    "has the outputs {}, none of which says how well a text answers a question; {WAY_OUT}",
                    labels.join(", ")
                ));
            }
        };
        let lacks = |place: &&str| rerank_template.as_ref().is_some_and(|template| !template.contains(*place));
        if let Some(place) = [QUERY, DOCUMENT].into_iter().find(lacks) {
            return Err(format!("has a prompt for re-ranking without {place}; {WAY_OUT}"));
        }
        Ok(Ranking { outputs, output, template: rerank_template.clone() })
    }

    /// A template in its parts: literal texts, and where question and text belong.
    pub fn parts(template: &str) -> Vec<RankingPart<'_>> {
        let mut parts = Vec::new();
        let mut rest = template;
        while !rest.is_empty() {
            let places = [(QUERY, RankingPart::Question), (DOCUMENT, RankingPart::Text)];
            let next = places.into_iter().filter_map(|(name, part)| Some((rest.find(name)?, name, part)));
            let Some((at, name, part)) = next.min_by_key(|(at, ..)| *at) else {
                parts.push(RankingPart::Literal(rest));
                break;
            };
            if at > 0 {
                parts.push(RankingPart::Literal(&rest[..at]));
            }
            parts.push(part);
            rest = &rest[at + name.len()..];
        }
        parts
    }
}

/// A part of the prompt of a re-ranker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankingPart<'t> {
    Literal(&'t str),
    Question,
    Text,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::gguf::write::HeaderWriter;
    use crate::models::gguf::{TensorType, inspect};

    fn of(
        architecture: &str,
        head: Option<(&str, u64)>,
        change: impl Fn(HeaderWriter) -> HeaderWriter,
    ) -> Result<Ranking, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.gguf");
        let writer = HeaderWriter::new(architecture)
            .u32(&format!("{architecture}.block_count"), 1)
            .u32(&format!("{architecture}.embedding_length"), 64)
            .u32(&format!("{architecture}.context_length"), 512);
        let mut writer = change(writer);
        if let Some((name, outputs)) = head {
            writer.tensor(name, &[64, outputs], TensorType::by_name("f32").unwrap());
        }
        std::fs::write(&path, writer.finish_with_zeros()).unwrap();
        Ranking::of(&inspect(&path).unwrap())
    }

    #[test]
    fn a_re_ranker_needs_a_head_whose_score_is_known() {
        let ranks = |architecture: &'static str| {
            move |writer: HeaderWriter| writer.u32(&format!("{architecture}.pooling_type"), 4)
        };
        let named = |labels: &'static [&'static str]| {
            move |writer: HeaderWriter| {
                let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
                writer.u32("qwen3.pooling_type", 4).texts("qwen3.classifier.output_labels", &labels)
            }
        };
        let one = Ranking { outputs: 1, output: 0, template: None };
        assert_eq!(of("bert", Some((HEAD, 1)), ranks("bert")), Ok(one.clone()));
        assert_eq!(of("jina-bert-v2", Some(("cls.weight", 1)), ranks("jina-bert-v2")), Ok(one.clone()));
        let two = Ranking { outputs: 2, output: 1, ..one };
        assert_eq!(of("qwen3", Some((HEAD, 2)), named(&["no", "yes"])), Ok(two));
        let check = |found: Result<Ranking, String>, part: &str| {
            let why = found.unwrap_err();
            assert!(why.contains(part) && why.contains("[reranker]"), "{why}");
        };
        check(of("bert", Some(("cls.weight", 64)), ranks("bert")), "has no classification head (cls.output.weight)");
        check(of("qwen3", None, ranks("qwen3")), "has no classification head");
        check(of("qwen3", Some((HEAD, 2)), named(&["entails", "contradicts"])), "entails, contradicts, none of which");
        check(of("qwen3", Some((HEAD, 2)), ranks("qwen3")), "has 2 outputs and 0 names");
        check(of("bert", None, |writer| writer.u32("bert.pooling_type", 1)), "is an embedding model, not a re-ranker");
        check(
            of("hal9000", Some((HEAD, 1)), ranks("hal9000")),
            "has the architecture `hal9000`, which this build of llama.cpp does not support",
        );
        let prompt = |writer: HeaderWriter| {
            named(&["yes", "no"])(writer).text("tokenizer.chat_template.rerank", "Judge {query}")
        };
        check(of("qwen3", Some((HEAD, 2)), prompt), "without {document}");
    }

    #[test]
    fn a_prompt_is_divided_where_question_and_text_belong() {
        use RankingPart::{Literal, Question, Text};
        let parts = Ranking::parts("<|a|>{query}\n{document}{query}.");
        assert_eq!(parts, [Literal("<|a|>"), Question, Literal("\n"), Text, Question, Literal(".")]);
    }
}
