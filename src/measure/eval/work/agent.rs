//! Agents that carry out the requests of a suite: this program, or any other that can be started from a shell.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use super::child::Ended;
use crate::protocol::{Event, Record, Usage};

/// Maximum number of characters kept from an answer; nobody reads more.
const ANSWER_CHARS_MAX: usize = 200_000;

#[derive(Clone, Debug)]
pub enum Agent {
    /// This program, with settings as command-line arguments: `--model-dir`, `models`, …
    Own { program: PathBuf, settings: Vec<OsString> },
    /// A command line with `{project}` and `{request}` in it.
    Other(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    pub answer: String,
    /// `None` if the agent does not report it.
    pub cost: Option<Cost>,
}

/// The cost of the models for one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Model calls that generate text.
    pub calls: usize,
    /// Tokens of the first prompt, and of all prompts together.
    pub first_prompt: usize,
    pub prompts: usize,
    /// Tokens that models read (outside the prefix cache) and wrote.
    pub tokens: usize,
}

impl Cost {
    fn of(usage: &Usage) -> Cost {
        Cost {
            calls: usage.model_calls,
            first_prompt: usage.calls.first().map_or(0, |call| call.prompt_tokens),
            prompts: usage.prompt_tokens,
            tokens: usage.budget.task_tokens,
        }
    }
}

impl Agent {
    /// The program that is running now.
    pub fn own(settings: Vec<OsString>) -> Result<Agent> {
        let program = std::env::current_exe().context("the path of this program is unknown")?;
        Ok(Agent::Own { program, settings })
    }

    pub fn other(line: &str) -> Result<Agent> {
        if !line.contains("{request}") {
            bail!(
                "--agent `{line}` has no {{request}}; write it where the request goes, and {{project}} for the folder"
            );
        }
        Ok(Agent::Other(line.to_owned()))
    }

    /// The command that carries out `request` in the folder `project`.
    pub fn command(&self, project: &Path, request: &str) -> Command {
        match self {
            Agent::Own { program, settings } => {
                let mut command = Command::new(program);
                command.args(["ask", "--yes", "--json"]).args(settings).arg("--project").arg(project);
                command.args(["--", request]);
                command
            }
            Agent::Other(line) => {
                let project_name = project.to_string_lossy();
                // The request is inserted last, so that `{project}` inside it is not replaced.
                let line = line.replace("{project}", &quoted(&project_name)).replace("{request}", &quoted(request));
                let mut command = Command::new("bash");
                command.args(["-c", &line]).current_dir(project);
                command
            }
        }
    }

    /// The result, parsed from the agent's output.
    pub fn said(&self, ended: &Ended) -> Said {
        let result = match self {
            Agent::Own { .. } => ended.stdout.lines().rev().find_map(finished).unwrap_or_default(),
            Agent::Other(_) => Said { answer: ended.stdout.trim().to_owned(), cost: None },
        };
        Said { answer: result.answer.chars().take(ANSWER_CHARS_MAX).collect(), ..result }
    }
}

/// Answer and cost, if the line is a `turn-finished` event.
fn finished(line: &str) -> Option<Said> {
    // Most lines are tokens of the answer: skip them without parsing.
    if !line.contains("\"turn-finished\"") {
        return None;
    }
    match serde_json::from_str::<Record>(line).ok()?.event {
        Event::TurnFinished(turn) => Some(Said { cost: Some(Cost::of(&turn.usage)), answer: turn.answer }),
        _ => None,
    }
}

/// `text` quoted as one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ConversationId;
    use crate::protocol::{BudgetReport, CallCost, TurnFinished};

    fn ended(stdout: &str) -> Ended {
        Ended { success: true, cut: false, stdout: stdout.to_owned(), stderr: String::new(), seconds: 1.0 }
    }

    #[test]
    fn a_request_reaches_another_agent_as_one_word() {
        let agent = Agent::other("printf '%s|' {project} {request}").unwrap();
        let folder = tempfile::tempdir().unwrap();
        for request in ["it's \"so\" $HOME `ls`; rm -rf x", "two\nlines", "{project}"] {
            let output = agent.command(folder.path(), request).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}|{request}|", folder.path().display()));
        }
        assert!(Agent::other("agent {project}").is_err());
    }

    #[test]
    fn the_answer_of_this_program_is_in_its_last_event() {
        let budget = BudgetReport { task_tokens: 77, ..Default::default() };
        let calls = [40, 20].map(|prompt_tokens| CallCost { prompt_tokens, ..Default::default() }).to_vec();
        let usage = Usage { model_calls: 2, prompt_tokens: 60, budget, calls, ..Default::default() };
        let turn = TurnFinished { request: "r".to_owned(), answer: "So it is.".to_owned(), steps: vec![], usage };
        let record = Record::now(&ConversationId("c".to_owned()), Event::TurnFinished(turn));
        let line = serde_json::to_string(&record).unwrap();
        let own = Agent::own(vec![]).unwrap();
        let cost = Cost { calls: 2, first_prompt: 40, prompts: 60, tokens: 77 };
        let expected = Said { answer: "So it is.".to_owned(), cost: Some(cost) };
        assert_eq!(own.said(&ended(&format!("{{\"type\":\"token\"}}\n{line}\n"))), expected);
        assert_eq!(own.said(&ended("no event\n")), Said::default());
    }
}
