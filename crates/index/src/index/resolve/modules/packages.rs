//! Resolves script imports with oxc_resolver over the indexed files, with the project's packages linked into `node_modules`.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use oxc_resolver::{FileMetadata, FileSystem, ResolveError, ResolveOptions, ResolverGeneric, TsconfigDiscovery};
use serde_json::Value;

use crate::index::paths::{folder_of, join};

/// Extensions tried in this order for an import without one, as by TypeScript's compiler and
/// bundlers.
const EXTENSIONS: &[&str] = &[".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
/// An import may name a compiled file: its extension, and those of the source to try instead.
const COMPILED: &[(&str, &[&str])] = &[
    (".js", &[".ts", ".tsx", ".d.ts", ".js", ".jsx"]),
    (".jsx", &[".tsx", ".jsx"]),
    (".mjs", &[".mts", ".d.mts", ".mjs"]),
    (".cjs", &[".cts", ".d.cts", ".cjs"]),
];
/// Output folders of compilers; the sources of their files are in `src`.
const BUILT: &[&str] = &["dist", "lib", "build", "out", "esm", "cjs", "es", "types", "mjs"];
/// Conditions accepted in a package's `exports`; the order in the package decides, not this one.
const CONDITIONS: &[&str] =
    &["source", "development", "types", "import", "module", "require", "node", "browser", "default"];
/// Maximum number of targets read from one package's `exports`.
const TARGETS_MAX: usize = 500;

/// Finds the files that imports in scripts refer to.
pub(in crate::index::resolve) struct Packages {
    with_settings: ResolverGeneric<Tree>,
    /// For folders whose `tsconfig.json` cannot be read.
    plain: ResolverGeneric<Tree>,
    tree: Tree,
    /// Folder and `package.json` of each package in the project, by name.
    own: HashMap<String, (String, Value)>,
}

impl Packages {
    /// `paths` of all indexed files; `manifests`: path and text of every `package.json` and
    /// `tsconfig.json`.
    pub fn new<'a>(paths: impl Iterator<Item = &'a str>, manifests: &[(String, String)]) -> Packages {
        let mut own: HashMap<String, (String, Value)> = HashMap::new();
        for (path, text) in manifests.iter().filter(|(path, _)| is_package(path)) {
            let Ok(package) = serde_json::from_str::<Value>(text) else { continue };
            let Some(name) = package.get("name").and_then(Value::as_str).map(str::to_owned) else { continue };
            let folder = folder_of(path).to_owned();
            // Fixtures and examples may have the same name as the real package, which is nested
            // less deeply.
            let depth = |folder: &str| (folder.matches('/').count(), folder.len());
            if own.get(&name).is_none_or(|(known, _)| depth(&folder) < depth(known)) {
                own.insert(name, (folder, package));
            }
        }
        let tree = Tree::of(paths, manifests, &own);
        let options = ResolveOptions {
            extensions: EXTENSIONS.iter().map(|e| (*e).to_owned()).collect(),
            extension_alias: COMPILED
                .iter()
                .map(|(built, sources)| ((*built).to_owned(), sources.iter().map(|s| (*s).to_owned()).collect()))
                .collect(),
            condition_names: CONDITIONS.iter().map(|c| (*c).to_owned()).collect(),
            main_fields: ["source", "types", "module", "main"].map(str::to_owned).to_vec(),
            symlinks: false,
            node_path: false,
            ..ResolveOptions::default()
        };
        let settings = ResolveOptions { tsconfig: Some(TsconfigDiscovery::Auto), ..options.clone() };
        Packages {
            with_settings: ResolverGeneric::new_with_file_system(tree.clone(), settings),
            plain: ResolverGeneric::new_with_file_system(tree.clone(), options),
            tree,
            own,
        }
    }

    /// The indexed file that the import source `source` refers to in `file`.
    pub fn find(&self, file: &str, source: &str) -> Option<String> {
        let from = absolute(file);
        let found = match self.with_settings.resolve_file(&from, source) {
            Ok(found) => Some(found),
            Err(ResolveError::NotFound(_)) => None,
            Err(_) => self.plain.resolve(from.parent()?, source).ok(),
        };
        found.and_then(|found| self.tree.relative(found.path())).or_else(|| self.in_own_package(source))
    }

    /// Finds the source for an import of an unbuilt package in the project: its `exports` name
    /// files that do not exist yet.
    fn in_own_package(&self, source: &str) -> Option<String> {
        let at = source.char_indices().filter(|(_, c)| *c == '/').nth(usize::from(source.starts_with('@')));
        let (name, inside) = at.map_or((source, ""), |(at, _)| (&source[..at], &source[at + 1..]));
        let (folder, package) = self.own.get(name)?;
        let entry = if inside.is_empty() { ".".to_owned() } else { format!("./{inside}") };
        let mut targets = Vec::new();
        match package.get("exports") {
            Some(Value::Object(all)) if all.keys().any(|key| key.starts_with('.')) => {
                all.get(&entry).into_iter().for_each(|target| strings(target, &mut targets))
            }
            Some(any) if inside.is_empty() => strings(any, &mut targets),
            _ => {}
        }
        if inside.is_empty() {
            let fields = ["source", "types", "typings", "module", "main"];
            targets.extend(fields.iter().filter_map(|field| package.get(*field)?.as_str().map(str::to_owned)));
            targets.extend(["src/index", "index", "src/main", "lib/index"].map(str::to_owned));
        } else {
            targets.extend([format!("src/{inside}"), inside.to_owned(), format!("src/{inside}/index")]);
        }
        targets.iter().find_map(|target| self.tree.source_of(folder, target))
    }
}

