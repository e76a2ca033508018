//! Renders a model file's chat template as Transformers does: Jinja with Python's methods on strings, lists and maps.

use jiff::Zoned;
use jiff::fmt::strtime;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, Error, ErrorKind};
use serde_json::Value as Json;

use super::python_json::{self, Style};
use crate::base::pattern::static_regex;

/// Maximum size of a template, in bytes; the largest known one has 17,000.
const BYTES_MAX: usize = 512 * 1024;
/// Maximum cost of a rendering: 1 per step and 1 per 64 bytes of any intermediate text, which
/// bounds time and memory. A conversation of 1,000 messages with 500 tools costs a tenth of it.
const FUEL: u64 = 8_000_000;
/// The name of the template in its environment; a file extension would turn on HTML escaping.
const NAME: &str = "chat";

/// A compiled chat template. It reads no files, only its input and the time.
#[derive(Clone, Debug)]
pub struct Template {
    environment: Environment<'static>,
}

impl Template {
    /// # Errors
    /// If the text is too long, or not a template.
    pub fn compile(source: &str) -> Result<Template, Error> {
        if source.len() > BYTES_MAX {
            let text = format!("it has {} bytes; at most {BYTES_MAX} are read", source.len());
            return Err(Error::new(ErrorKind::SyntaxError, text));
        }
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_filter("tojson", tojson);
        environment.add_test("iterable", is_iterable);
        environment.add_template_owned(NAME, as_jinja2(source))?;
        Ok(Template { environment })
    }

    /// `input`: `messages`, `tools`, `add_generation_prompt`, `bos_token` and anything else the
    /// template reads.
    ///
    /// # Errors
    /// If the template refuses the input, or costs too much.
    pub fn render(&self, input: &Json) -> Result<String, Error> {
        self.environment.get_template(NAME)?.render(Value::from(Serde(input)))
    }
}

/// The source adapted to minijinja's differences from Jinja2: line endings, the line break after
/// `{% raw %}`, and the training tags around the assistant's text, which only open a scope.
fn as_jinja2(source: &str) -> String {
    static_regex!(GENERATION = r"\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}");
    static_regex!(RAW = r"(\{%[-+]?\s*raw\s*%\})\n");
    let lines = source.replace("\r\n", "\n");
    RAW.replace_all(&GENERATION.replace_all(&lines, "{%$1 ${2}with $3%}"), "$1\n\n").into_owned()
}

/// Why a template did not render an input.
pub type Refusal = Error;

/// Whether the rendering was stopped because of its cost; another attempt would cost as much.
pub fn costs_too_much(why: &Refusal) -> bool {
    why.kind() == ErrorKind::OutOfFuel
}

fn raise_exception(why: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, why))
}

/// `none` is not iterable, although minijinja treats it as such.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

/// The current time in the format of C's `strftime`.
fn strftime_now(format: &str) -> Result<String, Error> {
    strtime::format(format, &Zoned::now()).map_err(|why| Error::new(ErrorKind::InvalidOperation, why.to_string()))
}

/// JSON as in Transformers, without the HTML escaping of Jinja's own filter.
fn tojson(value: Value, options: Kwargs) -> Result<String, Error> {
    let bad = |why: String| Error::new(ErrorKind::BadSerialization, why);
    if value.is_undefined() {
        return Err(bad("an undefined value has no JSON form".to_owned()));
    }
    let mut style = Style {
        ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sorted: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        ..Style::default()
    };
    if let Some(indent) = options.get::<Option<Value>>("indent")? {
        style.indent = Some(match indent.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(usize::try_from(indent)?.min(INDENT_MAX)),
        });
        style.comma = ",".to_owned();
    }
    match options.get::<Option<Vec<String>>>("separators")?.as_deref() {
        None => {}
        Some([comma, colon]) => (style.comma, style.colon) = (comma.clone(), colon.clone()),
        Some(others) => return Err(bad(format!("{} separators; write one for items and one for keys", others.len()))),
    }
    options.assert_all_used()?;
    let json = serde_json::to_value(&value).map_err(|why| bad(why.to_string()))?;
    Ok(python_json::write(&json, &style))
}

