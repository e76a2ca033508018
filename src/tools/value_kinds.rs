//! Detects kinds of values (paths, dates, addresses, quoted text) in a step, and those that a tool's parameters take.

use crate::base::is_listed;
use crate::tools::spec::ToolSpec;
use crate::tools::words;

/// Which kinds of values are present. Each is recognised by its form or by the parameter's name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ValueKinds {
    pub path: bool,
    pub date: bool,
    pub email: bool,
    pub url: bool,
    pub number: bool,
    /// In a step, text in quotes; of a tool, a parameter for free text.
    pub quoted: bool,
}

impl ValueKinds {
    /// The kinds of values that occur in a step.
    pub fn of_step(step: &str) -> ValueKinds {
        let mut clues = ValueKinds { quoted: has_quoted(step), ..ValueKinds::default() };
        for token in step.split_whitespace() {
            let token = bare(token);
            let lower = token.to_lowercase();
            let is_url = ["http://", "https://", "www."].iter().any(|start| lower.starts_with(start));
            clues.url |= is_url;
            clues.email |= is_email(token);
            clues.path |= !is_url && !is_email(token) && is_path(token);
            clues.number |= lower.trim_start_matches(['$', '€', '#']).parse::<f64>().is_ok();
            clues.date |= is_date(&lower);
        }
        clues
    }

    /// The kinds of values that the tool's parameters take; with `required_only`, its required parameters alone.
    pub fn of_tool(spec: &ToolSpec, required_only: bool) -> ValueKinds {
        let mut clues = ValueKinds::default();
        for parameter in spec.parameters().into_iter().filter(|one| one.required || !required_only) {
            let name = words::parts(parameter.name);
            let has = |any: &[&str]| name.iter().any(|word| any.contains(&word.as_str()));
            let format = parameter.schema.get("format").and_then(|format| format.as_str()).unwrap_or("");
            clues.path |= has(&["path", "paths", "file", "files", "filename", "folder", "directory", "dir"]);
            clues.date |=
                has(&["date", "time", "day", "due", "deadline", "since", "until"]) || format.starts_with("date");
            clues.email |=
                has(&["email", "to", "cc", "bcc", "recipient", "recipients", "attendees"]) || format == "email";
            clues.url |= has(&["url", "uri", "link", "website"]) || format == "uri";
            clues.number |= matches!(parameter.kind(), "integer" | "number");
            clues.quoted |=
                has(&["text", "content", "query", "pattern", "title", "name", "message", "body", "subject"]);
        }
        clues
    }

    /// For each kind, in the order of the fields, whether both have it.
    pub fn both(&self, other: &ValueKinds) -> [bool; 6] {
        let (own, other) = (self.flags(), other.flags());
        std::array::from_fn(|at| own[at] && other[at])
    }

    /// How many kinds `self` has and `other` lacks.
    pub fn without(&self, other: &ValueKinds) -> f32 {
        self.flags().into_iter().zip(other.flags()).filter(|(own, other)| *own && !other).count() as f32
    }

    fn flags(&self) -> [bool; 6] {
        [self.path, self.date, self.email, self.url, self.number, self.quoted]
    }
}

/// The step with each path replaced by "the file" and each code identifier by "the name", except words that `keep`
/// accepts. The concrete name does not say which tool is meant, but it pulls the embedding towards tools with similar
/// words: `hub_cache_dir` towards a tool for folders, a long path towards one that finds files by name.
pub fn without_values(step: &str, keep: impl Fn(&str) -> bool) -> String {
    let generalized = |word: &str| {
        let bare = bare(word);
        if bare.is_empty() || is_email(bare) || keep(bare) {
            word.to_owned()
        } else if is_path(bare) {
            word.replace(bare, "the file")
        } else if is_identifier(bare) {
            word.replace(bare, "the name")
        } else {
            word.to_owned()
        }
    };
    step.split_whitespace().map(generalized).collect::<Vec<_>>().join(" ")
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| ",;:!?\"'`()[]".contains(c)).trim_end_matches('.')
}

