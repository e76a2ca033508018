//! The files of the page, which are built into the program.

use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::serve::problem::{Kind, Problem};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Each file below `/page/`: name, type, content.
const FILES: [(&str, &str, &str); 18] = [
    ("icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("colours.css", STYLE, include_str!("colours.css")),
    ("layout.css", STYLE, include_str!("layout.css")),
    ("parts.css", STYLE, include_str!("parts.css")),
    ("main.js", SCRIPT, include_str!("main.js")),
    ("api.js", SCRIPT, include_str!("api.js")),
    ("dom.js", SCRIPT, include_str!("dom.js")),
    ("keys.js", SCRIPT, include_str!("keys.js")),
    ("talk.js", SCRIPT, include_str!("talk.js")),
    ("pictures.js", SCRIPT, include_str!("pictures.js")),
    ("turn.js", SCRIPT, include_str!("turn.js")),
    ("question.js", SCRIPT, include_str!("question.js")),
    ("markdown.js", SCRIPT, include_str!("markdown.js")),
    ("diff.js", SCRIPT, include_str!("diff.js")),
    ("memory.js", SCRIPT, include_str!("memory.js")),
    ("graph.js", SCRIPT, include_str!("graph.js")),
    ("timeline.js", SCRIPT, include_str!("timeline.js")),
    ("past.js", SCRIPT, include_str!("past.js")),
];

pub async fn index() -> Response {
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], include_str!("index.html")).into_response()
}

pub async fn file(Path(name): Path<String>) -> Result<Response, Problem> {
    let found = FILES.iter().find(|(known, _, _)| *known == name);
    let missing = || Problem::new(Kind::NotFound, format!("the page has no file `{name}`"));
    let (_, kind, text) = found.ok_or_else(missing)?;
    Ok(([(CONTENT_TYPE, *kind)], *text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing_from_elsewhere_and_makes_no_html_from_text() {
        let all =
            FILES.iter().map(|(name, _, text)| (*name, *text)).chain([("index.html", include_str!("index.html"))]);
        for (name, text) in all {
            for banned in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https://", "style=\""]
            {
                assert!(!text.contains(banned), "{name} has `{banned}`");
            }
            let inline = ["onclick=", "onload=", "<style", "javascript:"].iter().find(|inline| text.contains(**inline));
            assert_eq!(inline, None, "{name}");
        }
    }

    /// The page and its scripts refer to exactly the files that exist.
    #[test]
    fn every_file_that_is_named_is_there_and_every_file_is_named() {
        let texts = FILES.iter().map(|(_, _, text)| *text).chain([include_str!("index.html")]).collect::<String>();
        for (name, _, _) in FILES {
            let named = [format!("\"/page/{name}\""), format!("\"./{name}\"")].iter().any(|how| texts.contains(how));
            assert!(named, "{name} is not used");
        }
        for how in ["\"/page/", "\"./"] {
            for rest in texts.split(how).skip(1) {
                let name = rest.split('"').next().unwrap_or_default();
                assert!(FILES.iter().any(|(known, _, _)| *known == name), "there is no {name}");
            }
        }
    }
}
