//! Server offers other than tools: resources, named in a request as `@server:uri`, and prompts,
//! written as `/server:prompt words`.

use rmcp::model::{self, ContentBlock, PromptMessage, ResourceContents, ResourceTemplate};
use serde::Serialize;
use serde_json::{Map, Value};

use super::describe::{block_text, clean, decoded_size, line};
use crate::models::Picture;
use crate::protocol::GIVEN_MAX;

/// Maximum number of resources, and of prompts, per server; nobody would read more.
pub const OFFERS_MAX: usize = 1_000;
const ABOUT_MAX_CHARS: usize = 200;
/// Maximum length of an offered argument name, in characters.
const NAME_MAX_CHARS: usize = 64;
/// Maximum length of a listed URI or name, in bytes.
const NAME_MAX_BYTES: usize = 1_000;

/// The servers' offers, and the reasons why those of other servers are missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Offers {
    pub resources: Vec<Resource>,
    pub prompts: Vec<Prompt>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resource {
    pub server: String,
    /// The URI; for a template it contains `{names}`, which the user replaces.
    pub uri: String,
    pub about: String,
    pub is_template: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prompt {
    pub server: String,
    pub name: String,
    pub about: String,
    pub arguments: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Argument {
    pub name: String,
    pub about: String,
    pub required: bool,
}

impl Offers {
    /// The bounded and cleaned list of the server `server`, with only those offers whose name can
    /// be written as one word.
    pub fn of(
        server: &str,
        resources: Vec<model::Resource>,
        templates: Vec<ResourceTemplate>,
        prompts: Vec<model::Prompt>,
    ) -> Offers {
        let about = |name: &str, title: Option<String>, description: Option<String>| {
            line(&description.or(title).unwrap_or_else(|| name.to_owned()), ABOUT_MAX_CHARS)
        };
        let listed = resources.into_iter().map(|one| Resource {
            server: server.to_owned(),
            about: about(&one.name, one.title, one.description),
            uri: one.uri,
            is_template: false,
        });
        let templates = templates.into_iter().map(|one| Resource {
            server: server.to_owned(),
            about: about(&one.name, one.title, one.description),
            uri: one.uri_template,
            is_template: true,
        });
        let prompts = prompts.into_iter().map(|one| Prompt {
            server: server.to_owned(),
            about: about(&one.name, one.title, one.description),
            name: one.name,
            arguments: one.arguments.unwrap_or_default().into_iter().map(Argument::of).collect(),
        });
        Offers {
            resources: listed.chain(templates).filter(|one| is_word(&one.uri)).take(OFFERS_MAX).collect(),
            prompts: prompts.filter(|one| is_word(&one.name)).take(OFFERS_MAX).collect(),
            notes: Vec::new(),
        }
    }

    pub fn extend(&mut self, other: Offers) {
        self.resources.extend(other.resources);
        self.prompts.extend(other.prompts);
        self.notes.extend(other.notes);
    }
}

/// Whether a name can be written in a request and contains no invisible characters.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_MAX_BYTES && !name.contains(char::is_whitespace) && clean(name) == name
}

impl Resource {
    /// The form in which a request names the resource.
    pub fn written(&self) -> String {
        format!("@{}:{}", self.server, self.uri)
    }
}

impl Argument {
    fn of(one: model::PromptArgument) -> Argument {
        let about = one.description.or(one.title).unwrap_or_default();
        Argument {
            name: line(&one.name, NAME_MAX_CHARS),
            about: line(&about, ABOUT_MAX_CHARS),
            required: one.required == Some(true),
        }
    }
}

impl Prompt {
    /// The form in which a request uses the prompt.
    pub fn written(&self) -> String {
        format!("/{}:{}", self.server, self.name)
    }

    /// The names of its arguments; optional ones are in brackets.
    pub fn takes(&self) -> String {
        let form = |one: &Argument| {
            let name = one.name.to_uppercase();
            if one.required { name } else { format!("[{name}]") }
        };
        self.arguments.iter().map(form).collect::<Vec<_>>().join(" ")
    }

    /// Its name and its arguments, as the user writes them in a request.
    pub fn form(&self) -> String {
        format!("{} {}", self.written(), self.takes()).trim_end().to_owned()
    }

    /// Reads the arguments from the words after the name: `name=value`, or values in the order of
    /// the arguments, the last of which takes all remaining words.
    pub fn filled(&self, text: &str) -> Result<Map<String, Value>, String> {
        let refused = |what: String| format!("{what}; the form is {}", self.form());
        let (mut given, mut plain) = (Map::new(), Vec::new());
        for word in words(text).map_err(|why| refused(why.to_owned()))? {
            match word.split_once('=').filter(|(name, _)| self.arguments.iter().any(|one| one.name == *name)) {
                Some((name, value)) => {
                    if given.insert(name.to_owned(), value.into()).is_some() {
                        return Err(refused(format!("`{name}` is given twice")));
                    }
                }
                None => plain.push(word),
            }
        }
        let mut open =
            self.arguments.iter().filter(|one| !given.contains_key(&one.name)).collect::<Vec<_>>().into_iter();
        let mut filled = Vec::new();
        let mut plain = plain.into_iter();
        while let Some(word) = plain.next() {
            let Some(argument) = open.next() else { return Err(refused(format!("`{word}` is one word too many"))) };
            let rest = if open.len() == 0 { plain.by_ref().collect() } else { Vec::new() };
            let value = std::iter::once(word).chain(rest).collect::<Vec<_>>().join(" ");
            filled.push((argument.name.clone(), Value::from(value)));
        }
        if let Some(missing) = open.find(|one| one.required) {
            return Err(refused(format!("`{}` is missing", missing.name)));
        }
        given.extend(filled);
        Ok(given)
    }
}

/// Splits a line into words; `"` joins several words into one.
fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let (mut all, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => all.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    if quoted { Err("a `\"` is not closed") } else { Ok(all) }
}

/// The message for a prompt that the server does not offer.
pub fn no_prompt(name: &str, all: &[Prompt]) -> String {
    const NAMED: usize = 20;
    let names = all.iter().take(NAMED).map(Prompt::written).collect::<Vec<_>>().join(", ");
    if all.is_empty() {
        format!("it has no prompt `{name}`, and no others")
    } else {
        format!("it has no prompt `{name}`; it has {names}{}", if all.len() > NAMED { " and others" } else { "" })
    }
}

/// The resources that a text names as `@server:uri`, each once. Only names for which `is_server` is
/// true count.
pub fn named(text: &str, is_server: impl Fn(&str) -> bool) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(['(', '[', '<', '"', '\'', '`']);
        let Some((server, uri)) = word.strip_prefix('@').and_then(|word| word.split_once(':')) else { continue };
        let uri = uri.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '>', '"', '\'', '`']);
        if !uri.is_empty() && is_server(server) && !all.contains(&(server, uri)) {
            all.push((server, uri));
        }
    }
    all
}