/// Whether a file configures how other files' imports resolve: `package.json`, `tsconfig.json`,
/// `Cargo.toml`, `go.mod` and so on.
pub fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let settings =
        name.ends_with(".json") && ["tsconfig", "jsconfig", "base.json"].iter().any(|part| name.contains(part));
    is_package(path) || settings || matches!(name, "Cargo.toml" | "go.mod")
}

fn is_package(path: &str) -> bool {
    path == "package.json" || path.ends_with("/package.json")
}

/// All strings in a JSON value, in order.
fn strings(value: &Value, found: &mut Vec<String>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop().filter(|_| found.len() < TARGETS_MAX) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(all) => waiting.extend(all.iter().rev()),
            Value::Object(all) => waiting.extend(all.values().rev()),
            _ => {}
        }
    }
}

fn absolute(path: &str) -> PathBuf {
    Path::new("/").join(path)
}

/// The indexed files as a file system whose root is the project.
#[derive(Clone, Default)]
struct Tree {
    files: std::sync::Arc<HashSet<PathBuf>>,
    folders: std::sync::Arc<HashSet<PathBuf>>,
    texts: std::sync::Arc<HashMap<PathBuf, String>>,
    /// `/node_modules/name` and the package folder it represents.
    links: std::sync::Arc<Vec<(PathBuf, PathBuf)>>,
}

impl Tree {
    fn of<'a>(
        paths: impl Iterator<Item = &'a str>,
        manifests: &[(String, String)],
        own: &HashMap<String, (String, Value)>,
    ) -> Tree {
        let files: HashSet<PathBuf> = paths.map(absolute).collect();
        let mut links: Vec<(PathBuf, PathBuf)> =
            own.iter().map(|(name, (folder, _))| (Path::new("/node_modules").join(name), absolute(folder))).collect();
        links.sort();
        let mut folders = HashSet::from([PathBuf::from("/")]);
        for path in files.iter().chain(links.iter().map(|(link, _)| link)) {
            for folder in path.ancestors().skip(1) {
                if !folders.insert(folder.to_owned()) {
                    break;
                }
            }
        }
        let texts = manifests.iter().map(|(path, text)| (absolute(path), text.clone())).collect();
        Tree { files: files.into(), folders: folders.into(), texts: std::sync::Arc::new(texts), links: links.into() }
    }

    /// The path with `/node_modules/name` replaced by the package's folder.
    fn real(&self, path: &Path) -> PathBuf {
        let linked = self.links.iter().find_map(|(link, folder)| Some((folder, path.strip_prefix(link).ok()?)));
        linked.map_or_else(|| path.to_owned(), |(folder, rest)| folder.join(rest))
    }

    fn relative(&self, path: &Path) -> Option<String> {
        let real = self.real(path);
        let inside = real.strip_prefix("/").ok()?.to_str()?;
        self.files.contains(&real).then(|| inside.to_owned())
    }

    /// The indexed source of a file that a package names, even if a compiler would write that file.
    fn source_of(&self, folder: &str, target: &str) -> Option<String> {
        let target = target.trim_start_matches("./");
        let exact = |path: &str| self.relative(&absolute(&join(folder, path)));
        if let Some(found) = exact(target) {
            return Some(found);
        }
        let endings = [".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx"];
        let stem = endings.iter().find_map(|ending| target.strip_suffix(ending)).unwrap_or(target);
        let unbuilt: Vec<&str> = stem.split('/').skip_while(|piece| BUILT.contains(piece)).collect();
        let unbuilt = unbuilt.join("/");
        let stems = [stem.to_owned(), format!("src/{unbuilt}"), unbuilt.clone(), format!("src/{unbuilt}/index")];
        stems.iter().find_map(|stem| EXTENSIONS.iter().find_map(|e| exact(&format!("{stem}{e}"))))
    }
}

