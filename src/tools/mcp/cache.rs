//! Caches the tool lists of servers on disk, so that planning need not start them.

use crate::base::hex;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::base::config::Server;
use crate::base::file;
use crate::tools::spec::ToolSpec;

/// An older list is requested again before planning.
pub const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const FILE_MAX_BYTES: u64 = 8 << 20;

/// The cache file of a server. Its name contains a hash of the settings, so that changed settings mean another file.
pub fn place(folder: &Path, server: &Server) -> PathBuf {
    let settings = format!(
        "{:?}",
        (&server.command, &server.args, &server.env, &server.inherit, &server.dir, &server.tools, &server.about)
    );
    let hash = hex(&Sha256::digest(settings.as_bytes())[..8]);
    folder.join(format!("{}-{hash}.json", server.name))
}

/// The list and its age; `None` if there is none that can be read.
pub fn read(place: &Path) -> Option<(Vec<ToolSpec>, Duration)> {
    let meta = fs::metadata(place).ok().filter(|meta| meta.len() <= FILE_MAX_BYTES)?;
    let age = SystemTime::now().duration_since(meta.modified().ok()?).unwrap_or_default();
    Some((serde_json::from_slice(&fs::read(place).ok()?).ok()?, age))
}

/// Writes a list. A failure is only logged, because then the next run just starts the server.
pub fn write(place: &Path, tools: &[ToolSpec]) {
    let written = serde_json::to_vec(tools).map_err(std::io::Error::from).and_then(|text| file::replace(place, &text));
    if let Err(error) = written {
        tracing::warn!(%error, place = %place.display(), "a tool list was not kept");
    }
}