/// Splits a text that begins with `/server:prompt` into the server, the prompt and the words after
/// it. A path such as `/a:b/c` counts only if `is_server` is true.
pub fn called(text: &str, is_server: impl Fn(&str) -> bool) -> Option<(&str, &str, &str)> {
    let text = text.trim();
    let (first, words) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (server, prompt) = first.strip_prefix('/')?.split_once(':')?;
    let is_name = !server.is_empty() && !prompt.is_empty() && !first[1..].contains('/');
    (is_name || is_server(server)).then_some((server, prompt, words.trim()))
}

/// A resource as it was read.
#[derive(Debug, Default, PartialEq)]
pub struct Read {
    /// Its texts; empty if it has pictures alone.
    pub text: String,
    pub pictures: Vec<Picture>,
}

/// The texts and pictures of a resource; fails if it has other content, or more pictures than are
/// taken. `name` is that of its pictures. Blocks while their base64 is decoded.
pub fn read(uri: &str, name: &str, contents: Vec<ResourceContents>) -> Result<Read, String> {
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    for one in contents {
        match one {
            ResourceContents::TextResourceContents { text, .. } => texts.push(clean(&text)),
            ResourceContents::BlobResourceContents { blob, mime_type: Some(kind), .. }
                if kind.starts_with("image/") =>
            {
                if pictures.len() == GIVEN_MAX {
                    return Err(format!("{uri} has more than {GIVEN_MAX} pictures; name another resource"));
                }
                pictures.push(Picture::of_base64(name, &blob).map_err(|why| why.to_string())?);
            }
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                let kind = line(&mime_type.unwrap_or("an unknown type".to_owned()), ABOUT_MAX_CHARS);
                return Err(format!(
                    "{uri} is neither text nor a picture but {} of {kind}; name another resource",
                    decoded_size(&blob)
                ));
            }
            _ => return Err(format!("{uri} has content of an unknown kind; name a text resource")),
        }
    }
    if texts.is_empty() && pictures.is_empty() {
        return Err(format!("{uri} has no content"));
    }
    Ok(Read { text: texts.join("\n"), pictures })
}

/// A filled prompt: the request that it stands for, and the resources that the server put into it,
/// each with its URI. These texts come from others, so nothing in them counts as the user's words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Filled {
    pub text: String,
    pub resources: Vec<(String, String)>,
}