/// Maximum indent in JSON, in spaces per level.
const INDENT_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered(source: &str, input: Json) -> Result<String, String> {
        Template::compile(source).and_then(|template| template.render(&input)).map_err(|why| why.to_string())
    }

    fn check(source: &str, expected: &str) {
        let input = json!({
            "messages": [{ "role": "user", "content": " <é> " }, { "role": "assistant", "content": null }],
            "tools": [{ "name": "f", "n": [1.0, true, null, "it's"] }],
            "text": "a b c",
        });
        assert_eq!(rendered(source, input).as_deref(), Ok(expected), "{source}");
    }

    #[test]
    fn a_template_is_rendered_as_by_python() {
        check("{{ messages[0].content.strip() }}", "<é>");
        check("{{ tools | tojson }}", r#"[{"name": "f", "n": [1.0, true, null, "it's"]}]"#);
        check("{{ tools[0].n | tojson(separators=(',', ':'), indent=none) }}", r#"[1.0,true,null,"it's"]"#);
        check("{{ tools[0].n[:2] | tojson(indent=2) }}", "[\n  1.0,\n  true\n]");
        check("{{ tools[0] }} {{ true ~ none | string }}", r#"{'name': 'f', 'n': [1.0, True, None, "it's"]} TrueNone"#);
        check("{{ text.split(' ')[-1] }}{{ text[::-1] }}{{ 'b' in text }}", "cc b aTrue");
        check("{% for k, v in tools[0] | items %}{{ k }}{% break %}{% endfor %}", "name");
        check(
            "{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined else '-' }}{% endfor %}",
            "-user",
        );
        check(
            "{%- set ns = namespace(n=1) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
            "3",
        );
        check("  {% if true %}\n  x\n  {% endif %}\ny", "  x\ny");
        check("{{ none is iterable }} {{ text is iterable }}", "False True");
        check("a\r\nb\n{% raw %}\nc\n{% endraw %}\nd", "a\nb\n\nc\nd");
        check("{{ missing }}{% for one in missing %}{% endfor %}{{ missing is defined }}", "False");
    }

    #[test]
    fn blocks_for_training_change_nothing_but_the_scope() {
        check("{% set a = 1 %}a\n{%- generation -%}\n{% set a = 2 %}{{ a }}{% endgeneration %}\n{{ a }}", "a21");
    }

    #[test]
    fn the_date_is_todays() {
        let year = Zoned::now().year().to_string();
        check("{{ strftime_now('%Y') }}", &year);
        assert!(rendered("{{ strftime_now('%') }}", json!({})).is_err());
    }

    #[test]
    fn a_template_that_refuses_or_is_none_says_why() {
        let why = |source: &str| rendered(source, json!({})).unwrap_err();
        assert!(why("{{ raise_exception('roles must alternate') }}").contains("roles must alternate"));
        assert!(why("{% for %}").contains("syntax error"));
        assert!(why("{{ missing.name }}").contains("undefined"));
        assert!(why("{{ missing | tojson }}").contains("undefined"));
        assert!(why("{% include 'other' %}").contains("other"));
        assert!(why(&"x".repeat(5 << 20)).contains("5242880 bytes"));
    }

    #[test]
    fn a_template_without_end_is_stopped() {
        let start = std::time::Instant::now();
        let endless = [
            "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
            "{% set ns = namespace(x='ab') %}{% for a in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
            "{% for a in range(100000) %}{% for b in range(100000) %}0123456789abcdef{% endfor %}{% endfor %}",
            "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
            "{{ 'x' * 100000000000 }}",
        ];
        for source in endless {
            let why = rendered(source, json!({})).unwrap_err();
            assert!(["fuel", "recursion", "exceed", "too"].iter().any(|word| why.contains(word)), "{source}: {why}");
        }
        assert!(rendered(&format!("{{{{ {}1{} }}}}", "(".repeat(9_000), ")".repeat(9_000)), json!({})).is_err());
        assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    }
}
