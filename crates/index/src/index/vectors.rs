//! Stores and searches a project's vectors in one usearch index: exactly up to `EXACT_MAX`, by HNSW above it.

use crate::base::hex;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::base::Bytes;

/// Above this many vectors, usearch's graph search (HNSW) takes over; below it a scan takes
/// milliseconds and misses nothing.
pub const EXACT_MAX: usize = 100_000;
/// HNSW: links per node, candidates while adding, candidates while searching; the library's defaults.
const HNSW: (usize, usize, usize) = (16, 128, 64);
/// The same for exact search, which does not use links: the minimum that the library allows.
const EXACT: (usize, usize, usize) = (2, 1, 1);

#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    #[error("the vector index failed: {0}")]
    Library(String),
    #[error("a vector has {found} dimensions, but the index has {expected}; the embedder changed unexpectedly")]
    Dimensions { expected: usize, found: usize },
    #[error("the vector file {path} cannot be written: {source}")]
    File { path: PathBuf, source: std::io::Error },
}

fn library(error: impl std::fmt::Display) -> VectorError {
    VectorError::Library(error.to_string())
}

/// Vectors of unit length by key, searched by cosine similarity.
pub struct Vectors {
    index: Index,
    dimensions: usize,
    exact: bool,
}

impl Vectors {
    /// An empty index for about `expected` vectors; their number decides between exact search and
    /// HNSW.
    pub fn new(dimensions: usize, expected: usize) -> Result<Vectors, VectorError> {
        Vectors::with_threshold(dimensions, expected, EXACT_MAX)
    }

    fn with_threshold(dimensions: usize, expected: usize, exact_max: usize) -> Result<Vectors, VectorError> {
        let exact = expected <= exact_max;
        let (connectivity, expansion_add, expansion_search) = if exact { EXACT } else { HNSW };
        let options = IndexOptions {
            dimensions,
            metric: MetricKind::Cos,
            // Half floats: rankings of unit vectors do not change noticeably, and the file is half
            // the size.
            quantization: ScalarKind::F16,
            connectivity,
            expansion_add,
            expansion_search,
            multi: false,
        };
        let index = Index::new(&options).map_err(library)?;
        index.reserve(expected.max(64)).map_err(library)?;
        Ok(Vectors { index, dimensions, exact })
    }

    pub fn len(&self) -> usize {
        self.index.size()
    }

