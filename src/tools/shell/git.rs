//! Lists the subcommands of git, and the options with which it runs other programs.

use super::programs::may_be_option;
use super::word::Word;
use crate::base::is_listed;

/// Options before the subcommand that take a value, and those that take none.
const WITH_VALUE: &str =
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --list-cmds";
const ALONE: &str = "--no-pager -P --paginate -p --bare --no-replace-objects --literal-pathspecs --glob-pathspecs
    --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice --html-path --man-path --info-path
    --exec-path -v --version -h --help";
/// Prefixes of settings that do not name programs.
const SETTINGS: &str =
    "user. color. advice. log. init. safe. gc. core.quotepath core.autocrlf core.safecrlf core.abbrev
    core.ignorecase commit.gpgsign tag.gpgsign diff.renames diff.context merge.conflictstyle pull.rebase push.default
    format.pretty status. branch. column. http. fetch. core.eol";
/// Subcommands that only read, with the options that make them do more.
const LOOKS: &[(&str, &str)] = &[
    ("log show diff whatchanged diff-tree diff-index diff-files range-diff", "--output --ext-diff"),
    ("grep", "-O --open-files-in-pager"),
    (
        "status blame annotate ls-files ls-tree rev-parse rev-list describe shortlog cat-file for-each-ref name-rev \
         merge-base cherry count-objects show-ref show-branch var version help check-ignore check-attr check-mailmap \
         fsck verify-commit verify-tag add init stripspace get-tar-commit-id column patch-id diff-pairs",
        "",
    ),
    ("commit", "--amend"),
    ("fetch", "-f --force -p --prune --prune-tags -P --upload-pack --refmap"),
    ("ls-remote", "--upload-pack --exec"),
    (
        "branch",
        "-d -D -m -M -c -C -f --delete --move --copy --force --edit-description --unset-upstream --set-upstream-to -u",
    ),
    ("tag", "-d -f --delete --force"),
];
/// Second-level subcommands that only read.
const LOOKS_BELOW: &[(&str, &str)] = &[
    ("stash", "list show"),
    ("remote", "show get-url"),
    ("worktree", "list"),
    ("submodule", "status summary"),
    ("reflog", "show exists"),
    ("bisect", "log view"),
    ("notes", "list show"),
    ("config", "get list --get --get-all --list -l --get-regexp"),
    ("bundle", "verify list-heads"),
];
/// Subcommands that run only hooks and programs named in settings. Any other may be an alias.
const KNOWN: &str = "am apply archive checkout checkout-index cherry-pick clean clone commit-graph commit-tree format-patch gc
    hash-object index-pack merge merge-file merge-tree mktag mktree multi-pack-index mv notes pack-objects pack-refs prune
    pull push read-tree reflog remote repack replace request-pull rerere reset restore revert rm sparse-checkout stash
    switch symbolic-ref unpack-objects update-index update-ref update-server-info verify-pack worktree write-tree fast-export
    fast-import citool bundle maintenance credential interpret-trailers mailinfo mailsplit bugreport diagnose";

/// The subcommand and the words after it; `None` if the subcommand, or a program that it runs,
/// cannot be known in advance.
pub fn verb(words: &[Word]) -> Option<(&str, &[Word])> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.known()?;
        let name = text.split('=').next().unwrap_or(text);
        if !text.starts_with('-') {
            return Some((text, &words[at + 1..]));
        }
        let key = match text {
            "-c" => words.get(at + 1).map(|setting| setting.known()),
            _ if name == "--config-env" => return None,
            _ => text.strip_prefix("-c").filter(|_| !text.starts_with("--")).map(Some),
        };
        if let Some(key) = key {
            let key = key?.to_lowercase();
            if !SETTINGS.split_whitespace().any(|setting| key.starts_with(setting)) {
                return None;
            }
        }
        at += match name {
            _ if is_listed(WITH_VALUE, name) && name == text => 2,
            _ if is_listed(WITH_VALUE, name) || is_listed(ALONE, name) || text.starts_with("-c") => 1,
            _ => return None,
        };
    }
    Some(("", &[]))
}

/// Whether the command only reads, or adds to the repository without changing existing content.
pub fn is_harmless(words: &[Word]) -> bool {
    let Some((verb, rest)) = verb(words) else { return false };
    if let Some((_, below)) = LOOKS_BELOW.iter().find(|(name, _)| *name == verb) {
        let sub = rest.iter().find(|word| !word.is_option() || is_listed(below, word.start()));
        return match sub.map(|word| word.known()) {
            None => verb == "remote" || verb == "reflog",
            Some(Some(sub)) => is_listed(below, sub) || (verb == "config" && rest.len() == 1 && sub.contains('.')),
            Some(None) => false,
        };
    }
    if verb.is_empty() {
        return words.len() <= 2;
    }
    let looks = LOOKS.iter().find(|(names, _)| is_listed(names, verb));
    // A plus forces the update of a branch.
    let plus = |word: &Word| verb == "fetch" && word.start().starts_with('+');
    looks.is_some_and(|(_, options)| {
        let words = rest.iter().take_while(|word| word.known() != Some("--"));
        !words.clone().any(|word| may_be_option(word, options) || plus(word))
    })
}

/// Whether a subcommand belongs to git itself and does not run a command given in its words.
pub fn is_plain(verb: &str) -> bool {
    verb.is_empty() || is_listed(KNOWN, verb) || LOOKS.iter().any(|(names, _)| is_listed(names, verb))
}

/// Whether an option before the subcommand takes the next word as its value; `None` for unknown
/// options.
pub fn takes_value(option: &str) -> Option<bool> {
    let name = option.split('=').next().unwrap_or(option);
    if is_listed(WITH_VALUE, name) {
        return Some(name == option);
    }
    is_listed(ALONE, name).then_some(false)
}

/// Subcommands that run a command given in their words for each of several commits or files.
const RUNNERS: &str =
    "bisect rebase submodule filter-branch difftool mergetool config send-email svn p4 lfs for-each-repo hook";

/// Whether the subcommand does not belong to git itself, so that it may be an alias.
pub fn may_be_alias(verb: &str) -> bool {
    !is_plain(verb) && !is_listed(RUNNERS, verb)
}
