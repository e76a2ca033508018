//! Reads pictures with a vision model: those of a request before it is carried out, and those that a call names.
//!
//! The model's words are passed on as a text under a name that states who read the picture: they
//! are a model's words, not the picture.

use std::fmt::Display;
use std::io::Read;

use serde_json::Value;

use super::execute::Scene;
use super::player::{Player, Query};
use super::{Host, Toolkit, TurnError, budget, of_servers, parts};
use crate::budget::permit::Priority;
use crate::language::clauses::Part;
use crate::models::dialect::Message;
use crate::models::{Picture, Role, picture};
use crate::protocol::GIVEN_MAX;
use crate::request::{Kind, Text};
use crate::tools::builtin::Builtin;
use crate::tools::confine::Access;
use crate::tools::{Context, Outcome, ToolCall};

const PROMPT: &str = include_str!("prompts/picture.md");

/// Reads the pictures that are attached to `request` and those that it names, and adds their
/// content to the toolkit. If an attached picture is not read, the turn ends before anything is
/// done; a picture that is only named is left out with a notice.
pub async fn read(
    toolkit: &mut Toolkit,
    pictures: Vec<Picture>,
    request: &str,
    host: &dyn Host,
) -> Result<(), TurnError> {
    let wish = wish(request);
    let named = named(toolkit, request, host);
    hand_over(toolkit, &pictures, request, host).await?;
    let room = GIVEN_MAX.saturating_sub(toolkit.given.len());
    for picture in named.into_iter().filter(|one| !pictures.contains(one)).take(room) {
        let handed = match look(toolkit, &picture, &wish, host).await {
            Ok((said, name)) => of_servers::hand_over(toolkit, host, name, said),
            Err(TurnError::Cancelled) => return Err(TurnError::Cancelled),
            Err(why) => Err(why.to_string()),
        };
        if let Err(why) = handed {
            host.notice(&format!("{} was not read: {why}", picture.name()));
        }
    }
    Ok(())
}

/// Adds what pictures show to the toolkit; fails if one is not read.
pub(super) async fn hand_over(
    toolkit: &mut Toolkit,
    pictures: &[Picture],
    request: &str,
    host: &dyn Host,
) -> Result<(), TurnError> {
    for picture in pictures {
        let (said, name) = look(toolkit, picture, &wish(request), host).await?;
        of_servers::hand_over(toolkit, host, name, said).map_err(TurnError::NotFetched)?;
    }
    Ok(())
}

/// The words with which a model looks at a picture for a request.
fn wish(request: impl Display) -> String {
    format!("The request: {request}")
}