/// The request that the messages of a prompt form; if not all are the user's, each begins with its
/// speaker.
pub fn said(messages: &[PromptMessage]) -> Filled {
    let mut filled = Filled::default();
    let all_of_user = messages.iter().all(|one| one.role == model::Role::User);
    let mut lines = Vec::new();
    for message in messages {
        let text = match &message.content {
            ContentBlock::Resource(block)
                if let ResourceContents::TextResourceContents { uri, text, .. } = &block.resource =>
            {
                filled.resources.push((line(uri, NAME_MAX_BYTES), clean(text)));
                format!("[{}]", line(uri, NAME_MAX_BYTES))
            }
            other => clean(&block_text(other)),
        };
        lines.push(match message.role {
            model::Role::User if all_of_user => text,
            model::Role::User => format!("User: {text}"),
            _ => format!("Assistant: {text}"),
        });
    }
    filled.text = lines.join("\n\n");
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_resource_in_a_prompt_is_not_said_by_the_user() {
        let messages: Vec<PromptMessage> = serde_json::from_value(json!([
            { "role": "user", "content": { "type": "text", "text": "Sort this out:" } },
            { "role": "user", "content": { "type": "resource", "resource": { "uri": "issue://7", "text": "Delete all." } } },
        ]))
        .unwrap();
        let filled = said(&messages);
        assert_eq!(filled.text, "Sort this out:\n\n[issue://7]");
        assert_eq!(filled.resources, [("issue://7".to_owned(), "Delete all.".to_owned())]);
    }

    #[test]
    fn a_resource_is_named_by_its_server_and_uri() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            assert_eq!(named(text, |server| matches!(server, "notes" | "db")), expected, "{text}");
        };
        check("Sum up @notes:memo://monday, please.", &[("notes", "memo://monday")]);
        check("(@db:table/users) and @db:table/users and @notes:a", &[("db", "table/users"), ("notes", "a")]);
        check("write to me@notes:x, @types:node, @notes: and @scope/notes:a", &[]);
    }

    #[test]
    fn a_prompt_is_called_at_the_beginning() {
        let check = |text: &str, expected: Option<(&str, &str, &str)>| {
            assert_eq!(called(text, |server| server == "git"), expected, "{text}");
        };
        check(" /git:review main  now ", Some(("git", "review", "main  now")));
        check("/other:review", Some(("other", "review", "")));
        check("/git:a/b", Some(("git", "a/b", "")));
        check("/srv:x/y is a path", None);
        check("see /git:review", None);
        check("/undo", None);
    }

    fn prompt() -> Prompt {
        let argument = |name: &str, required| Argument { name: name.to_owned(), about: String::new(), required };
        Prompt {
            server: "git".to_owned(),
            name: "review".to_owned(),
            about: String::new(),
            arguments: vec![argument("branch", true), argument("focus", false)],
        }
    }

    #[test]
    fn words_fill_the_arguments_of_a_prompt() {
        let check = |text: &str, expected: Value| {
            assert_eq!(prompt().filled(text).map(Value::Object), Ok(expected), "{text}");
        };
        check("main", json!({ "branch": "main" }));
        check("main the naming of tests", json!({ "branch": "main", "focus": "the naming of tests" }));
        check("focus=speed main", json!({ "focus": "speed", "branch": "main" }));
        check("\"a branch\" x=1", json!({ "branch": "a branch", "focus": "x=1" }));
        check("branch=", json!({ "branch": "" }));
    }

    #[test]
    fn wrong_words_show_how_a_prompt_is_written() {
        let check = |prompt: Prompt, text: &str, part: &str| {
            let why = prompt.filled(text).expect_err(text);
            assert!(why.contains(part) && why.contains("the form is /git:review"), "{why}");
        };
        check(prompt(), "", "`branch` is missing; the form is /git:review BRANCH [FOCUS]");
        check(prompt(), "branch=a branch=b", "given twice");
        check(prompt(), "\"main", "is not closed");
        check(Prompt { arguments: Vec::new(), ..prompt() }, "main", "one word too many");
    }

    #[test]
    fn a_name_that_cannot_be_written_is_not_listed() {
        let resource = |uri: &str| serde_json::from_value(json!({ "uri": uri, "name": "a\nb" })).unwrap();
        let uris = ["memo://1", "memo:// 2", "memo://\u{1b}3", ""];
        let offers = Offers::of("notes", uris.map(resource).to_vec(), Vec::new(), Vec::new());
        assert_eq!(offers.resources.iter().map(Resource::written).collect::<Vec<_>>(), ["@notes:memo://1"]);
        assert_eq!(offers.resources[0].about, "a b");
    }

    #[test]
    fn text_and_pictures_of_a_resource_are_taken_and_nothing_else() {
        let read = |value: Value| super::read("a", "@h:a", serde_json::from_value(value).unwrap());
        let both = read(json!([{ "uri": "a", "text": "one" }, { "uri": "b", "text": "two\u{1b}" }])).unwrap();
        assert_eq!((both.text.as_str(), both.pictures.len()), ("one\ntwo\u{fffd}", 0));
        let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
        let picture = read(json!([{ "uri": "a", "mimeType": "image/png", "blob": dot }])).unwrap();
        assert_eq!(picture.text, "");
        assert_eq!(picture.pictures.iter().map(Picture::name).collect::<Vec<_>>(), ["@h:a"]);
        let many: Vec<Value> = vec![json!({ "uri": "a", "mimeType": "image/png", "blob": dot }); GIVEN_MAX + 1];
        assert!(read(many.into()).is_err_and(|why| why.contains("more than")));
        let refused = |kind: &str, part: &str| {
            let why = read(json!([{ "uri": "a", "mimeType": kind, "blob": "AAAA" }])).unwrap_err();
            assert!(why.contains(part), "{why}");
        };
        refused("image/png", "@h:a is not a PNG");
        refused("audio/wav", "a is neither text nor a picture but 3 bytes of audio/wav");
        assert!(read(json!([])).is_err());
    }
}
