//! The invented tasks, requests and tools of the capability probe.

use serde_json::{Map, Value, json};

use crate::models::capability::{LONG_PLAN, TOOLS_MANY};
use crate::tools::{ToolCall, ToolSpec};

/// A task, the right tool for it, and a text that must occur in the call's arguments.
pub struct Task {
    pub task: &'static str,
    pub tool: &'static str,
    pub value: &'static str,
}

impl Task {
    /// Whether a call uses the right tool with the required text.
    pub fn is_done_by(&self, call: &ToolCall) -> bool {
        call.tool == self.tool && Value::Object(call.arguments.clone()).to_string().contains(self.value)
    }
}

const fn task(task: &'static str, tool: &'static str, value: &'static str) -> Task {
    Task { task, tool, value }
}

/// Tasks, grouped by the number of tools offered: the first ones in [`TOOLS`], which include the
/// right one.
pub const TASKS: [(usize, [Task; 4]); 3] = [
    (
        5,
        [
            task("What is the weather in Oslo?", "get_weather", "Oslo"),
            task("Play the song Blue Moon", "play_music", "Blue Moon"),
            task("Delete the document old.log", "delete_document", "old.log"),
            task("Read the document plan.md to me", "read_document", "plan.md"),
        ],
    ),
    (
        TOOLS_MANY,
        [
            task("Set a timer for 15 minutes", "set_timer", "15"),
            task("Show me what is in notes.txt", "read_document", "notes.txt"),
            task("Make a zip archive of the folder reports", "zip_folder", "reports"),
            task("Translate \"good morning\" into French", "translate_text", "good morning"),
        ],
    ),
    (
        TOOLS.len(),
        [
            task("Resize the picture cat.png to 300 pixels", "resize_picture", "cat.png"),
            task("How many words are in essay.md?", "count_words", "essay.md"),
            task("Which appointments are on 2024-05-01?", "list_appointments", "2024-05-01"),
            task("Set the volume to 40", "set_volume", "40"),
        ],
    ),
];

/// Small talk that needs no tool.
pub const TALK: [&str; 4] = ["Hello!", "Thank you, that was helpful.", "How are you today?", "Good night."];

/// Requests with the number of steps that they need.
pub const PLANS: [(usize, [&str; 2]); 3] = [
    (
        LONG_PLAN,
        [
            "Read plan.md, translate it into French, write the result to plan.fr.md and send it to ann@example.com",
            "List the pictures, resize each to 300 pixels, make a zip archive of them and delete the originals",
        ],
    ),
    (2, ["Read notes.txt and then delete it", "Set the volume to 40 and play Blue Moon"]),
    (1, ["Delete old.log", "Tell me the weather in Oslo"]),
];

/// Name, description and required text parameters.
type Tool = (&'static str, &'static str, &'static [&'static str]);

const TOOLS: [Tool; 24] = [
    ("read_document", "Shows the text of a document.", &["path"]),
    ("delete_document", "Deletes a document.", &["path"]),
    ("get_weather", "Tells the weather of a city.", &["city"]),
    ("play_music", "Plays a song.", &["title"]),
    ("stop_music", "Stops the music.", &[]),
    ("set_timer", "Rings after some minutes.", &["minutes"]),
    ("zip_folder", "Makes a zip archive of a folder.", &["folder"]),
    ("translate_text", "Translates a text into another language.", &["text", "language"]),
    ("send_mail", "Sends a mail.", &["to", "subject"]),
    ("read_mail", "Shows a mail.", &["number"]),
    ("list_documents", "Lists the documents of a folder.", &["folder"]),
    ("move_document", "Moves a document to another folder.", &["path", "folder"]),
    ("take_screenshot", "Makes a picture of the screen.", &[]),
    ("convert_currency", "Converts an amount of money.", &["amount", "currency"]),
    ("lock_screen", "Locks the screen.", &[]),
    ("resize_picture", "Changes the size of a picture.", &["path", "pixels"]),
    ("count_words", "Counts the words of a document.", &["path"]),
    ("add_appointment", "Adds an appointment to the calendar.", &["title", "date"]),
    ("list_appointments", "Lists the appointments of a day.", &["date"]),
    ("set_volume", "Sets how loud it is.", &["level"]),
    ("open_page", "Opens a page of the web.", &["address"]),
    ("write_document", "Writes a text into a document.", &["path", "text"]),
    ("print_document", "Prints a document.", &["path"]),
    ("show_battery", "Tells how full the battery is.", &[]),
];

/// The first `count` tools.
pub fn tools(count: usize) -> Vec<ToolSpec> {
    TOOLS.iter().take(count).map(spec).collect()
}

fn spec((name, description, parameters): &Tool) -> ToolSpec {
    let properties: Map<String, Value> =
        parameters.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    ToolSpec {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": parameters }),
        ..ToolSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::capability::{CALLS, CHOICES, LONG_PLANS, TALKS};

    #[test]
    fn every_right_tool_is_among_those_offered() {
        let mut prompts = TALK.len() + PLANS.iter().map(|(_, requests)| requests.len()).sum::<usize>();
        for (count, tasks) in &TASKS {
            for task in tasks {
                assert!(tools(*count).iter().any(|tool| tool.name == task.tool), "{} of {count}", task.tool);
                assert!(task.task.contains(task.value), "{}", task.task);
            }
            // Tasks with a short list of tools are asked again, inside a grammar.
            prompts += tasks.len() * if *count == TOOLS.len() { 1 } else { 2 };
        }
        assert_eq!(prompts, 30);
        let tasks =
            |most: usize| TASKS.iter().filter(|(count, _)| *count <= most).map(|(_, tasks)| tasks.len()).sum::<usize>();
        let long =
            PLANS.iter().filter(|(count, _)| *count == LONG_PLAN).map(|(_, requests)| requests.len()).sum::<usize>();
        assert_eq!((tasks(usize::MAX), tasks(TOOLS_MANY), TALK.len(), long), (CALLS, CHOICES, TALKS, LONG_PLANS));
    }
}
