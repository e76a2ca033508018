//! A secret in the settings, such as `${ISSUES_SECRET}`; nothing shows its value.

use std::fmt;

use serde::Deserialize;

/// A secret, in which `${NAME}` stands for an environment variable.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The value, with each variable replaced by the result of `value_of`. The error names a
    /// missing variable.
    pub fn filled(&self, value_of: impl Fn(&str) -> Option<String>) -> Result<String, String> {
        filled(&self.0, &value_of)
    }
}

/// Hides the value.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// `text` with each `${NAME}` replaced; the error is the first name without a value.
pub(super) fn filled(text: &str, value_of: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let (mut all, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        all.push_str(before);
        all.push_str(&value_of(name).filter(|value| !value.is_empty()).ok_or_else(|| name.to_owned())?);
        rest = behind;
    }
    all.push_str(rest);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_comes_from_a_variable_and_is_not_shown() {
        let secret = Secret("kiln-${NAME}".to_owned());
        assert_eq!(secret.filled(|name| Some(name.to_lowercase())), Ok("kiln-name".to_owned()));
        assert_eq!(secret.filled(|_| None), Err("NAME".to_owned()));
        assert!(!format!("{secret:?}").contains("kiln"));
    }
}
