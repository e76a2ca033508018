//! Parses a line of a conversation: a request, or a command that begins with a slash.

use crate::app::Back;
use crate::checkpoint::Foreign;
use crate::config::Think;
use crate::protocol::ModelsOp;

/// Every command with its arguments and effect.
pub const COMMANDS: [(&str, &str); 17] = [
    ("/models", "the available model files, and what each would take"),
    ("/load NAME", "load a role's model, or a file from the model folder"),
    ("/unload NAME", "give a model's memory back"),
    ("/swap OLD NEW", "replace OLD with NEW, which takes over OLD's roles"),
    ("/ps", "what is in memory; answers while a request runs"),
    ("/pin NAME", "keep a model in memory"),
    ("/unpin NAME", "no longer keep it"),
    ("/retry", "ask the last request again, such as after an error"),
    (
        "/undo",
        "undo the last request that changed files; /undo keep, /undo force: keep or overwrite what others changed",
    ),
    ("/rewind C", "go back to a checkpoint, such as c3"),
    ("/checkpoints", "the states to go back to"),
    ("/think N", "tokens that models may think before an answer; /think off, /think auto"),
    ("/resume", "the conversations of this project; /resume 1 continues the last one"),
    ("/mcp", "the resources and prompts of MCP servers: @SERVER:URI in a request, /SERVER:PROMPT WORDS as one"),
    ("/help", "this list"),
    ("/exit", "quit once earlier requests are done; so does Ctrl-D"),
    ("/quit", "the same"),
];

/// The text of `/help`.
pub fn help() -> String {
    let request = ("anything else", "is a request, as with `monobloc ask`");
    let rows = [request].into_iter().chain(COMMANDS).map(|(command, what)| format!("{command:<18} {what}\n"));
    let end = "A NAME is planner, router, a file, or a part of a file's name. Ctrl-C ends the running request, or the conversation if there is none.";
    rows.collect::<String>() + end
}

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Nothing,
    /// Answered immediately, even while a request is running.
    Show(Show),
    /// Queued and done in order.
    Work(Work),
    /// An unknown command or wrong arguments, with a message for the user.
    Wrong(String),
}

/// The output of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    Memory,
    Files,
    Checkpoints,
    Talks,
    Help,
}

/// Work that runs in order, one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    Request(String),
    /// Repeats the last request.
    Retry,
    Models(ModelsOp),
    /// Lists the resources and prompts of servers, which are started for this.
    Offers,
    Back(Back),
    /// Continues the conversation with this number; 1 is the last one.
    Resume(usize),
    /// Sets how much models think from now on.
    Think(Think),
    Exit,
}

/// Parses one line. A first word with a second slash is a path, so `/etc/hosts is …` is a request;
/// one with a colon names a server's prompt.
pub fn read(line: &str) -> Line {
    let line = line.trim();
    let words: Vec<&str> = line.split_whitespace().collect();
    let models = |op: ModelsOp| Line::Work(Work::Models(op));
    match words.as_slice() {
        [] => Line::Nothing,
        [first, ..] if !first.starts_with('/') || first[1..].contains(['/', ':']) => {
            Line::Work(Work::Request(line.to_owned()))
        }
        ["/models"] => Line::Show(Show::Files),
        ["/ps"] => Line::Show(Show::Memory),
        ["/checkpoints"] => Line::Show(Show::Checkpoints),
        ["/resume"] => Line::Show(Show::Talks),
        ["/help"] => Line::Show(Show::Help),
        ["/retry"] => Line::Work(Work::Retry),
        ["/mcp"] => Line::Work(Work::Offers),
        ["/exit" | "/quit"] => Line::Work(Work::Exit),
        ["/undo", how @ ..] if matches!(how, [] | ["keep" | "force"]) => back(None, how),
        ["/rewind", name, how @ ..] if matches!(how, [] | ["keep" | "force"]) => back(Some(name), how),
        ["/resume", number] if number.parse().is_ok_and(|number: usize| number > 0) => {
            Line::Work(Work::Resume(number.parse().unwrap_or(1)))
        }
        ["/think", how] if how.parse::<Think>().is_ok() => Line::Work(Work::Think(how.parse().unwrap_or_default())),
        ["/load", name] => models(ModelsOp::Load((*name).into())),
        ["/unload", name] => models(ModelsOp::Unload((*name).into())),
        ["/pin", name] => models(ModelsOp::Pin((*name).into())),
        ["/unpin", name] => models(ModelsOp::Unpin((*name).into())),
        ["/swap", old, new] => models(ModelsOp::Swap((*old).into(), (*new).into())),
        [first, ..] => Line::Wrong(form(first)),
    }
}

fn back(to: Option<&str>, how: &[&str]) -> Line {
    let foreign = match how {
        ["keep"] => Some(Foreign::Keep),
        ["force"] => Some(Foreign::Overwrite),
        _ => None,
    };
    Line::Work(Work::Back(Back { to: to.map(str::to_owned), foreign }))
}

/// The syntax of a command, or the list of commands.
fn form(command: &str) -> String {
    let name = |form: &'static str| form.split(' ').next().unwrap_or_default();
    match COMMANDS.iter().find(|(form, _)| name(form) == command) {
        Some((form, what)) => format!("it is written {form}: {what}"),
        None => {
            let names = COMMANDS.map(|(form, _)| name(form));
            format!("{command} is not a command; the commands are {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Line) {
        assert_eq!(read(line), expected, "{line}");
    }

    #[test]
    fn requests_and_commands_are_distinguished() {
        let request = |text: &str| Line::Work(Work::Request(text.into()));
        check("  ", Line::Nothing);
        check(" Read src/a.ts \n", request("Read src/a.ts"));
        check("/src/a.ts has a bug, find it", request("/src/a.ts has a bug, find it"));
        check("/git:review main", request("/git:review main"));
        check("/mcp", Line::Work(Work::Offers));
        check("/ps", Line::Show(Show::Memory));
        check("/load planner", Line::Work(Work::Models(ModelsOp::Load("planner".into()))));
        check("/swap a b", Line::Work(Work::Models(ModelsOp::Swap("a".into(), "b".into()))));
        check("/think 200", Line::Work(Work::Think(Think::Tokens(200))));
        check("/think off", Line::Work(Work::Think(Think::Off)));
        check("/quit", Line::Work(Work::Exit));
        check("/retry", Line::Work(Work::Retry));
        check("/resume", Line::Show(Show::Talks));
        check("/resume 2", Line::Work(Work::Resume(2)));
        check("/undo", Line::Work(Work::Back(Back::default())));
        let back = Back { to: Some("c3".into()), foreign: Some(Foreign::Keep) };
        check("/rewind c3 keep", Line::Work(Work::Back(back)));
    }

    #[test]
    fn a_wrong_command_gets_a_message_that_shows_the_right_form() {
        for (line, form) in [
            ("/load", "/load NAME"),
            ("/swap a", "/swap OLD NEW"),
            ("/think much", "/think N"),
            ("/ps all", "/ps"),
            ("/resume 0", "/resume 1"),
            ("/undo everything", "/undo keep"),
            ("/rewind", "/rewind C"),
            ("/remove x", "/remove is not a command; the commands are /models, /load"),
        ] {
            assert!(matches!(read(line), Line::Wrong(why) if why.contains(form)), "{line}");
        }
    }
}
