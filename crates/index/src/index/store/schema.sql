-- The index of a project. Everything here can be built again from the files; other parts of the program keep their own tables.
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    language TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL, -- 0 if the content may have changed without another stamp: it is read again
    inode INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    skipped TEXT,            -- why it is not indexed; null for an indexed file
    note TEXT,               -- why a part of it could not be parsed
    sketch BLOB NOT NULL,    -- hashes of some of its lines; see index/copies.rs
    interface INTEGER NOT NULL, -- hash of what edges of other files may depend on
    resolution INTEGER NOT NULL -- hash of its edges, 0 before they are resolved
) WITHOUT ROWID;

CREATE TABLE outlines (      -- not in files, whose rows are read often and should stay small
    path TEXT PRIMARY KEY,
    outline BLOB NOT NULL    -- postcard form of syntax::Outline, from which edges are resolved
);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    number INTEGER NOT NULL,
    language TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    symbol TEXT,
    kind TEXT,
    signature TEXT NOT NULL,
    doc TEXT NOT NULL,
    content TEXT NOT NULL,
    functions TEXT NOT NULL, -- JSON arrays of names
    exports TEXT NOT NULL,
    imports TEXT NOT NULL,
    vector_key INTEGER NOT NULL,
    summary TEXT NOT NULL
);
CREATE INDEX chunks_path ON chunks (path);
CREATE INDEX chunks_vector_key ON chunks (vector_key);

CREATE VIRTUAL TABLE chunks_text USING fts5 (
    name, path, signature, doc, body,
    content = '', contentless_delete = 1, tokenize = "porter unicode61"
);

CREATE TABLE symbols (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    signature TEXT NOT NULL,
    doc TEXT NOT NULL,
    exported INTEGER NOT NULL,
    container INTEGER,
    chunk INTEGER
);
CREATE INDEX symbols_path ON symbols (path);
CREATE INDEX symbols_name ON symbols (name COLLATE NOCASE);

-- Names by the stems of their words, for searches that do not give a name exactly; see store/names.rs.
CREATE TABLE names (
    key TEXT NOT NULL,       -- stems of the name's words, in alphabetical order
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    kind TEXT,               -- of the definition; null for a name that is only exported
    chunk INTEGER            -- where it is defined or exported
);
CREATE INDEX names_key ON names (key);
CREATE INDEX names_path ON names (path);

CREATE TABLE edges (
    path TEXT NOT NULL,      -- the file that has the reference
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    kind TEXT NOT NULL,
    confidence REAL NOT NULL,
    reason TEXT NOT NULL,
    line INTEGER NOT NULL,
    at_load INTEGER NOT NULL, -- the reference is outside every function
    PRIMARY KEY (path, source, target, kind)
) WITHOUT ROWID;

CREATE TABLE unresolved (
    path TEXT NOT NULL,
    source INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    line INTEGER NOT NULL,
    reason TEXT NOT NULL
);
CREATE INDEX unresolved_path ON unresolved (path);
CREATE INDEX unresolved_name ON unresolved (name);

-- Answers of searches, of which those of the current generation hold; see store/answers.rs.
CREATE TABLE answers (
    id INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL,
    kind TEXT NOT NULL,      -- how it was searched: by which vectors, under which rules
    question TEXT NOT NULL,
    most INTEGER NOT NULL,   -- number of hits asked for
    vector BLOB NOT NULL,    -- of the question: half floats, little endian; empty without one
    found BLOB NOT NULL,     -- postcard form of chunks, scores and notes
    UNIQUE (kind, question)
);

CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    vector_key INTEGER NOT NULL,
    model TEXT NOT NULL,     -- fingerprint of the weights
    vector BLOB NOT NULL,    -- half floats, little endian
    UNIQUE (model, vector_key)
);

-- Results of searches may change with a file or a vector.
CREATE TRIGGER files_insert AFTER INSERT ON files BEGIN
    UPDATE index_meta SET value = value + 1 WHERE name = 'generation';
END;
CREATE TRIGGER files_update AFTER UPDATE ON files BEGIN
    UPDATE index_meta SET value = value + 1 WHERE name = 'generation';
END;
CREATE TRIGGER files_delete AFTER DELETE ON files BEGIN
    UPDATE index_meta SET value = value + 1 WHERE name = 'generation';
END;
CREATE TRIGGER embeddings_insert AFTER INSERT ON embeddings BEGIN
    UPDATE index_meta SET value = value + 1 WHERE name = 'generation';
END;
CREATE TRIGGER embeddings_delete AFTER DELETE ON embeddings BEGIN
    UPDATE index_meta SET value = value + 1 WHERE name = 'generation';
END;
