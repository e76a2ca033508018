//! A command as written in a rule (`git push --force`), compared with the words of a command that
//! may mean the same.

use globset::{GlobBuilder, GlobMatcher};

use crate::base::is_listed;
use crate::tools::shell::git;
use crate::tools::shell::word::{Word, unversioned};

/// `git push --force`: a program, words that follow it, and options anywhere after it.
#[derive(Clone, Debug)]
pub struct Form {
    program: Piece,
    verbs: Vec<Piece>,
    /// Words after an option, which may be its value: they match anywhere.
    loose: Vec<Piece>,
    options: Vec<String>,
}

/// A word of a rule, perhaps with wildcards.
#[derive(Clone, Debug)]
struct Piece {
    text: String,
    /// The part before the first wildcard.
    start: String,
    glob: Option<GlobMatcher>,
}

/// Programs whose first word that is not an option selects the action. For all others the words
/// match in any order.
const SUBCOMMANDS: &str = "git cargo npm pnpm yarn pip docker podman kubectl helm go apt apt-get brew systemctl gh hg svn
    terraform aws gcloud az gem poetry uv conda rustup dotnet bundle heroku vercel flyctl fly firebase netlify ng nx lerna
    turbo bun deno mix stack cabal composer pulumi vault consul nomad oc minikube kind nerdctl apk dnf yum pacman zypper
    snap flatpak mise asdf";
/// Other names for subcommands.
const ALIASES: &[(&str, &str, &str)] = &[
    ("npm pnpm yarn", "uninstall", "un unlink remove rm r"),
    ("npm pnpm yarn", "install", "i in ins inst insta instal isnt isnta isntal add ci"),
    ("npm pnpm yarn", "run", "run-script rum urn"),
    ("npm", "test", "t tst"),
    ("npm", "publish", "pub"),
    ("cargo", "build", "b"),
    ("cargo", "test", "t"),
    ("cargo", "run", "r"),
    ("cargo", "check", "c"),
    ("cargo", "remove", "rm"),
    ("svn hg", "commit", "ci"),
    ("git", "add", "stage"),
    ("docker podman", "rmi", "rm remove"),
    ("apt apt-get dnf yum zypper", "remove", "purge autoremove erase rm"),
    ("gh", "create", "new"),
];
/// Words between a program and its subcommand that group subcommands.
const GROUPS: &[(&str, &str)] = &[
    ("docker podman nerdctl", "image container volume network compose buildx builder system"),
    ("yarn pnpm bun", "npm workspace workspaces"),
    ("uv", "pip tool"),
    ("npm", "exec x"),
];
/// Long options without a one-letter form.
const WITHOUT_LETTER: &str =
    "--amend --hard --soft --mixed --keep --tags --mirror --orphan --global --system --privileged
    --no-preserve-root --prune --force-with-lease --allow-empty";

impl Piece {
    fn new(text: &str) -> Piece {
        let wild = text.find(['*', '?', '[', '{']);
        let glob = wild.and_then(|_| GlobBuilder::new(text).backslash_escape(true).build().ok());
        let start = text[..wild.unwrap_or(text.len())].to_owned();
        Piece { text: text.to_owned(), start, glob: glob.map(|glob| glob.compile_matcher()) }
    }

    fn may_be(&self, word: &Word) -> bool {
        match (&self.glob, word.known()) {
            (Some(glob), Some(text)) => glob.is_match(text),
            (Some(_), None) => word.start().starts_with(&self.start) || self.start.starts_with(word.start()),
            (None, Some(text)) => same(text, &self.text),
            (None, None) => word.may_be(&self.text),
        }
    }
}

/// `./a/` is `a`, and `0777` is `777`.
fn same(given: &str, wanted: &str) -> bool {
    let bare = |text: &str| text.trim_start_matches("./").trim_end_matches('/').to_owned();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    given == wanted
        || (digits(given) && digits(wanted) && given.trim_start_matches('0') == wanted.trim_start_matches('0'))
        || (!bare(wanted).is_empty() && bare(given) == bare(wanted))
}

impl Form {
    /// `None` if the pattern begins with a wildcard and so has no words to compare.
    pub fn new(pattern: &str) -> Option<Form> {
        let mut words: Vec<&str> = pattern.split_whitespace().collect();
        while words.len() > 1 && words.last() == Some(&"*") {
            words.pop();
        }
        let (first, rest) = words.split_first()?;
        let base = first.rsplit('/').next().filter(|base| !base.is_empty()).unwrap_or(first).to_lowercase();
        let first = base.strip_suffix(".exe").unwrap_or(&base);
        if first.starts_with(['*', '?', '[', '{']) {
            return None;
        }
        let mut form = Form { program: Piece::new(first), verbs: Vec::new(), loose: Vec::new(), options: Vec::new() };
        for word in rest {
            if word.starts_with('-') && word.len() > 1 {
                form.options.push((*word).to_owned());
            } else if form.options.is_empty() {
                form.verbs.push(Piece::new(word));
            } else {
                form.loose.push(Piece::new(word));
            }
        }
        Some(form)
    }

    /// The program's name, if it contains no wildcard.
    pub fn program(&self) -> &str {
        &self.program.start
    }

    pub fn is_program(&self, name: &str) -> bool {
        self.program.may_be(&Word::of(name)) || self.program.may_be(&Word::of(unversioned(name)))
    }

    /// Whether a command may be this one. An unknown program counts as a match.
    pub fn may_be(&self, words: &[Word]) -> bool {
        let Some((first, rest)) = words.split_first() else { return false };
        let program = first.program();
        if self.program_may_be(&program) && self.rest_may_be(rest) {
            return true;
        }
        // `git-commit` is `git commit`.
        program.known().and_then(|name| name.split_once('-')).is_some_and(|(program, verb)| {
            let verb = [Word::of(verb)];
            self.is_program(program) && self.rest_may_be(&[&verb[..], rest].concat())
        })
    }

