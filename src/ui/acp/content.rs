//! Reads the content of a prompt: text, links to files, and embedded texts.

use std::fs;
use std::path::Path;

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error};

use super::wire::invalid;
use crate::base::{Hidden, path_of};
use crate::models::Picture;
use crate::protocol::{Ask, GIVEN_BYTES_MAX, GIVEN_MAX, Given, Mode};
use crate::ui::cli::ask::check;

/// The request from a prompt in `project`. A file is named in the text where the user put it. An
/// embedded text that differs from the file on disk, for example because it is unsaved, is attached
/// to the request.
pub fn request(blocks: Vec<ContentBlock>, project: &Path, hidden: &Hidden, mode: Mode) -> Result<Ask, Error> {
    let (mut text, mut given, mut pictures) = (String::new(), Vec::new(), Vec::new());
    let count = blocks.iter().filter(|block| matches!(block, ContentBlock::Image(_))).count();
    if count > GIVEN_MAX {
        let why =
            format!("session/prompt: {count} pictures; at most {GIVEN_MAX} are accepted; ask in several requests");
        return Err(invalid(why));
    }
    for (at, block) in blocks.into_iter().enumerate() {
        let refused = |what: &str| {
            invalid(format!("session/prompt: prompt[{at}] is {what}; only text, files and pictures are accepted"))
        };
        match block {
            ContentBlock::Text(block) => add(&mut text, &block.text),
            ContentBlock::ResourceLink(link) => add(&mut text, &named(&link.uri, &link.name, project)),
            ContentBlock::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(one) => {
                    let name = named(&one.uri, &one.uri, project);
                    if hidden.hides(&name) {
                        return Err(invalid(format!("session/prompt: {name} is not read: a rule denies it")));
                    }
                    add(&mut text, &name);
                    if !is_on_disk(&project.join(&name), &one.text, one.uri.contains('#')) {
                        given.push(Given { name, text: one.text });
                    }
                }
                _ => return Err(refused("an embedded file that is not text")),
            },
            ContentBlock::Image(block) => {
                let name = block
                    .uri
                    .as_deref()
                    .map_or(format!("picture {}", pictures.len() + 1), |uri| named(uri, uri, project));
                if hidden.hides(&name) {
                    return Err(invalid(format!("session/prompt: {name} is not read: a rule denies it")));
                }
                let picture = Picture::of_base64(name, &block.data);
                pictures.push(picture.map_err(|why| invalid(format!("session/prompt: prompt[{at}]: {why}")))?);
            }
            ContentBlock::Audio(_) => return Err(refused("audio")),
            _ => return Err(refused("of an unknown kind")),
        }
    }
    fits(&text, &given)?;
    Ok(Ask { text, mode, given, pictures, ..Ask::default() })
}

/// Adds a block, separated from the previous one: clients also attach files that the user did not
/// place inside a text.
fn add(text: &mut String, block: &str) {
    let is_apart = text.ends_with(char::is_whitespace) || block.starts_with(char::is_whitespace);
    if !text.is_empty() && !block.is_empty() && !is_apart {
        text.push(' ');
    }
    text.push_str(block);
}

fn fits(text: &str, given: &[Given]) -> Result<(), Error> {
    check(text).map_err(|why| invalid(format!("session/prompt: {why}")))?;
    if given.len() > GIVEN_MAX {
        return Err(invalid(format!(
            "session/prompt: {} embedded texts differ from the project's files on disk; at most {GIVEN_MAX} are accepted; save them",
            given.len()
        )));
    }
    match given.iter().find(|one| one.text.len() as u64 > GIVEN_BYTES_MAX) {
        Some(Given { name, text }) => Err(invalid(format!(
            "session/prompt: {name} has {} bytes; the limit is {GIVEN_BYTES_MAX}; send only the relevant part",
            text.len()
        ))),
        None => Ok(()),
    }
}

/// The path of a `file:` URI, relative to the project if it is inside; `otherwise` for any other
/// URI.
fn named(uri: &str, otherwise: &str, project: &Path) -> String {
    let Some(path) = path_of(uri) else { return otherwise.to_owned() };
    let inside = path.strip_prefix(project).ok().map(Path::to_owned);
    let inside = inside.or_else(|| Some(path.canonicalize().ok()?.strip_prefix(project).ok()?.to_owned()));
    inside.unwrap_or(path).display().to_string()
}

