//! Keeps or changes the modifiers before a definition, in the languages that a query describes.

use crate::base::is_listed;
use crate::heads::{group, squeezed};

/// Maximum number of words checked before a definition.
const WORDS_MAX: usize = 16;
/// Words that determine where a definition can be used.
const ACCESS: &str = "public private protected internal fileprivate package private_class_method local";

/// The words that may precede a definition in a language.
fn modifiers_of(language: &str) -> &'static str {
    match language {
        "c" => "static inline extern register _Noreturn _Thread_local __inline",
        "cpp" => {
            "static inline extern register constexpr consteval constinit virtual explicit friend mutable thread_local"
        }
        "csharp" => {
            "public private protected internal static abstract virtual override sealed async readonly partial \
             extern unsafe new volatile const required file"
        }
        "java" => {
            "public private protected static final abstract synchronized native strictfp default transient \
             volatile sealed non-sealed"
        }
        "kotlin" => {
            "public private protected internal open final abstract sealed override suspend inline infix operator \
             tailrec external const lateinit data inner value annotation companion expect actual"
        }
        "swift" => {
            "public private fileprivate internal open package static final override mutating nonmutating \
             convenience required lazy weak unowned dynamic optional indirect prefix infix postfix nonisolated"
        }
        "scala" => "private protected override final sealed abstract implicit lazy inline open transparent infix case",
        "php" => "public protected private static final abstract readonly var",
        "lua" => "local",
        "shell" => "export readonly declare typeset local",
        _ => "",
    }
}

/// The length of the first modifier of `code`, including what belongs to it: `private(set)`,
/// `template <typename T>`, `extern "C"`; 0 if it begins with something else.
fn modifier(language: &str, code: &str, is_first: bool) -> usize {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let end = code.find(|letter| !is_part(letter)).unwrap_or(code.len());
    let (word, rest) = code.split_at(end);
    let next = rest.trim_start();
    let spaces = rest.len() - next.len();
    if language == "cpp" && word == "template" {
        return group(next).map_or(0, |list| end + spaces + list);
    }
    let line = next.lines().next().unwrap_or_default();
    let is_it = match language {
        // `private def a`, `memoize def a`
        "ruby" => {
            let is_definition = |line: &str| line.starts_with("def ") || line.starts_with("attr_");
            !is_definition(code) && spaces > 0 && (is_definition(line) || line.contains(" def "))
        }
        "swift" if word == "class" => ["func ", "var ", "override ", "final "].iter().any(|on| next.starts_with(on)),
        "shell" if word.starts_with('-') => !is_first,
        _ => is_listed(modifiers_of(language), word),
    };
    if !is_it || word.is_empty() {
        return 0;
    }
    let more = match group(rest) {
        Some(list) => list,
        None if next.starts_with("\"C") => spaces + next[1..].find('"').map_or(0, |quote| quote + 2),
        None => 0,
    };
    let is_alone = rest[more..].starts_with(char::is_whitespace);
    if is_alone { end + more } else { 0 }
}

/// Splits the code of a definition into its modifiers and the rest.
fn leading<'t>(language: &str, code: &'t str) -> (Vec<&'t str>, &'t str) {
    let (mut found, mut rest) = (Vec::new(), code);
    while found.len() < WORDS_MAX {
        let end = modifier(language, rest, found.is_empty());
        if end == 0 {
            break;
        }
        found.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    (found, rest)
}

/// The group of a modifier, if a definition can have only one of the group: access, template. Empty
/// for others.
fn group_of(language: &str, modifier: &str) -> &'static str {
    match modifier.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default() {
        "template" => "template",
        _ if modifier.ends_with("(set)") => "set",
        "open" if language == "swift" => "access",
        word if is_listed(ACCESS, word) => "access",
        _ => "",
    }
}

/// The code of a definition with its modifiers, and a sentence about differing ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Led {
    pub code: String,
    pub note: Option<String>,
    /// The modifiers of the old code that were added, if nothing else differs.
    pub bare: Option<String>,
}