    fn program_may_be(&self, program: &Word) -> bool {
        let bare = program.known().map(|name| Word::of(unversioned(name)));
        self.program.may_be(program) || bare.is_some_and(|bare| self.program.may_be(&bare))
    }

    fn rest_may_be(&self, rest: &[Word]) -> bool {
        let anywhere = |piece: &Piece| {
            rest.iter().any(|word| {
                let joined = word.known().is_some_and(|text| text.starts_with('-') && text.ends_with(&piece.text));
                word.is_many() || piece.may_be(word) || word.value().is_some_and(|value| piece.may_be(&value)) || joined
            })
        };
        let name = self.program();
        let verbs = if is_listed(SUBCOMMANDS, name) {
            self.verbs_may_follow(&self.verbs, rest, name)
        } else {
            self.verbs.iter().all(anywhere)
        };
        verbs && self.loose.iter().all(anywhere) && self.options.iter().all(|option| option_may_be(name, option, rest))
    }

    /// Whether `verbs` may occur in this order, with only options and their values between them.
    fn verbs_may_follow(&self, verbs: &[Piece], rest: &[Word], name: &str) -> bool {
        let Some((verb, more)) = verbs.split_first() else { return true };
        let groups = GROUPS.iter().find(|(names, _)| is_listed(names, name)).map_or("", |(_, groups)| groups);
        // `value`: whether the next word may be the value of the option before it.
        let (mut value, mut at) = (false, 0);
        while let Some(word) = rest.get(at) {
            at += 1;
            if is_verb(verb, word, name) && self.verbs_may_follow(more, &rest[at..], name) {
                return true;
            }
            match word.known() {
                None if word.is_many() => return true,
                None => value = word.may_be_option() || value,
                Some(text) if text.starts_with('-') || text.starts_with('+') => {
                    value = text.starts_with('-') && !text.contains('=') && text != "--";
                    if name == "git" {
                        match git::takes_value(text) {
                            Some(true) => (at, value) = (at + 1, false),
                            Some(false) => value = false,
                            None => {}
                        }
                    }
                }
                Some(text) if is_listed(groups, text) => value = false,
                Some(_) if value => value = false,
                Some(_) => return false,
            }
        }
        false
    }
}

fn is_verb(verb: &Piece, word: &Word, name: &str) -> bool {
    if verb.may_be(word) {
        return true;
    }
    let Some(text) = word.known() else { return false };
    let alias = ALIASES
        .iter()
        .any(|(names, full, others)| is_listed(names, name) && *full == verb.text && is_listed(others, text));
    // These programs accept an abbreviated subcommand.
    let abbreviated = ["npm", "hg"].contains(&name) && !text.is_empty() && verb.text.starts_with(text);
    alias || abbreviated
}

/// Whether the option of a rule may be among the words, including in its other form, abbreviated,
/// or combined with other letters.
fn option_may_be(program: &str, option: &str, words: &[Word]) -> bool {
    let end = words.iter().position(|word| word.known() == Some("--")).unwrap_or(words.len());
    let given = &words[..end];
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    if let Some(value) = value {
        let value = Piece::new(value);
        let stands = |word: &Word| word.value().is_some_and(|given| value.may_be(&given)) || value.may_be(word);
        if !given.iter().any(stands) {
            return false;
        }
    }
    if program == "git" {
        // A plus before a branch forces a push, and a colon deletes the branch.
        let marked = |mark: char| words.iter().any(|word| word.start().starts_with(mark));
        let forces = is_listed("-f --force", name) && marked('+');
        let deletes = is_listed("-d --delete -D", name) && marked(':');
        let both = name == "-D" && ["--delete", "--force"].iter().all(|one| option_may_be(program, one, words));
        if forces || deletes || both {
            return true;
        }
    }
    if name.starts_with("--") {
        return given.iter().any(|word| may_be_long(name, word));
    }
    let letters = &name[1..];
    // `-delete` and `-KILL` are one option.
    if letters.len() > 3 {
        return given.iter().any(|word| word.begins_open() || word.name().trim_start_matches('-') == letters);
    }
    letters.chars().all(|letter| given.iter().any(|word| may_be_letter(letter, word)))
}

fn may_be_long(option: &str, word: &Word) -> bool {
    let name = word.name();
    if word.begins_open() || word.is_many() && !word.start().starts_with('-') {
        return true;
    }
    if name.starts_with("--") {
        // A long option may be abbreviated.
        return name.len() > 2 && (option.starts_with(name) || name.contains('\0') && option.starts_with(word.start()));
    }
    let letter = option.trim_start_matches("--no-").trim_start_matches("--").chars().next();
    let cluster = name.strip_prefix('-').unwrap_or_default();
    let has = |letter: char| cluster.chars().any(|c| c.eq_ignore_ascii_case(&letter) || c == '\0');
    let negated = option.starts_with("--no-") && has('n');
    !is_listed(WITHOUT_LETTER, option) && (letter.is_some_and(has) || negated)
}

fn may_be_letter(letter: char, word: &Word) -> bool {
    let name = word.name();
    if word.begins_open() || word.is_many() && !word.start().starts_with('-') {
        return true;
    }
    if let Some(long) = name.strip_prefix("--") {
        let first = long.chars().next();
        return first.is_some_and(|first| first.eq_ignore_ascii_case(&letter) || first == '\0');
    }
    let other = match letter {
        'r' => 'R',
        'R' => 'r',
        _ => letter,
    };
    name.strip_prefix('-').is_some_and(|cluster| cluster.contains([letter, other, '\0']))
}
