//! Carries out the steps of a restore on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use super::attributes;
use super::entry::{Entry, Hash, Marks};
use super::rewind::Step;
use super::scan::{Kind, Stat};
use super::store::{Store, hash};
use crate::base::overwrite;

impl Store {
    /// Runs all steps: removes entries, deepest first; creates folders, outermost first; writes
    /// files and links; sets the modes of folders last, because they may forbid writing. Returns
    /// the result of every action.
    pub(super) fn work_through<'a>(&self, project: &Path, steps: &'a [Step]) -> Vec<(&'a Step, Done)> {
        let mut ends: Vec<(&Step, Done)> = Vec::new();
        let mut run = |step: &'a Step, work: &dyn Fn(&Path) -> Done| {
            let done = on_real_folders(project, &step.path).and_then(|()| work(&project.join(&step.path)));
            ends.push((step, done));
        };
        for step in steps.iter().filter(|step| step.now.is_dir()) {
            run(step, &|at| open_up(at).map(|()| None));
        }
        for step in steps.iter().rev().filter(|step| step.then == Entry::Absent || changes_kind(step)) {
            run(step, &|at| remove(at, step.then).map(|()| None));
        }
        for step in steps.iter().filter(|step| step.then.is_dir()) {
            run(step, &|at| make_folder(at).map(|()| None));
        }
        for step in steps.iter().filter(|step| step.then.content().is_some()) {
            run(step, &|at| self.write(at, step.then, project));
        }
        for (step, other) in self.split_names(project, steps) {
            let link = |at: &Path| overwrite::replace(at, |temporary| fs::hard_link(project.join(&other), temporary));
            run(step, &|at| link(at).map(|()| None));
        }
        for step in steps.iter().rev().filter(|step| step.then.is_dir()) {
            run(step, &|at| self.finish_folder(at, step.then));
        }
        ends
    }

    /// The restored files that were hard links and are now separate files, each with one of its
    /// former other names.
    fn split_names<'a>(&self, project: &Path, steps: &'a [Step]) -> Vec<(&'a Step, PathBuf)> {
        let inode = |path: &Path| fs::symlink_metadata(project.join(path)).ok().map(|about| about.ino());
        let linked = || steps.iter().filter_map(|step| Some((step.then.marks().link?, step)));
        if linked().next().is_none() {
            return Vec::new();
        }
        let mut names: BTreeMap<(u64, Option<Hash>), PathBuf> = BTreeMap::new();
        // An untouched name still refers to the old file.
        let inodes: BTreeSet<u64> = linked().map(|(link, _)| link).collect();
        for (path, known) in self.known().unwrap_or_default() {
            let is_one = inodes.contains(&known.stat.inode) && Stat::at(&project.join(&path)) == Ok(Some(known.stat));
            if is_one {
                names.insert((known.stat.inode, known.entry.content()), path);
            }
        }
        let mut split = Vec::new();
        for (link, step) in linked() {
            let name = names.entry((link, step.then.content())).or_insert_with(|| step.path.clone());
            if inode(name).is_some() && inode(name) != inode(&step.path) {
                split.push((step, name.clone()));
            }
        }
        split
    }

    /// Writes a file or link.
    fn write(&self, at: &Path, then: Entry, project: &Path) -> Done {
        let folder = at.parent().ok_or_else(|| io::Error::other("it has no parent folder"))?;
        fs::create_dir_all(folder)?;
        let content = |hash| self.blob(hash).map_err(io::Error::other);
        match then {
            Entry::Link { hash, marks } => put_link(at, content(hash)?, marks).map(|()| None),
            Entry::File { mode, hash: Some(hash), marks } => {
                let (content, about) = (content(hash)?, self.about(mode, marks).map_err(io::Error::other)?);
                match overwrite::write(at, &content, Some(&about), project) {
                    Err(error) if is_refused(&error) => {
                        // Without its owner, the file must not run with the rights of the current
                        // user.
                        let plain = overwrite::About { mode: mode & 0o1777, owner: None, attributes: None };
                        overwrite::write(at, &content, Some(&plain), project)?;
                        Ok(Some(format!("its content is restored, but its owner or its attributes are not: {error}")))
                    }
                    done => done.map(|()| None),
                }
            }
            Entry::File { hash: None, .. } | Entry::Dir { .. } | Entry::Absent => Ok(None),
        }
    }

    /// Gives a folder its owner, attributes and mode.
    fn finish_folder(&self, at: &Path, then: Entry) -> Done {
        let Entry::Dir { mode, marks } = then else { return Ok(None) };
        let about = self.about(mode, marks).map_err(io::Error::other)?;
        match about.put_on(&File::open(at)?) {
            Err(error) if is_refused(&error) => {
                fs::set_permissions(at, Permissions::from_mode(mode & 0o1777))?;
                Ok(Some(format!("the folder is restored, but its owner or its attributes are not: {error}")))
            }
            done => done.map(|()| None),
        }
    }
}