/// The pictures of the project that a request asks about or bases a change on, if a model can see
/// them; else a notice gives the reason.
fn named(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Vec<Picture> {
    let Some(context) = toolkit.context.as_ref() else { return Vec::new() };
    let clauses = parts(toolkit, &Text::of(request));
    let looks = |part: &&Part| {
        !toolkit.tool_for(part).is_some_and(Builtin::mutates) && matches!(Kind::of_clause(part), Kind::Ask | Kind::Edit)
    };
    let asked = clauses.iter().filter(looks);
    let mut paths: Vec<&str> = Vec::new();
    for path in asked.flat_map(|part| &part.paths).filter(|path| picture::is_named(path)) {
        if !paths.contains(&path.as_str()) {
            paths.push(path);
        }
    }
    let exists = |path: &&str| context.root.resolve(path, Access::Read).is_ok();
    paths.retain(exists);
    if paths.is_empty() {
        return Vec::new();
    }
    if !are_seen(toolkit) {
        if let Err(why) = toolkit.pool.sight(eye(toolkit)) {
            host.notice(&format!("pictures not read: {}; {why}", paths.join(", ")));
        }
        return Vec::new();
    }
    let read = |path| of_project(context, path).map_err(|why| host.notice(&why)).ok();
    paths.into_iter().take(GIVEN_MAX).filter_map(read).collect()
}

/// The role whose model looks at pictures: the one set for it, else the model that plans this turn
/// or the planner, whichever can see.
fn eye(toolkit: &Toolkit) -> Role {
    if toolkit.pool.plays(Role::Vision) {
        return Role::Vision;
    }
    let sees = |role: &Role| toolkit.pool.sight(*role).is_ok();
    [toolkit.planner(), Role::Planner].into_iter().find(sees).unwrap_or(toolkit.planner())
}

/// Whether a model is known to see. For a planner on a server, this becomes clear only when it is
/// asked.
pub fn are_seen(toolkit: &Toolkit) -> bool {
    let role = eye(toolkit);
    role == Role::Vision || !toolkit.is_away(role) && toolkit.pool.sight(role).is_ok()
}

/// A picture of the project.
fn of_project(context: &Context, path: &str) -> Result<Picture, String> {
    let file = context.root.resolve(path, Access::Read).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    // A single byte too many is enough to refuse the file.
    let most = picture::FILE_MAX.0 + 1;
    let mut open = file.open().map_err(|error| error.to_string())?.take(most);
    open.read_to_end(&mut bytes).map_err(|error| format!("{path} cannot be read: {error}"))?;
    Picture::read(file.relative(), bytes).map_err(|error| error.to_string())
}

/// A vision model's text about a picture, and the name under which it is passed on. If a server
/// fails, a model of this process that can replace it looks instead.
async fn look(
    toolkit: &Toolkit,
    picture: &Picture,
    wish: &str,
    host: &dyn Host,
) -> Result<(String, String), TurnError> {
    let model = toolkit.model(eye(toolkit), host).await?;
    let (said, model) = match seen_by(toolkit, &model, picture, wish, host).await {
        Err(why) if model.here().is_none() => {
            let here: Player = toolkit.stand_in(model.role(), why, host).await?.into();
            (seen_by(toolkit, &here, picture, wish, host).await?, here)
        }
        said => (said?, model),
    };
    if said.is_empty() {
        let why = format!("{} gave no description of {}; try another model", model.name(), picture.name());
        return Err(TurnError::NotFetched(why));
    }
    Ok((said, format!("{}, as read by {}", picture.name(), model.name())))
}

/// One model's words about a picture.
async fn seen_by(
    toolkit: &Toolkit,
    model: &Player,
    picture: &Picture,
    wish: &str,
    host: &dyn Host,
) -> Result<String, TurnError> {
    let (pool, cancel, here, shown) =
        (toolkit.pool.clone(), toolkit.cancel.clone(), model.here().cloned(), picture.clone());
    let ready = tokio::task::spawn_blocking(move || match here {
        Some(model) => pool.see(&model, &mut || !cancel.is_cancelled()),
        None => pool.prepare(&shown),
    });
    tokio::select! {
        () = toolkit.cancel.cancelled() => return Err(TurnError::Cancelled),
        ready = ready => ready.map_err(|why| TurnError::Lost(why.to_string()))??,
    }
    let asked = Message::user("").and_picture(picture.clone()).and_text(&format!("\n{wish}"));
    let messages = [Message::system(PROMPT.trim()), asked];
    let query =
        Query { priority: Priority::User, hands_over: true, ..Query::of(&messages, budget::picture(model.context())) };
    Ok(toolkit.ask(model, query, "reading a picture", host).await?.text.trim().to_owned())
}

/// The outcome, with its pictures replaced by a vision model's reading of them; unchanged without
/// such a model. Fails only if the turn is cancelled.
pub async fn told(Scene { toolkit, request, host, .. }: Scene<'_>, mut outcome: Outcome) -> Result<Outcome, TurnError> {
    if outcome.pictures.is_empty() || !are_seen(toolkit) {
        return Ok(outcome);
    }
    for picture in std::mem::take(&mut outcome.pictures) {
        let said = match look(toolkit, &picture, &wish(request), host).await {
            Ok((said, name)) => format!("{name}:\n{said}"),
            Err(TurnError::Cancelled) => return Err(TurnError::Cancelled),
            Err(why) => format!("{} was not read: {why}", picture.name()),
        };
        outcome.text += &format!("\n{said}");
    }
    Ok(outcome)
}

/// A call that looks at a picture of the project.
pub struct Look<'c> {
    path: &'c str,
    question: Option<&'c str>,
}

impl Look<'_> {
    /// The look that a call requests: `describe_image`, or `read_file` of a picture.
    pub fn of(call: &ToolCall) -> Option<Look<'_>> {
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
        let path = text("path")?;
        let looks = call.tool == Builtin::DescribeImage.name();
        let reads = call.tool == Builtin::ReadFile.name() && picture::is_named(path);
        (looks || reads).then(|| Look { path, question: text("question") })
    }

    /// Fails only if the turn is cancelled; any other failure becomes the outcome.
    pub async fn run(self, Scene { toolkit, context, request, host }: Scene<'_>) -> Result<Outcome, TurnError> {
        let path = self.path;
        if let Err(why) = toolkit.pool.sight(eye(toolkit)) {
            return Ok(Outcome::error(format!("{path} is a picture, and {why}")));
        }
        let picture = match of_project(context, path) {
            Ok(picture) => picture,
            Err(why) => return Ok(Outcome::error(why)),
        };
        let wish = self.question.map_or(wish(request), |one| format!("The question: {one}"));
        match look(toolkit, &picture, &wish, host).await {
            Ok((said, name)) => Ok(Outcome::ok(format!("{name}:\n{said}"))),
            Err(TurnError::Cancelled) => Err(TurnError::Cancelled),
            Err(why) => Ok(Outcome::error(why.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_looks_at_a_picture_by_its_tool_or_by_the_ending_of_its_file() {
        let looks = |tool: &str, path: &str| {
            let arguments = [("path".to_owned(), path.into())].into_iter().collect();
            Look::of(&ToolCall { tool: tool.to_owned(), arguments }).is_some()
        };
        assert!(looks("describe_image", "scan.dat") && looks("read_file", "docs/Plan.JPEG"));
        assert!(!looks("read_file", "png.rs") && !looks("delete_file", "plan.png") && !looks("read_file", "png"));
    }
}
