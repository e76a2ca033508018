//! Tool lists of servers on disk, so that planning needs no start.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::base::config::Server;
use crate::base::file;
use crate::tools::spec::ToolSpec;

/// A list that is older is asked for anew before it is planned with.
pub const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const FILE_MAX_BYTES: u64 = 8 << 20;

/// Where the list of a server lies: another command, argument or variable is another server.
pub fn place(folder: &Path, server: &Server) -> PathBuf {
    let told = format!(
        "{:?}",
        (&server.command, &server.args, &server.env, &server.inherit, &server.dir, &server.tools, &server.about)
    );
    let hash: String = Sha256::digest(told.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    folder.join(format!("{}-{hash}.json", server.name))
}

/// The list and its age; `None` where there is none that can be read.
pub fn read(place: &Path) -> Option<(Vec<ToolSpec>, Duration)> {
    let meta = fs::metadata(place).ok().filter(|meta| meta.len() <= FILE_MAX_BYTES)?;
    let age = SystemTime::now().duration_since(meta.modified().ok()?).unwrap_or_default();
    Some((serde_json::from_slice(&fs::read(place).ok()?).ok()?, age))
}

/// Keeps a list. Without it the next run starts the server, so a failure costs only time.
pub fn write(place: &Path, tools: &[ToolSpec]) {
    let written = serde_json::to_vec(tools).map_err(std::io::Error::from).and_then(|text| file::replace(place, &text));
    if let Err(error) = written {
        tracing::warn!(%error, place = %place.display(), "a tool list was not kept");
    }
}