    /// Memory that usearch has allocated.
    pub fn memory(&self) -> Bytes {
        Bytes(self.index.memory_usage() as u64)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Whether its kind of search suits this many vectors: exact for few, HNSW for many.
    pub fn suits(&self, expected: usize) -> bool {
        self.exact == (expected <= EXACT_MAX)
    }

    pub fn contains(&self, key: i64) -> bool {
        self.index.contains(key as u64)
    }

    /// Adds a vector; if the key exists, its vector is kept (equal keys mean equal content).
    pub fn add(&mut self, key: i64, vector: &[f32]) -> Result<(), VectorError> {
        if vector.len() != self.dimensions {
            return Err(VectorError::Dimensions { expected: self.dimensions, found: vector.len() });
        }
        if self.contains(key) {
            return Ok(());
        }
        // usearch writes out of bounds if there is no room; removed entries still take some.
        if self.index.size() + 1 >= self.index.capacity() {
            self.index.reserve((self.index.capacity() * 2).max(64)).map_err(library)?;
        }
        self.index.add(key as u64, vector).map_err(library)
    }

    /// The `count` most similar vectors: key and cosine, best first.
    pub fn search(&self, query: &[f32], count: usize) -> Result<Vec<(i64, f32)>, VectorError> {
        if query.len() != self.dimensions {
            return Err(VectorError::Dimensions { expected: self.dimensions, found: query.len() });
        }
        if self.is_empty() || count == 0 {
            return Ok(Vec::new());
        }
        let count = count.min(self.len());
        let found = if self.exact { self.index.exact_search(query, count) } else { self.index.search(query, count) };
        let found = found.map_err(library)?;
        Ok(found.keys.iter().zip(&found.distances).map(|(key, distance)| (*key as i64, 1.0 - distance)).collect())
    }

    /// Writes the index to `path` through a temporary file. Returns the checksum that `load`
    /// compares the file with.
    pub fn save(&self, path: &Path) -> Result<String, VectorError> {
        let mut bytes = vec![0; self.index.serialized_length()];
        self.index.save_to_buffer(&mut bytes).map_err(library)?;
        // A fixed name, so that the next save overwrites a possibly large file left by a killed
        // process.
        let partial = path.with_extension("usearch.partial");
        let written = fs::write(&partial, &bytes).and_then(|()| fs::rename(&partial, path));
        written.map_err(|source| {
            let _ = fs::remove_file(&partial);
            VectorError::File { path: path.to_owned(), source }
        })?;
        Ok(mark(&bytes, self.exact))
    }

    /// Reads an index written by `save`. `None` if the file is missing or damaged, its checksum is
    /// not `known`, its dimensions differ, or it was created for the other kind of search (exact or
    /// HNSW) than `expected` vectors need.
    pub fn load(path: &Path, dimensions: usize, expected: usize, known: &str) -> Option<Vectors> {
        let vectors = Vectors::new(dimensions, expected).ok()?;
        let bytes = fs::read(path).ok().filter(|bytes| mark(bytes, vectors.exact) == known)?;
        vectors.index.load_from_buffer(&bytes).ok()?;
        if vectors.index.dimensions() != dimensions {
            return None;
        }
        // Loading drops the reserved room, and adding without room would write out of bounds.
        vectors.index.reserve(vectors.index.size().max(expected) + 64).ok()?;
        Some(vectors)
    }
}

/// The kind of search and the SHA-256 of a file. An index for exact search has too few links for
/// HNSW, so the kind must match.
fn mark(bytes: &[u8], exact: bool) -> String {
    let digest = hex(&Sha256::digest(bytes));
    format!("{}-{digest}", if exact { "exact" } else { "hnsw" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random vector of unit length.
    fn vector(seed: u64, dimensions: usize) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(seed);
        let values: Vec<f32> = (0..dimensions).map(|_| random.f32() - 0.5).collect();
        let length = values.iter().map(|v| v * v).sum::<f32>().sqrt();
        values.iter().map(|v| v / length).collect()
    }

    fn filled(count: u64, exact_max: usize) -> Vectors {
        let mut vectors = Vectors::with_threshold(48, 10, exact_max).unwrap();
        (0..count).for_each(|key| vectors.add(key as i64, &vector(key, 48)).unwrap());
        vectors
    }

    fn nearest_by_hand(query: &[f32], count: u64, best: usize) -> Vec<i64> {
        let cosine = |key: u64| vector(key, 48).iter().zip(query).map(|(a, b)| a * b).sum::<f32>();
        let mut keys: Vec<u64> = (0..count).collect();
        keys.sort_by(|a, b| cosine(*b).total_cmp(&cosine(*a)));
        keys.into_iter().take(best).map(|k| k as i64).collect()
    }

    #[test]
    fn exact_search_finds_what_a_scan_by_hand_finds_and_graph_search_nearly_all_of_it() {
        for (exact_max, best, hits_min) in [(EXACT_MAX, 5, 50), (0, 10, 80)] {
            let vectors = filled(2_000, exact_max);
            let mut hits = 0;
            for seed in 5_000..5_010 {
                let query = vector(seed, 48);
                let expected = nearest_by_hand(&query, 2_000, best);
                let found = vectors.search(&query, best).unwrap();
                assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1), "best first");
                hits += found.iter().filter(|(key, _)| expected.contains(key)).count();
            }
            assert!(hits >= hits_min, "{hits} of {}", best * 10);
        }
    }

    #[test]
    fn a_saved_index_comes_back_and_takes_more_but_a_damaged_one_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.usearch");
        let mark = filled(100, EXACT_MAX).save(&path).unwrap();
        let mut loaded = Vectors::load(&path, 48, 100, &mark).unwrap();
        (100..400).for_each(|key| loaded.add(key, &vector(key as u64, 48)).unwrap());
        assert_eq!(loaded.len(), 400);
        for key in [7, 333] {
            assert_eq!(loaded.search(&vector(key, 48), 1).unwrap()[0].0, key as i64);
        }
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
        fs::write(&path, &bytes).unwrap();
        assert!(Vectors::load(&path, 48, 100, &mark).is_none());
        assert!(Vectors::load(&folder.path().join("missing"), 48, 100, &mark).is_none());
    }

    #[test]
    fn a_vector_of_another_length_is_refused() {
        assert!(matches!(filled(1, 10).add(9, &[1.0]), Err(VectorError::Dimensions { expected: 48, found: 1 })));
    }
}
