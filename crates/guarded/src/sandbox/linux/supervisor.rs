//! Creates, opens, moves and deletes entries for a command in folders that also hold protected places.
//!
//! Landlock grants rights over a folder with everything in it, so a command gets none over these
//! folders. The kernel reports its calls instead, and monobloc carries out those that name an
//! unprotected entry. It leaves every other call to the kernel, which refuses whatever no rule
//! grants. It reads a path once, opens its folder once and acts in that folder, so a command gains
//! nothing by changing the path or the folders in the meantime.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fcntl_getfl, fcntl_setfl, fstat, ftruncate,
    linkat, mkdirat, mknodat, openat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use tempfile::TempDir;

use super::super::places::Apart;
use super::notices::{Answer, At, Listener, Notice, Wish};

/// Maximum number of folders that one command can create in shared folders and fill.
const SPARE_MAX: usize = 32;
/// Flags kept from a command's call when its file is opened here.
const FLAGS_TAKEN: OFlags = OFlags::RWMODE
    .union(OFlags::APPEND)
    .union(OFlags::DSYNC)
    .union(OFlags::SYNC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::from_bits_retain(libc::O_DIRECT as u32));
/// Flags added here so that opening neither follows a link nor waits on a pipe.
const FLAGS_ADDED: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NOCTTY).union(OFlags::NONBLOCK);
/// The flags for opening a folder.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub struct Supervisor {
    places: Apart,
    shared: Vec<Shared>,
    /// Device and inode of the protected files and folders, because on some disks a name has
    /// several spellings.
    protected: Vec<(u64, u64)>,
    spares: Option<Spares>,
}

/// A folder with both protected and changeable entries. Held open so that no other folder gets its
/// inode number.
struct Shared {
    path: PathBuf,
    folder: OwnedFd,
    id: (u64, u64),
}

/// Empty folders in which the command may change everything. Each folder that the command creates
/// in a shared one is taken from these, because no rule can be added once the command runs.
pub struct Spares {
    /// Held open, because a path to it could lead elsewhere after a command has moved a folder or
    /// created a link.
    folder: OwnedFd,
    left: usize,
}

/// An entry named in a call.
struct Place {
    folder: OwnedFd,
    name: OsString,
    /// The shared folder that contains it, if any.
    shared: Option<usize>,
}

impl Spares {
    /// The folders, and the folder in `closed` that holds them and is removed when dropped; `None`
    /// where they cannot be created.
    pub fn new(closed: &Path) -> Option<(Spares, TempDir)> {
        remove_left(closed);
        let prefix = format!("spare-{}-", std::process::id());
        let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(closed).ok()?;
        let folder = openat(CWD, made.path(), FOLDER.union(OFlags::PATH), Mode::empty()).ok()?;
        let own = Mode::from_raw_mode(0o700);
        (0..SPARE_MAX).try_for_each(|number| mkdirat(&folder, number.to_string(), own)).ok()?;
        Some((Spares { folder, left: SPARE_MAX }, made))
    }

    /// The paths through which this process reaches them.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let folder = PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()));
        (0..SPARE_MAX).map(move |number| folder.join(number.to_string()))
    }

    /// Moves the next folder to `place` and returns it open; `None` if none is left or it cannot be
    /// moved there.
    fn move_to(&mut self, place: &Place) -> Option<OwnedFd> {
        self.left = self.left.checked_sub(1)?;
        let name = self.left.to_string();
        let spare = openat(&self.folder, &name, FOLDER, Mode::empty()).ok()?;
        renameat_with(&self.folder, &name, &place.folder, &place.name, RenameFlags::NOREPLACE).ok()?;
        Some(spare)
    }
}

