//! Renders the chat template of a model file, as Transformers does: Jinja with Python's methods on texts, lists and maps.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, Error, ErrorKind};
use serde_json::Value as Json;

/// Maximum number of steps of an evaluation. A template that needs more loops without end.
const FUEL: u64 = 50_000_000;

/// A compiled chat template.
#[derive(Clone, Debug)]
pub struct Template {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

impl Template {
    /// # Errors
    /// The text is not a template.
    pub fn compile(source: &str, bos: &str, eos: &str) -> Result<Template, Error> {
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_filter("tojson", tojson);
        environment.add_template_owned("chat", source.to_owned())?;
        Ok(Template { environment, bos: bos.to_owned(), eos: eos.to_owned() })
    }

    /// `input`: `messages`, `tools`, `add_generation_prompt` and whatever else the template reads.
    ///
    /// # Errors
    /// The template refuses the input, or takes too many steps.
    pub fn render(&self, input: &Json) -> Result<String, Error> {
        let tokens = minijinja::context! { bos_token => self.bos.as_str(), eos_token => self.eos.as_str() };
        let context = minijinja::context! { ..Value::from(Serde(input)), ..tokens };
        self.environment.get_template("chat")?.render(context)
    }
}

fn raise_exception(why: String) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, why))
}

/// JSON with blanks behind commas and colons and without escapes for HTML, as Transformers has it.
fn tojson(value: Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let json = serde_json::to_value(&value).map_err(|why| Error::new(ErrorKind::BadSerialization, why.to_string()))?;
    let mut out = String::new();
    write(&json, indent, 0, &mut out);
    Ok(out)
}

fn write(value: &Json, indent: Option<usize>, depth: usize, out: &mut String) {
    let open = |out: &mut String, depth: usize| {
        if let Some(width) = indent {
            out.push('\n');
            out.push_str(&" ".repeat(width * depth));
        }
    };
    let comma = if indent.is_some() { "," } else { ", " };
    match value {
        Json::Array(all) if !all.is_empty() => {
            out.push('[');
            for (index, one) in all.iter().enumerate() {
                out.push_str(if index > 0 { comma } else { "" });
                open(out, depth + 1);
                write(one, indent, depth + 1, out);
            }
            open(out, depth);
            out.push(']');
        }
        Json::Object(all) if !all.is_empty() => {
            out.push('{');
            for (index, (key, one)) in all.iter().enumerate() {
                out.push_str(if index > 0 { comma } else { "" });
                open(out, depth + 1);
                out.push_str(&Json::from(key.as_str()).to_string());
                out.push_str(": ");
                write(one, indent, depth + 1, out);
            }
            open(out, depth);
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_template_is_rendered_with_methods_of_python() {
        let source = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m['content'].strip() }}\n{% endfor %}{{ tools | tojson }}";
        let template = Template::compile(source, "<s>", "</s>").unwrap();
        let input =
            json!({ "messages": [{ "role": "user", "content": " <a>é " }], "tools": [{ "name": "f", "n": [] }] });
        assert_eq!(template.render(&input).unwrap(), "<s><user><a>é\n[{\"name\": \"f\", \"n\": []}]");
    }
}
