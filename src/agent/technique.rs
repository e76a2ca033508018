//! Reviews a draft that passed the code check: by verification questions one by one, or by two
//! personas.

use crate::config::Technique;

use super::toolkit::TurnError;
use crate::agent::question::{Form, Question};
use crate::language::grounding;
use crate::language::words;

const QUESTIONS_PROMPT: &str =
    "Write up to three short questions that check the facts of the answer, one a line. Do not answer them.";
/// A question without the draft, so that the model does not repeat the draft's errors.
const CHECK_PROMPT: &str =
    "Answer the question from the evidence alone, in one line. If the evidence does not say, write: unknown";
const SCEPTIC_PROMPT: &str =
    "You are a sceptic. In one sentence, say what the evidence does not support in the answer, or what it leaves out.";
const ADVOCATE_PROMPT: &str =
    "You are an advocate. In one sentence, say which line of the evidence supports the answer.";
const QUESTIONS_MAX: usize = 3;
const QUESTIONS: Form = Form { grammar: "start: LINE{1,3}\nLINE: /[^\\n?]{5,160}\\?\\n/\n", tokens_max: 120 };
const ONE_LINE: Form = Form { grammar: "start: /[^\\n]{1,240}/\n", tokens_max: 80 };

/// The result of a review.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Contradictions between the draft and the evidence, in words.
    pub against: Vec<String>,
    /// Number of verification questions asked.
    pub asked: usize,
    /// Text that is added to the judge's prompt.
    pub heard: String,
}

/// Reviews `draft` by this technique; the result is empty for techniques without a review.
pub async fn look(asked: Question<'_>, technique: Technique, draft: &str, evidence: &str) -> Result<Look, TurnError> {
    let asked = Question { phase: "looking twice", ..asked };
    match technique {
        Technique::Plain | Technique::ThreeMethods => Ok(Look::default()),
        Technique::ChainOfVerification => verified(asked, draft, evidence).await,
        Technique::Debate => {
            let both = format!("Evidence:\n{evidence}\nAnswer: {draft}");
            let sceptic = one_line(asked, SCEPTIC_PROMPT, &both).await?;
            let advocate = one_line(asked, ADVOCATE_PROMPT, &both).await?;
            Ok(Look { heard: format!("\nA sceptic says: {sceptic}\nAn advocate says: {advocate}"), ..Look::default() })
        }
    }
}

/// Factored chain of verification (Dhuliawala et al. 2023): each question is answered without the
/// draft, and code compares the answers with it.
async fn verified(asked: Question<'_>, draft: &str, evidence: &str) -> Result<Look, TurnError> {
    let questions = asked.text(QUESTIONS_PROMPT, &format!("Answer: {draft}"), QUESTIONS).await?;
    let mut look = Look::default();
    for question in questions.lines().map(str::trim).filter(|line| line.ends_with('?')).take(QUESTIONS_MAX) {
        let known = one_line(asked, CHECK_PROMPT, &format!("Evidence:\n{evidence}\n\nQuestion: {question}")).await?;
        look.asked += 1;
        if differs(&known, draft, evidence) {
            look.against.push(format!("{question} The evidence says: {known}"));
        }
    }
    Ok(look)
}

async fn one_line(asked: Question<'_>, system: &str, user: &str) -> Result<String, TurnError> {
    Ok(asked.text(system, user, ONE_LINE).await?.trim().to_owned())
}

/// Whether `known` contains numbers, paths or identifiers, all of them in the evidence and none in
/// the draft.
fn differs(known: &str, draft: &str, evidence: &str) -> bool {
    let marks = words::marks(known);
    let backed = |mark: &String| grounding::is_backed(evidence, mark);
    !marks.is_empty() && marks.iter().all(backed) && !marks.iter().any(|mark| grounding::is_backed(draft, mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_facts_in_the_evidence_contradict_a_draft() {
        let evidence = "src/retry.ts:2: export const MAX_ATTEMPTS = 5;";
        let check = |known: &str, expected: bool| {
            assert_eq!(differs(known, "A request is tried 3 times.", evidence), expected, "{known}");
        };
        check("It is tried 5 times.", true);
        check("It is tried 3 times.", false);
        check("It is tried 9 times.", false);
        check("unknown", false);
    }
}