/// Removes spare folders that killed processes left behind.
fn remove_left(closed: &Path) {
    for entry in fs::read_dir(closed).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process =
            name.to_str().and_then(|name| name.strip_prefix("spare-")?.split_once('-')?.0.parse::<u32>().ok());
        if process.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Supervisor {
    pub fn new(places: Apart, spares: Option<Spares>) -> io::Result<Supervisor> {
        let protected = places.closed.iter().filter_map(|path| path.symlink_metadata().ok());
        let protected = protected.map(|about| (about.dev(), about.ino())).collect();
        let opened = places.shared.iter().map(|path| {
            let folder = openat(CWD, path, FOLDER.union(OFlags::PATH), Mode::empty())?;
            let id = id_of(&fstat(&folder)?);
            Ok(Shared { path: path.clone(), folder, id })
        });
        let shared = opened.collect::<io::Result<_>>()?;
        Ok(Supervisor { shared, protected, spares, places })
    }

    /// Answers calls, one at a time, until every process of the command has ended. A calling thread
    /// waits for its answer, so the number of waiting calls is at most the command's number of
    /// threads.
    pub fn serve(mut self, listener: &Listener) {
        while let Some(notice) = listener.next() {
            let answer = match self.obey(listener, &notice) {
                None => Answer::Continue,
                Some(Ok(answer)) => answer,
                Some(Err(why)) => Answer::Failed(why),
            };
            listener.answer(&notice, answer);
        }
    }

    /// Carries out a call; `None` leaves the call to the kernel.
    fn obey(&mut self, listener: &Listener, notice: &Notice) -> Option<Result<Answer, Errno>> {
        let wish = notice.wish()?;
        match wish {
            Wish::Open { at, flags, mode } => {
                let (place, mask) = self.shared_place(listener, notice, at)?;
                self.open(&place, flags, mode & !mask)
            }
            Wish::Folder { at, mode } => {
                let (place, mask) = self.shared_place(listener, notice, at)?;
                Some(self.make_folder(&place, mode & !mask).map(|()| Answer::Done))
            }
            Wish::Special { at, mode } => {
                let (place, mask) = self.shared_place(listener, notice, at)?;
                let kind = FileType::from_raw_mode(mode & libc::S_IFMT);
                // A call without a file type creates a regular file.
                let kind = if mode & libc::S_IFMT == 0 { FileType::RegularFile } else { kind };
                let may = matches!(kind, FileType::Fifo | FileType::RegularFile);
                may.then(|| self.make_special(&place, kind, mode & !mask).map(|()| Answer::Done))
            }
            Wish::Symlink { at, target } => {
                let target = notice.text(target)?;
                let (place, _) = self.shared_place(listener, notice, at)?;
                Some(self.free(&place).and_then(|()| done(symlinkat(&target, &place.folder, &place.name))))
            }
            Wish::Remove { at, flags } => {
                let (place, _) = self.shared_place(listener, notice, at)?;
                let flags = AtFlags::from_bits(flags)?;
                Some(self.free(&place).and_then(|()| done(unlinkat(&place.folder, &place.name, flags))))
            }
            Wish::Rename { from, to, flags } => {
                let [from, to] = self.two(listener, notice, [from, to])?;
                let flags = RenameFlags::from_bits(flags).filter(|flags| !flags.contains(RenameFlags::WHITEOUT))?;
                let both = self.free(&from).and_then(|()| self.free(&to));
                let rename = || renameat_with(&from.folder, &from.name, &to.folder, &to.name, flags);
                Some(both.and_then(|()| done(rename())))
            }
            // A link to be followed, or an open file, is left to the kernel.
            Wish::HardLink { flags, .. } if flags != 0 => None,
            Wish::HardLink { from, to, .. } => {
                let [from, to] = self.two(listener, notice, [from, to])?;
                let both = self.free(&from).and_then(|()| self.free(&to));
                let link = || linkat(&from.folder, &from.name, &to.folder, &to.name, AtFlags::empty());
                Some(both.and_then(|()| done(link())))
            }
        }
    }

    /// The entry named in a call, and the permissions to remove; `None` if it is not in a shared
    /// folder.
    fn shared_place(&self, listener: &Listener, notice: &Notice, at: At) -> Option<(Place, u32)> {
        let place = self.place(notice, at).filter(|place| place.shared.is_some())?;
        let mask = notice.umask()?;
        // The data is from this process only if it is still waiting; otherwise its ID may belong to
        // another process.
        listener.waits(notice).then_some((place, mask))
    }

    /// The two entries named in a call, one in a shared folder and the other in a changeable one.
    fn two(&self, listener: &Listener, notice: &Notice, [from, to]: [At; 2]) -> Option<[Place; 2]> {
        let both = [self.place(notice, from)?, self.place(notice, to)?];
        let is_ours =
            both.iter().any(|place| place.shared.is_some()) && both.iter().all(|place| self.may_change(place));
        (is_ours && listener.waits(notice)).then_some(both)
    }

    fn place(&self, notice: &Notice, at: At) -> Option<Place> {
        let (folder, name) = notice.place(at)?;
        let id = id_of(&fstat(&folder).ok()?);
        let shared = self.shared.iter().position(|one| one.id == id);
        Some(Place { folder, name, shared })
    }

    /// Whether its folder is shared, or one in which the command may change everything.
    fn may_change(&self, place: &Place) -> bool {
        let path = || fs::read_link(format!("/proc/self/fd/{}", place.folder.as_raw_fd()));
        place.shared.is_some() || path().is_ok_and(|path| self.places.is_open(&path))
    }

    /// An error if the entry is protected.
    fn free(&self, place: &Place) -> Result<(), Errno> {
        let Some(shared) = place.shared.map(|number| &self.shared[number]) else { return Ok(()) };
        let there = statat(&shared.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW);
        let is_protected = there.is_ok_and(|about| self.is_protected(&about));
        if is_protected || self.stays(&shared.path, &place.name) { Err(Errno::ACCESS) } else { Ok(()) }
    }

    fn is_protected(&self, about: &Stat) -> bool {
        let id = id_of(about);
        self.protected.contains(&id) || self.shared.iter().any(|one| one.id == id)
    }

    /// Whether the name is protected, ignoring case, because some disks ignore it.
    fn stays(&self, folder: &Path, name: &OsStr) -> bool {
        let of_folder = self.places.stays.iter().filter(|path| path.parent() == Some(folder));
        of_folder.filter_map(|path| path.file_name()).any(|stays| stays.eq_ignore_ascii_case(name))
    }

    /// Opens a file, which may be new; `None` for anything else, and for a missing file that the
    /// flags do not create.
    fn open(&self, place: &Place, flags: OFlags, mode: u32) -> Option<Result<Answer, Errno>> {
        if flags.intersects(OFlags::PATH | OFlags::DIRECTORY) {
            return None;
        }
        if let Err(why) = self.free(place) {
            return Some(Err(why));
        }
        let there = statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW);
        let file = match there {
            Err(Errno::NOENT) if flags.contains(OFlags::CREATE) => make(place, flags, mode),
            Ok(_) if flags.contains(OFlags::CREATE | OFlags::EXCL) => Err(Errno::EXIST),
            Ok(about) if is_file(&about) => self.open_again(place, flags),
            _ => return None,
        };
        let opened = file.and_then(|file| {
            if !flags.contains(OFlags::NONBLOCK) {
                fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
            }
            Ok(Answer::File { file, close_on_exec: flags.contains(OFlags::CLOEXEC) })
        });
        Some(opened)
    }

    fn open_again(&self, place: &Place, flags: OFlags) -> Result<OwnedFd, Errno> {
        let file = openat(&place.folder, &place.name, flags & FLAGS_TAKEN | FLAGS_ADDED, Mode::empty())?;
        // Another entry may have replaced the file in the meantime.
        let about = fstat(&file)?;
        if !is_file(&about) || self.is_protected(&about) {
            return Err(Errno::ACCESS);
        }
        if flags.contains(OFlags::TRUNC) && flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
            ftruncate(&file, 0)?;
        }
        Ok(file)
    }

    /// Moves a spare folder to that place. If none is left, or none is on this disk, creates a
    /// folder in which the command may change nothing.
    fn make_folder(&mut self, place: &Place, mode: u32) -> Result<(), Errno> {
        self.free(place)?;
        if statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(Errno::EXIST);
        }
        let mode = Mode::from_raw_mode(mode & 0o1777);
        match self.spares.as_mut().and_then(|spares| spares.move_to(place)) {
            Some(spare) => fchmod(&spare, mode),
            None => mkdirat(&place.folder, &place.name, mode),
        }
    }

    fn make_special(&self, place: &Place, kind: FileType, mode: u32) -> Result<(), Errno> {
        self.free(place)?;
        mknodat(&place.folder, &place.name, kind, Mode::from_raw_mode(mode & 0o777), 0)
    }
}

fn make(place: &Place, flags: OFlags, mode: u32) -> Result<OwnedFd, Errno> {
    let mode = Mode::from_raw_mode(mode & 0o777);
    let new = flags & FLAGS_TAKEN | FLAGS_ADDED | OFlags::CREATE | OFlags::EXCL;
    let file = openat(&place.folder, &place.name, new, mode)?;
    // This process's own umask may have removed permissions.
    fchmod(&file, mode)?;
    Ok(file)
}

fn done(result: Result<(), Errno>) -> Result<Answer, Errno> {
    result.map(|()| Answer::Done)
}

fn is_file(about: &Stat) -> bool {
    FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
}

fn id_of(about: &Stat) -> (u64, u64) {
    (about.st_dev, about.st_ino)
}