/// The result of an action: `Ok(Some(_))` describes the part that could not be done.
pub(super) type Done = io::Result<Option<String>>;

/// Whether an error means that this user may not set an owner or attributes.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
}

fn changes_kind(step: &Step) -> bool {
    step.now != Entry::Absent && std::mem::discriminant(&step.now) != std::mem::discriminant(&step.then)
}

impl Entry {
    /// The current entry at a path, with the hash of its complete content.
    pub fn at(path: &Path) -> io::Result<Entry> {
        let Some(stat) = Stat::at(path).map_err(io::Error::other)? else { return Ok(Entry::Absent) };
        let about = overwrite::About::of(path)?;
        let attributes = about.attributes.filter(|attributes| !attributes.is_empty());
        let attributes = attributes.map(|attributes| hash(&attributes::to_bytes(&attributes)));
        let marks = Marks { owner: about.owner, attributes, link: None };
        Ok(match stat.kind {
            Kind::Dir => Entry::Dir { mode: stat.mode, marks },
            Kind::Link => Entry::Link { hash: hash(&fs::read_link(path)?.into_os_string().into_vec()), marks },
            Kind::File => Entry::File { mode: stat.mode, hash: Some(hash(&fs::read(path)?)), marks },
        })
    }
}

/// Fails if a parent folder of `path` is a link or a file, so that nothing outside the project is
/// touched.
fn on_real_folders(project: &Path, path: &Path) -> io::Result<()> {
    for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        match fs::symlink_metadata(project.join(folder)) {
            Ok(about) if about.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("`{}` is not a folder", folder.display()))),
            // A later step creates the folder, or its whole tree is being removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives the owner full rights to a folder until its mode is restored.
fn open_up(at: &Path) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(about) if about.is_dir() && about.permissions().mode() & 0o700 != 0o700 => {
            fs::set_permissions(at, Permissions::from_mode(about.permissions().mode() & 0o7777 | 0o700))
        }
        _ => Ok(()),
    }
}

/// Removes the entry at a path, unless `then` is of the same kind. Fails if it is a folder that is
/// not empty.
fn remove(at: &Path, then: Entry) -> io::Result<()> {
    let gone = match fs::symlink_metadata(at) {
        Ok(about) if about.is_dir() && then.is_dir() => Ok(()),
        Ok(about) if about.is_dir() => fs::remove_dir(at),
        Ok(about) if about.is_file() && matches!(then, Entry::File { .. }) => Ok(()),
        Ok(_) => fs::remove_file(at),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        other => other,
    }
}

fn make_folder(at: &Path) -> io::Result<()> {
    match fs::create_dir(at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_up(at),
        other => other,
    }
}

/// Creates a link in place of the current entry.
pub(super) fn put_link(at: &Path, target: Vec<u8>, marks: Marks) -> io::Result<()> {
    overwrite::replace(at, |temporary| symlink(OsString::from_vec(target), temporary))?;
    if let Some((user, group)) = marks.owner {
        // Programs that read a link ignore its owner, so this may fail.
        let _ = lchown(at, Some(user), Some(group));
    }
    Ok(())
}

/// Writes a file of a copied project, owned by the user who makes the copy.
pub(super) fn copy(to: &Path, content: &[u8], mode: u32, folder: &Path) -> io::Result<()> {
    let about = overwrite::About { mode, owner: None, attributes: None };
    overwrite::write(to, content, Some(&about), folder)
}