/// `new` with its modifiers from the file, `old`: all of them if it has none, else only those of a
/// group (access, template) that it lacks.
pub fn led(language: &str, name: &str, old: &str, new: String) -> Led {
    let ((was, was_rest), (own, rest)) = (leading(language, old), leading(language, &new));
    let has = |modifier: &str| own.iter().any(|other| squeezed(other) == squeezed(modifier));
    let lacks_group = |group: &str| !group.is_empty() && !own.iter().any(|other| group_of(language, other) == group);
    let gone = || was.iter().copied().filter(|modifier| !has(modifier));
    let kept: Vec<&str> =
        gone().filter(|modifier| own.is_empty() || lacks_group(group_of(language, modifier))).collect();
    let lost: Vec<&str> = gone().filter(|one| !kept.contains(one) && group_of(language, one).is_empty()).collect();
    let mut said = Vec::new();
    if !kept.is_empty() {
        said.push(format!("`{name}` keeps `{}`, which the new text lacks", kept.join(" ")));
    }
    if !lost.is_empty() {
        said.push(format!("`{name}` is no longer `{}`", lost.join(" ")));
    }
    let note = (!said.is_empty()).then(|| said.join("; "));
    if kept.is_empty() {
        return Led { code: new, note, bare: None };
    }
    let same_rest = squeezed(was_rest.trim_end_matches(';')) == squeezed(rest.trim_end_matches(';'));
    // A template goes on a line of its own.
    let before: String = kept.iter().map(|one| format!("{one}{}", space_behind(old, one))).collect();
    Led { code: before + &new, note, bare: (own.is_empty() && same_rest).then(|| kept.join(" ")) }
}

/// The white space after a modifier in the old code.
fn space_behind<'t>(old: &'t str, modifier: &str) -> &'t str {
    let rest = old.find(modifier).map_or(" ", |at| &old[at + modifier.len()..]);
    &rest[..rest.len() - rest.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the code and the note; the note of a bare change is excluded.
    fn check(language: &str, old: &str, new: &str, code: &str, note: &str) {
        let led = led(language, "heat", old, new.to_owned());
        assert_eq!((led.code.as_str(), led.note.unwrap_or_default().as_str()), (code, note), "{old}");
    }

    #[test]
    fn modifiers_are_kept_if_none_is_written() {
        let kept = |words: &str| format!("`heat` keeps `{words}`, which the new text lacks");
        check(
            "kotlin",
            "internal suspend fun heat() {}",
            "fun heat() = 1",
            "internal suspend fun heat() = 1",
            &kept("internal suspend"),
        );
        check("swift", "private(set) var heat = 1", "var heat = 2", "private(set) var heat = 2", &kept("private(set)"));
        check(
            "c",
            "static inline int heat()",
            "int heat(int a)",
            "static inline int heat(int a)",
            &kept("static inline"),
        );
        check("ruby", "private def heat", "def heat(a)", "private def heat(a)", &kept("private"));
        check("lua", "local function heat()", "function heat(a)", "local function heat(a)", &kept("local"));
        check("shell", "export heat=4", "heat=5", "export heat=5", &kept("export"));
        let template = "template <typename T, std::vector<int> V>";
        check(
            "cpp",
            &format!("{template}\nT heat()"),
            "T heat(T a)",
            &format!("{template}\nT heat(T a)"),
            &kept(template),
        );
    }

    #[test]
    fn written_modifiers_count_and_are_not_doubled() {
        check("java", "static final int heat = 1", "final static int heat = 2", "final static int heat = 2", "");
        check(
            "csharp",
            "internal static int Heat()",
            "internal static int Heat(int a)",
            "internal static int Heat(int a)",
            "",
        );
        check("swift", "fileprivate func heat()", "fileprivate func heat(a: Int)", "fileprivate func heat(a: Int)", "");
        check(
            "kotlin",
            "open fun heat()",
            "final fun heat(a: Int)",
            "final fun heat(a: Int)",
            "`heat` is no longer `open`",
        );
        let kept = "`heat` keeps `protected`, which the new text lacks";
        check(
            "kotlin",
            "protected override fun heat()",
            "override fun heat() = 1",
            "protected override fun heat() = 1",
            kept,
        );
        check(
            "java",
            "public static int heat()",
            "public int heat(int a)",
            "public int heat(int a)",
            "`heat` is no longer `static`",
        );
        check("php", "private function heat()", "public function heat($a)", "public function heat($a)", "");
        check(
            "scala",
            "private[clay] lazy val heat = 1",
            "private[clay] val heat = 2",
            "private[clay] val heat = 2",
            "`heat` is no longer `lazy`",
        );
    }

    #[test]
    fn a_type_is_no_modifier() {
        check("c", "const int heat(void)", "int heat(void)", "int heat(void)", "");
        check("swift", "class Kiln {", "class Kiln {", "class Kiln {", "");
        check(
            "swift",
            "class func heat()",
            "func heat(a: Int)",
            "class func heat(a: Int)",
            "`heat` keeps `class`, which the new text lacks",
        );
    }
}
