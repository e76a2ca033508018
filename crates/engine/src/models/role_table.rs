//! Writes the server of a role into the text of a `models.toml`, leaving everything else unchanged.

use toml_edit::{DocumentMut, Item, Table, value};

use super::{Endpoint, Key, Role};

/// The text with `[role]` assigned to `endpoint`. Entries of another server are replaced.
pub fn with_server(text: &str, role: Role, endpoint: &Endpoint) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("is not TOML: {error}"))?;
    let table = document.entry(&role.to_string()).or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or_else(|| format!("has a `{role}` that is not a table"))?;
    for key in ["url", "model", "key_file", "key_env", "timeout_silence_s", "headers", "context"] {
        table.remove(key);
    }
    table.insert("url", value(endpoint.url()));
    if let Some(model) = &endpoint.model {
        table.insert("model", value(model));
    }
    match &endpoint.key {
        Key::None => {}
        Key::File(file) => drop(table.insert("key_file", value(file.to_string_lossy().into_owned()))),
        Key::Variable(name) => drop(table.insert("key_env", value(name))),
    }
    if let Some(context) = endpoint.context {
        table.insert("context", value(context as i64));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gets_the_server_and_keeps_the_rest() {
        let mut endpoint = Endpoint::new("http://box:1").unwrap();
        (endpoint.model, endpoint.key) = (Some("m".to_owned()), Key::Variable("K".to_owned()));
        let text = "# mine\n[planner]\nfile = \"a.gguf\" # local\nurl = \"http://old\"\nkey_file = \"k\"\n";
        let written = with_server(text, Role::Planner, &endpoint).unwrap();
        let expected =
            "# mine\n[planner]\nfile = \"a.gguf\" # local\nurl = \"http://box:1/v1\"\nmodel = \"m\"\nkey_env = \"K\"\n";
        assert_eq!(written, expected);
        let fresh = with_server("", Role::Router, &Endpoint::new("http://box").unwrap()).unwrap();
        assert_eq!(fresh, "[router]\nurl = \"http://box/v1\"\n");
        assert!(with_server("planner = 1", Role::Planner, &endpoint).is_err());
        assert!(with_server("[planner", Role::Planner, &endpoint).is_err());
    }
}
