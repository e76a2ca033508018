//! Adds traits to the `#[derive(…)]` of a Rust type.

use regex::Regex;

use super::text::static_regex;

/// The traits of the standard library that can be derived.
const TRAITS: &[&str] = &["Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"];

/// The derivable traits that `task` names, if it asks to derive something.
pub fn asked(task: &str) -> Vec<&'static str> {
    static_regex!(DERIVES = r"(?i)\bderiv(?:e|es|ing)\b");
    if !DERIVES.is_match(task) {
        return Vec::new();
    }
    let words: Vec<&str> = task.split(|c: char| !c.is_alphanumeric()).collect();
    TRAITS.iter().copied().filter(|name| words.contains(name)).collect()
}

/// `text` with `traits` added to those that the type `name` derives. `None` if it derives all of them already, or is
/// not defined here.
pub fn add(text: &str, name: &str, traits: &[&str]) -> Option<String> {
    static_regex!(DERIVE = r"^\s*#\[derive\(([^()]*)\)\]\s*$");
    let head =
        Regex::new(&format!(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|union)\s+{}\b", regex::escape(name))).ok()?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| head.is_match(line))?;
    let above = lines[..at].iter().rposition(|line| !line.trim_start().starts_with(['#', '/'])).map_or(0, |at| at + 1);
    let known = (above..at).find(|line| DERIVE.is_match(lines[*line]));
    let has: Vec<&str> = match known {
        Some(line) => DERIVE
            .captures(lines[line])?
            .get(1)?
            .as_str()
            .split(',')
            .map(str::trim)
            .filter(|one| !one.is_empty())
            .collect(),
        None => Vec::new(),
    };
    let new: Vec<&str> = traits.iter().copied().filter(|one| !has.contains(one)).collect();
    if new.is_empty() {
        return None;
    }
    let line = known.unwrap_or(at);
    let indent = &lines[line][..lines[line].len() - lines[line].trim_start().len()];
    let end = if lines[line].ends_with("\r\n") { "\r\n" } else { "\n" };
    let derive = format!("{indent}#[derive({})]{end}", [has, new].concat().join(", "));
    let behind = &lines[if known.is_some() { line + 1 } else { line }..];
    Some(format!("{}{derive}{}", lines[..line].concat(), behind.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_are_asked_for_by_name() {
        assert_eq!(asked("Loaf should derive Debug and Clone"), ["Clone", "Debug"]);
        assert_eq!(asked("derive `PartialEq` for Config"), ["PartialEq"]);
        assert!(asked("Clone the list, and Debug it").is_empty());
        assert!(asked("derive the total from the parts").is_empty());
    }

    #[test]
    fn traits_are_added_to_a_derive() {
        let text = "use a;\n\n/// A b.\n#[derive(Eq)]\n#[repr(C)]\npub struct A<T>(T);\n\nenum Ab {}\n";
        let more = add(text, "A", &["Clone", "Eq"]).unwrap();
        assert_eq!(more, text.replace("derive(Eq)", "derive(Eq, Clone)"));
        let first = add(text, "Ab", &["Debug"]).unwrap();
        assert_eq!(first, text.replace("enum Ab", "#[derive(Debug)]\nenum Ab"));
        assert_eq!((add(text, "A", &["Eq"]), add(text, "B", &["Eq"])), (None, None));
    }
}