/// Whether a path is a base configuration inside an installed package. Such files are not indexed;
/// they read as `{}`, so that the rest of the `tsconfig.json` still applies.
fn is_foreign_settings(path: &Path) -> bool {
    let settings =
        path.extension().is_some_and(|e| e == "json") && path.file_name().is_some_and(|n| n != "package.json");
    settings && path.starts_with("/node_modules")
}

impl FileSystem for Tree {
    fn new() -> Tree {
        Tree::default()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_to_string(path).map(String::into_bytes)
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        match self.texts.get(&self.real(path)) {
            Some(text) => Ok(text.clone()),
            None if is_foreign_settings(path) => Ok("{}".to_owned()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let real = self.real(path);
        if self.files.contains(&real) || self.texts.contains_key(&real) || is_foreign_settings(path) {
            return Ok(FileMetadata::new(true, false, false));
        }
        // Every folder of an installed package counts as existing, so that settings are searched
        // for in it.
        let installed = path.starts_with("/node_modules") && path.extension().is_none();
        if installed || self.folders.contains(&real) {
            Ok(FileMetadata::new(false, true, false))
        } else {
            Err(ErrorKind::NotFound.into())
        }
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        Ok(path.to_owned())
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], from: &str, cases: &[(&str, Option<&str>)]) {
        let manifests: Vec<(String, String)> =
            files.iter().filter(|(p, _)| is_manifest(p)).map(|(p, t)| ((*p).into(), (*t).into())).collect();
        let packages = Packages::new(files.iter().map(|(path, _)| *path), &manifests);
        for (source, expected) in cases {
            assert_eq!(packages.find(from, source).as_deref(), *expected, "{source} in {from}");
        }
    }

    #[test]
    fn relative_imports_find_sources_under_compiled_names_and_folders() {
        let files = [("src/a.ts", ""), ("src/b.ts", ""), ("src/c/index.tsx", ""), ("src/d.js", "")];
        let cases = [
            ("./b", Some("src/b.ts")),
            ("./b.js", Some("src/b.ts")),
            ("./b.ts", Some("src/b.ts")),
            ("./c", Some("src/c/index.tsx")),
            ("./d.js", Some("src/d.js")),
            ("./gone", None),
            ("react", None),
            ("node:fs", None),
        ];
        check(&files, "src/a.ts", &cases);
    }

    #[test]
    fn paths_of_tsconfig_are_followed_through_extends() {
        let files = [
            (
                "tsconfig.base.json",
                r#"{ "compilerOptions": { "baseUrl": ".", "paths": { "@lib/*": ["lib/*"] } } } // why"#,
            ),
            ("app/tsconfig.json", r#"{ "extends": "../tsconfig.base.json", "include": ["."] }"#),
            (
                "web/tsconfig.json",
                r#"{ "extends": "@tsconfig/strictest/tsconfig.json", "compilerOptions": { "baseUrl": "src" } }"#,
            ),
            ("app/a.ts", ""),
            ("lib/b.ts", ""),
            ("web/src/util/c.ts", ""),
            ("web/src/d.ts", ""),
        ];
        check(&files, "app/a.ts", &[("@lib/b", Some("lib/b.ts")), ("@lib/b.js", Some("lib/b.ts")), ("@lib/no", None)]);
        check(&files, "web/src/d.ts", &[("util/c", Some("web/src/util/c.ts"))]);
    }

    #[test]
    fn packages_of_the_project_are_found_by_name_built_or_not() {
        let exports = r#"{ "name": "@acme/core", "exports": {
            ".": { "types": "./dist/index.d.ts", "import": "./dist/index.mjs" }, "./deep": "./dist/deep/thing.js", "./own": "./src/own.ts" } }"#;
        let files = [
            ("package.json", r#"{ "name": "root", "workspaces": ["packages/*"] }"#),
            ("packages/core/package.json", exports),
            ("packages/core/src/index.ts", ""),
            ("packages/core/src/deep/thing.ts", ""),
            ("packages/core/src/own.ts", ""),
            ("packages/plain/package.json", r#"{ "name": "plain", "main": "lib/main.js" }"#),
            ("packages/plain/lib/main.js", ""),
            ("packages/app/src/a.ts", ""),
        ];
        let cases = [
            ("@acme/core", Some("packages/core/src/index.ts")),
            ("@acme/core/deep", Some("packages/core/src/deep/thing.ts")),
            ("@acme/core/own", Some("packages/core/src/own.ts")),
            ("plain", Some("packages/plain/lib/main.js")),
            ("@acme/other", None),
        ];
        check(&files, "packages/app/src/a.ts", &cases);
    }
}
