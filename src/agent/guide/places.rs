//! Finds the files in which a step changes something, and the reason if one of them cannot be
//! changed.

use crate::agent::{self, toolkit::TurnError};
use crate::context::readable;
use crate::request::Text;
use crate::request::named::{Found, Role};

use super::Job;

/// The files of a step.
pub struct Places {
    /// The text of the step, with [`MARK`](crate::request::named::MARK) in place of these files.
    pub text: Text,
    /// The files, without duplicates.
    pub files: Vec<String>,
    /// Whether the step names each file as a place of the change.
    pub are_all_meant: bool,
    /// The reason why a named file cannot be changed.
    unusable: Option<String>,
}

impl Places {
    /// The files that a step names, else those of its request, unless the step names a definition.
    pub fn of(job: Job<'_>) -> Result<Places, TurnError> {
        let places = Places::in_text(job, &job.step.text);
        let names_none = places.files.is_empty() && places.unusable.is_none();
        if !names_none || *job.scene.request == job.step.text || !job.mentions(&job.step.text)?.symbols.is_empty() {
            return Ok(places);
        }
        let of_request = Places::in_text(job, job.scene.request);
        // Problems with other steps' files do not concern this one.
        Ok(Places { text: places.text, unusable: None, ..of_request })
    }

    fn in_text(job: Job<'_>, text: &Text) -> Places {
        let names = agent::names(job.scene.toolkit, text);
        let mut places = names.places();
        // `remove the import of a.js from b.js` names one file.
        let has_file = places.iter().any(|one| one.file().is_some());
        places.retain(|one| one.role == Role::Place || !has_file || one.file().is_some());
        let unusable = places.iter().filter(|one| one.is_clear(text)).find_map(|one| one.trouble());
        places.retain(|one| one.file().is_some() || one.is_clear(text));
        let mut files: Vec<String> = Vec::new();
        for path in places.iter().filter_map(|one| one.file()) {
            if !files.iter().any(|known| known == path) {
                files.push(path.to_owned());
            }
        }
        let are_all_meant = places.iter().all(|one| one.role == Role::Place);
        // A named folder only states where the files are.
        let is_folder = places.iter().any(|one| matches!(one.found, Found::Folder(_)));
        let unusable = unusable.filter(|_| !is_folder || files.is_empty());
        Places { text: names.masked_at(&places), files, are_all_meant, unusable }
    }

    /// The reason why a file that the step would change cannot be changed; `None` if all can, or if
    /// the step changes no existing file.
    pub fn trouble(&self, job: Job<'_>) -> Option<String> {
        let changes = || self.text.changes_what_is_there() || self.text.says_what_becomes_what();
        let unreadable = || self.files.iter().find_map(|path| readable(job.scene.context, path).err());
        self.unusable.clone().or_else(unreadable).filter(|_| changes())
    }
}
