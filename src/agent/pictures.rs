//! Has the pictures of a request read by a model that sees, so that every way of a turn can use what they show.
//!
//! What the model says goes along as a text that the user hands over, under a name that says who read
//! it: it is a model's word, not the picture.

use super::player::Query;
use super::{Host, Toolkit, TurnError, budget, of_servers};
use crate::budget::permit::Priority;
use crate::models::dialect::Message;
use crate::models::{Picture, Role};
use crate::protocol::Shown;

const PICTURE: &str = include_str!("prompts/picture.md");

/// Reads `pictures` for `request` and adds what they show to the toolkit. A failure ends the turn
/// before anything is done.
pub async fn read(
    toolkit: &mut Toolkit,
    pictures: Vec<Shown>,
    request: &str,
    host: &dyn Host,
) -> Result<(), TurnError> {
    if pictures.is_empty() {
        return Ok(());
    }
    let model = toolkit.model(Role::Planner, host).await?;
    if let Some(here) = model.here().cloned() {
        let pool = toolkit.pool.clone();
        tokio::task::spawn_blocking(move || pool.see(&here))
            .await
            .map_err(|why| TurnError::Lost(why.to_string()))??;
    }
    for Shown { name, file } in pictures {
        let unread = |why: String| TurnError::NotFetched(why);
        let picture = Picture::read(&name, file).map_err(|error| unread(error.to_string()))?;
        let asked = Message::user("").and_picture(picture).and_text(&format!("\nThe request: {request}"));
        let messages = [Message::system(PICTURE.trim()), asked];
        let query = Query { priority: Priority::User, ..Query::of(&messages, budget::picture(model.context())) };
        let said = toolkit.ask(&model, query, "reading a picture", host).await?.text.trim().to_owned();
        if said.is_empty() {
            return Err(unread(format!("{} said nothing about {name}; ask with another model", model.name())));
        }
        of_servers::hand_over(toolkit, host, format!("{name}, as read by {}", model.name()), said).map_err(unread)?;
    }
    Ok(())
}