fn has_quoted(step: &str) -> bool {
    ['"', '`', '“'].iter().any(|quote| step.matches(*quote).count() + usize::from(*quote == '“') >= 2)
        || step.split_once(" '").is_some_and(|(_, rest)| rest.contains('\''))
}

fn is_email(token: &str) -> bool {
    token.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.') && !host.contains('@'))
}

/// `/a/b`, `./a`, `~/a`, `src/main.rs`, `notes.txt`, `C:\a`; not `and/or`, `1.5`, `e.g`.
fn is_path(token: &str) -> bool {
    let starts =
        ["/", "./", "../", "~/", ".\\"].iter().any(|start| token.starts_with(start) && token.len() > start.len());
    let drive = token.as_bytes().get(1..3).is_some_and(|next| next == b":\\");
    let ending = token.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=5).contains(&end.len())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
            && end.bytes().any(|b| b.is_ascii_alphabetic())
            && (end.len() > 1 || token.len() > 3)
    });
    starts || drive || ending
}

/// `snake_case`, `a::b`, `lowerCamel`; not `PascalCase`, which may be a product's name, nor a plain word.
fn is_identifier(token: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '$');
    let joined = token.contains("::") || token.trim_matches('_').contains('_');
    let camel = token.starts_with(|c: char| c.is_ascii_lowercase()) && token.contains(|c: char| c.is_ascii_uppercase());
    token.chars().all(name) && (joined || camel)
}

fn is_date(word: &str) -> bool {
    const DAYS: &str = "
        today tomorrow yesterday tonight monday tuesday wednesday thursday friday saturday sunday january
        february march april june july august september october november december noon midnight week month";
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let clock = ["am", "pm"].iter().any(|half| word.strip_suffix(half).is_some_and(|h| number(&h.replace(':', ""))));
    let numeric = ['-', '/', ':'].iter().any(|sign| word.contains(*sign) && word.split(*sign).all(number));
    is_listed(DAYS, word) || clock || numeric
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(step: &str, expected: &str) {
        let clues = ValueKinds::of_step(step);
        let names = ["path", "date", "email", "url", "number", "quoted"];
        let got: Vec<&str> =
            names.into_iter().zip(clues.flags()).filter(|(_, flag)| *flag).map(|(name, _)| name).collect();
        assert_eq!(got.join(" "), expected, "{step}");
    }

    #[test]
    fn kinds_of_values_are_seen() {
        check("Open /etc/hosts.", "path");
        check("Open notes.txt and src/main.rs", "path");
        check("Write to ann@example.org", "email");
        check("Get https://example.org/a.html", "url");
        check("Get https://example.org/a.html and save it to b.txt", "path url");
        check("Wake me at 7:30", "date");
        check("Meet on 2026-03-01 at 3pm", "date");
        check("Say \"hello\" 3 times", "number quoted");
        check("Say 'hello' twice", "quoted");
        check("It's this and/or that, e.g. one", "");
        check("", "");
    }

    #[test]
    fn paths_and_identifiers_are_replaced_by_general_words() {
        let general = |step| without_values(step, |name| name == "read_file");
        assert_eq!(general("Read src/models/pull.rs, please."), "Read the file, please.");
        assert_eq!(general("Who calls `hub_cache_dir`?"), "Who calls `the name`?");
        assert_eq!(general("Use read_file on pool::lease()"), "Use read_file on the name()");
        assert_eq!(
            general("Mail ann@example.org and/or wait for GitHub"),
            "Mail ann@example.org and/or wait for GitHub"
        );
        assert_eq!(general(""), "");
    }

    #[test]
    fn kinds_of_values_in_a_step_are_compared_with_those_a_tool_takes() {
        let spec = crate::tools::builtin::Builtin::ReadFile.spec();
        let takes = ValueKinds::of_tool(&spec, false);
        let needs = ValueKinds::of_tool(&spec, true);
        assert!(takes.both(&ValueKinds::of_step("open a.txt"))[0] && !takes.both(&ValueKinds::of_step("open it"))[0]);
        assert_eq!(needs.without(&ValueKinds::of_step("open it")), 1.0);
        assert_eq!(ValueKinds::of_step("mail ann@example.org").without(&takes), 1.0);
    }
}
