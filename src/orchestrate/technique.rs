//! Second looks at a draft that code found nothing against (seed 003): questions asked one by one, or two personas.

use crate::base::config::Technique;
use crate::engine::pool::Leased;
use crate::engine::{Grammar, Request};
use crate::models::dialect::Message;

use super::Host;
use super::check;
use super::toolkit::{Toolkit, TurnError};
use super::words;

const QUESTIONS_PROMPT: &str =
    "Write up to three short questions that check the facts of the answer, one a line. Do not answer them.";
/// The draft is not shown, so that what is wrong in it is not said again.
const CHECK_PROMPT: &str =
    "Answer the question from the evidence alone, in one line. If the evidence does not say, write: unknown";
const SCEPTIC_PROMPT: &str =
    "You are a sceptic. In one sentence, say what the evidence does not support in the answer, or what it leaves out.";
const ADVOCATE_PROMPT: &str =
    "You are an advocate. In one sentence, say which line of the evidence supports the answer.";
const QUESTIONS_MAX: usize = 3;
const QUESTIONS: &str = "start: LINE{1,3}\nLINE: /[^\\n?]{5,160}\\?\\n/\n";
const ONE_LINE: &str = "start: /[^\\n]{1,240}/\n";
const QUESTIONS_TOKENS: usize = 120;
const LINE_TOKENS: usize = 80;

/// What came of a second look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// What the evidence says otherwise, in words.
    pub against: Vec<String>,
    /// Questions that were asked.
    pub asked: usize,
    /// What the judge is told.
    pub heard: String,
}

/// Looks at `draft` once more by the configured technique.
pub async fn look(
    toolkit: &Toolkit,
    model: &Leased,
    draft: &str,
    evidence: &str,
    host: &dyn Host,
) -> Result<Look, TurnError> {
    let asked = Asked { toolkit, model, host };
    match toolkit.cognitive.technique {
        Technique::Plain | Technique::ThreeMethods => Ok(Look::default()),
        Technique::ChainOfVerification => asked.verified(draft, evidence).await,
        Technique::Debate => {
            let both = format!("Evidence:\n{evidence}\nAnswer: {draft}");
            let sceptic = asked.one_line(SCEPTIC_PROMPT, &both).await?;
            let advocate = asked.one_line(ADVOCATE_PROMPT, &both).await?;
            Ok(Look { heard: format!("\nA sceptic says: {sceptic}\nAn advocate says: {advocate}"), ..Look::default() })
        }
    }
}

struct Asked<'a> {
    toolkit: &'a Toolkit,
    model: &'a Leased,
    host: &'a dyn Host,
}

impl Asked<'_> {
    /// Chain of verification, factored: each question is answered without the draft, and code compares.
    async fn verified(&self, draft: &str, evidence: &str) -> Result<Look, TurnError> {
        let questions = self.text(QUESTIONS_PROMPT, &format!("Answer: {draft}"), QUESTIONS, QUESTIONS_TOKENS).await?;
        let mut look = Look::default();
        for question in questions.lines().map(str::trim).filter(|line| line.ends_with('?')).take(QUESTIONS_MAX) {
            let known = self.one_line(CHECK_PROMPT, &format!("Evidence:\n{evidence}\n\nQuestion: {question}")).await?;
            look.asked += 1;
            if differs(&known, draft, evidence) {
                look.against.push(format!("{question} The evidence says: {known}"));
            }
        }
        Ok(look)
    }

    async fn one_line(&self, system: &str, user: &str) -> Result<String, TurnError> {
        Ok(self.text(system, user, ONE_LINE, LINE_TOKENS).await?.trim().to_owned())
    }

    async fn text(&self, system: &str, user: &str, grammar: &str, tokens: usize) -> Result<String, TurnError> {
        let messages = [Message::system(system), Message::user(user)];
        let request = Request {
            grammar: Some(Grammar::Lark(grammar.to_owned())),
            ..self.model.engine.request(&self.model.dialect.render(&messages), tokens)
        };
        Ok(self.toolkit.generate(self.model, request, "looking twice", self.host).await?.text)
    }
}

/// Whether `known` names something (a number, a path, a name of code) that the evidence backs and the draft does not say.
fn differs(known: &str, draft: &str, evidence: &str) -> bool {
    let marks = words::marks(known);
    let backed = |mark: &String| check::is_backed(evidence, mark);
    !marks.is_empty() && marks.iter().all(backed) && !marks.iter().any(|mark| check::is_backed(draft, mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_evidence_backs_speaks_against_a_draft() {
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
