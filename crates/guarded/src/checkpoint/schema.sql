CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID, STRICT;
INSERT INTO meta VALUES ('content_bytes', 0);

-- Contents by their SHA-256, compressed with LZ4 if that makes them smaller.
CREATE TABLE blobs (
    hash BLOB PRIMARY KEY,
    size INTEGER NOT NULL,
    packed INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

-- The state of each path when it was last compared.
CREATE TABLE known (
    path BLOB PRIMARY KEY,
    entry TEXT NOT NULL,
    kind INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    fresh INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

-- Paths that checkpoints do not cover, each with the reason.
CREATE TABLE uncovered (path BLOB PRIMARY KEY, why TEXT NOT NULL) WITHOUT ROWID, STRICT;

CREATE TABLE checkpoints (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    reason TEXT NOT NULL,
    conversation TEXT NOT NULL,
    request TEXT NOT NULL,
    -- The last change before it.
    position INTEGER NOT NULL,
    -- The last record of the journal before it, with its hash.
    journal_seq INTEGER NOT NULL,
    journal_hash TEXT NOT NULL,
    -- The list of blobs that are the lessons.
    memory BLOB NOT NULL
) STRICT;

-- Calls that may change the project; open: 1 while in progress, or if the process was killed during the call.
CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    checkpoint INTEGER NOT NULL,
    tool TEXT NOT NULL,
    started_ns INTEGER NOT NULL,
    -- 1: anything may have changed; 0: the paths of call_paths.
    everything INTEGER NOT NULL,
    open INTEGER NOT NULL
) STRICT;
CREATE TABLE call_paths (call INTEGER NOT NULL, path BLOB NOT NULL, PRIMARY KEY (call, path)) WITHOUT ROWID, STRICT;

-- Every change of every path, in order. origin: call, rewind or outside; number: the call, or the checkpoint restored.
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    origin TEXT NOT NULL,
    number INTEGER NOT NULL,
    path BLOB NOT NULL,
    old TEXT NOT NULL,
    new TEXT NOT NULL
) STRICT;
CREATE INDEX changes_path ON changes (path, seq);

-- The restore in progress, at most one; an interrupted one is finished later.
CREATE TABLE restore (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    target INTEGER NOT NULL,
    safety INTEGER NOT NULL,
    phase TEXT NOT NULL,
    kept INTEGER NOT NULL
) STRICT;
CREATE TABLE restore_plan (path BLOB PRIMARY KEY, old TEXT NOT NULL, new TEXT NOT NULL) WITHOUT ROWID, STRICT;