/// Whether the file equals this text or, for an excerpt, contains it.
fn is_on_disk(file: &Path, text: &str, is_excerpt: bool) -> bool {
    let short = fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= GIVEN_BYTES_MAX);
    let holds = |there: &str| {
        if is_excerpt {
            return !text.trim().is_empty() && there.contains(text.trim_end());
        }
        there.trim_end() == text.trim_end()
    };
    short && fs::read_to_string(file).is_ok_and(|there| holds(&there))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Checks the text and the names of attachments, or part of the error.
    fn check(blocks: Value, expected: Result<(&str, &[&str]), &str>) {
        let dir = tempfile::tempdir().expect("a folder");
        let project = dir.path().canonicalize().expect("a folder");
        fs::write(project.join("a b.txt"), "one\ntwo\n").expect("a file");
        let blocks = blocks.to_string().replace("PROJECT", &project.display().to_string());
        let hidden = Hidden::by(|path| path == "kept.txt");
        let read = request(serde_json::from_str(&blocks).expect("blocks"), &project, &hidden, Mode::Agent);
        match (read, expected) {
            (Ok(ask), Ok((text, given))) => {
                let names: Vec<&str> = ask.given.iter().map(|one| one.name.as_str()).collect();
                assert_eq!((ask.text.as_str(), names.as_slice()), (text, given));
            }
            (Err(error), Err(part)) => assert!(error.message.contains(part), "{error}"),
            (read, expected) => panic!("{read:?} is not {expected:?}"),
        }
    }

    fn embedded(uri: &str, text: &str) -> Value {
        json!({ "type": "resource", "resource": { "uri": uri, "text": text } })
    }

    #[test]
    fn files_are_named_where_the_user_put_them() {
        let link = json!({ "type": "resource_link", "name": "a b.txt", "uri": "file://PROJECT/a%20b.txt#L1" });
        let said = |text: &str| json!({ "type": "text", "text": text });
        check(json!([said("Read "), link, said(" now")]), Ok(("Read a b.txt now", &[])));
        let page = json!({ "type": "resource_link", "name": "a page", "uri": "https://example.org/" });
        check(json!([said("See "), page]), Ok(("See a page", &[])));
        let outside = json!({ "type": "resource_link", "name": "x", "uri": "file:///no/such" });
        check(json!([outside]), Ok(("/no/such", &[])));
    }

    #[test]
    fn blocks_do_not_run_together() {
        let link =
            |name: &str| json!({ "type": "resource_link", "name": name, "uri": format!("file://PROJECT/{name}") });
        let said = |text: &str| json!({ "type": "text", "text": text });
        check(json!([said("Compare"), link("a.md"), link("b.md"), said("now")]), Ok(("Compare a.md b.md now", &[])));
        check(json!([said("First."), said("Second.")]), Ok(("First. Second.", &[])));
        check(json!([said("Read\n"), said(""), link("a.md")]), Ok(("Read\na.md", &[])));
        let given = embedded("file://PROJECT/new.md", "text");
        check(json!([said("Explain"), given]), Ok(("Explain new.md", &["new.md"])));
    }

    #[test]
    fn an_embedded_text_is_handed_over_unless_the_file_says_the_same() {
        check(json!([embedded("file://PROJECT/a%20b.txt", "one\ntwo\n")]), Ok(("a b.txt", &[])));
        check(json!([embedded("file://PROJECT/a%20b.txt", "one\n")]), Ok(("a b.txt", &["a b.txt"])));
        check(json!([embedded("file://PROJECT/a%20b.txt", "three\n")]), Ok(("a b.txt", &["a b.txt"])));
        check(json!([embedded("file://PROJECT/kept.txt", "one\n")]), Err("kept.txt is not read: a rule denies it"));
        check(json!([embedded("zed:///thread/1", "words")]), Ok(("zed:///thread/1", &["zed:///thread/1"])));
    }

    #[test]
    fn an_image_goes_along_with_the_prompt() {
        const DOT: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
        let dot = || json!({ "type": "image", "data": DOT, "mimeType": "image/gif" });
        let read = |blocks: Value| {
            let blocks = serde_json::from_value(blocks).expect("blocks");
            request(blocks, Path::new("/"), &Hidden::default(), Mode::Agent)
        };
        let ask = read(json!([{ "type": "text", "text": "What is it?" }, dot()])).expect("a request");
        let names: Vec<&str> = ask.pictures.iter().map(Picture::name).collect();
        assert_eq!((ask.text.as_str(), names.as_slice()), ("What is it?", ["picture 1"].as_slice()));
        let mut many = vec![json!({ "type": "text", "text": "What are they?" })];
        many.extend((0..=GIVEN_MAX).map(|_| dot()));
        assert!(read(json!(many)).unwrap_err().message.contains("9 pictures; at most 8 are accepted"));
    }

    #[test]
    fn what_cannot_be_taken_is_named() {
        check(json!([]), Err("the request is empty"));
        let image = |data: &str| json!({ "type": "image", "data": data, "mimeType": "image/png", "uri": "file://PROJECT/a.png" });
        check(json!([image("AAAA")]), Err("prompt[0]: a.png is not a PNG"));
        check(json!([image("?")]), Err("prompt[0]: a.png is not base64"));
        let blob = json!({ "type": "resource", "resource": { "uri": "file:///x", "blob": "" } });
        check(json!([blob]), Err("prompt[0] is an embedded file that is not text"));
        let long = "x".repeat(65_537);
        check(json!([{ "type": "text", "text": long }]), Err("longer than 65536 bytes"));
    }
}
