//! Clients that bring their own agent and ask the server for its models.

use serde_json::{Value, json};

use super::setup::{Form, Setup, Wish, config_home, home, keys, quoted, shell, variable};

/// opencode 1: a provider in its global file, or in the one that `OPENCODE_CONFIG` names.
pub fn opencode(wish: &Wish) -> Setup {
    let folder = config_home().join("opencode");
    let names = ["opencode.json", "opencode.jsonc"].map(|name| folder.join(name));
    let there = names.iter().find(|file| file.exists()).unwrap_or(&names[0]).clone();
    let file = variable("OPENCODE_CONFIG").unwrap_or(there);
    let limit = || match (wish.context, wish.output()) {
        (Some(context), Some(output)) => json!({ "context": context, "output": output }),
        _ => Value::Null,
    };
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": "monobloc",
        "options": { "baseURL": wish.v1(), "apiKey": format!("{{file:{}}}", wish.token_file) },
        "models": {
            "planner": { "name": "planner", "limit": limit() },
            "agent": { "name": "agent, with monobloc's own tools", "limit": limit() },
        },
    });
    let entries = vec![(keys(&["provider", "monobloc"]), provider)];
    let remarks = vec![wish.server_remark(), "`opencode -m monobloc/planner` uses it".to_owned()];
    Setup { form: Form::Entries { file, entries }, remarks }
}

/// codex: a profile, which since 0.134 is a file of its own over the user's config.toml. So that stays as it is.
pub fn codex(wish: &Wish) -> Setup {
    let folder = variable("CODEX_HOME").unwrap_or_else(|| home().join(".codex"));
    let provider = json!({
        "name": "monobloc",
        "base_url": wish.v1(),
        "wire_api": "responses",
        "auth": { "command": "cat", "args": [wish.token_file] },
    });
    let entries = vec![
        (keys(&["model"]), json!("planner")),
        (keys(&["model_provider"]), json!("monobloc")),
        (keys(&["model_context_window"]), json!(wish.context)),
        (keys(&["model_providers", "monobloc"]), provider),
    ];
    let remarks = vec![
        wish.server_remark(),
        "`codex --profile monobloc` uses it (codex 0.134 or later); config.toml stays as it is".to_owned(),
    ];
    Setup { form: Form::Entries { file: folder.join("monobloc.config.toml"), entries }, remarks }
}

/// aider: it takes keys from the environment; a variable with its prefix concerns no other program.
pub fn aider(wish: &Wish) -> Setup {
    let text = format!(
        "openai-api-base: {}\nmodel: openai/planner\nweak-model: openai/planner\nshow-model-warnings: false\n",
        quoted(&wish.v1())
    );
    let remarks = vec![
        wish.server_remark(),
        format!("aider reads the token from no file; start it as AIDER_OPENAI_API_KEY={} aider", wish.token()),
        "the file counts for every project without a .aider.conf.yml of its own".to_owned(),
    ];
    Setup { form: Form::Whole { file: home().join(".aider.conf.yml"), text }, remarks }
}

/// Continue: secrets come from the file `.env` beside its configuration.
pub fn continues(wish: &Wish) -> Setup {
    let folder = variable("CONTINUE_GLOBAL_DIR").unwrap_or_else(|| home().join(".continue"));
    let options = match (wish.context, wish.output()) {
        (Some(context), Some(output)) => {
            format!("    defaultCompletionOptions:\n      contextLength: {context}\n      maxTokens: {output}\n")
        }
        _ => String::new(),
    };
    let model = |name: &str, rest: &str| {
        let base = quoted(&wish.v1());
        let key = "${{ secrets.MONOBLOC_TOKEN }}";
        let head = format!("  - name: monobloc {name}\n    provider: openai\n    model: {name}\n");
        format!("{head}    apiBase: {base}\n    apiKey: {key}\n{rest}")
    };
    let text = [
        "name: monobloc\nversion: 0.0.1\nschema: v1\nmodels:\n".to_owned(),
        model("planner", &format!("    roles: [chat, edit, apply]\n    capabilities: [tool_use]\n{options}")),
        model("agent", &format!("    roles: [chat]\n{options}")),
        model("embedder", "    roles: [embed]\n"),
    ]
    .concat();
    let secrets = shell(&folder.join(".env").display().to_string());
    let remarks = vec![
        wish.server_remark(),
        format!(
            "Continue takes the token only from its own file of secrets: \
             printf 'MONOBLOC_TOKEN=%s\\n' {} >> {secrets}",
            wish.token()
        ),
    ];
    Setup { form: Form::Whole { file: folder.join("config.yaml"), text }, remarks }
}

/// qwen-code: its list of models is one array for all providers, so it is printed.
pub fn qwen(wish: &Wish) -> Setup {
    let folder = variable("QWEN_HOME").unwrap_or_else(|| home().join(".qwen"));
    let mut model = json!({
        "id": "planner", "name": "monobloc planner", "envKey": "MONOBLOC_TOKEN", "baseUrl": wish.v1(),
    });
    if let Some(context) = wish.context {
        model["generationConfig"] = json!({ "contextWindowSize": context });
    }
    let settings = json!({ "modelProviders": { "openai": [model] } });
    let text = format!(
        "# for one start\n\
         OPENAI_BASE_URL={} OPENAI_MODEL=planner OPENAI_API_KEY={} qwen --auth-type openai\n\n\
         # or for all: this in {}, then\n\
         # MONOBLOC_TOKEN={} qwen --auth-type openai -m planner\n\
         {settings:#}\n",
        wish.v1(),
        wish.token(),
        folder.join("settings.json").display(),
        wish.token(),
    );
    let place = "your shell, or the file that it names".to_owned();
    Setup { form: Form::Printed { place, text }, remarks: vec![wish.server_remark()] }
}

/// Claude Code: a function of the shell, because a setting would redirect the user's own Claude.
pub fn claude(wish: &Wish) -> Setup {
    let mut lines =
        vec![format!("ANTHROPIC_BASE_URL={}", wish.server), format!("ANTHROPIC_AUTH_TOKEN={}", wish.token())];
    let roles = ["MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL"];
    lines.extend(roles.map(|role| format!("ANTHROPIC_{role}=planner")));
    lines.push("CLAUDE_CODE_SUBAGENT_MODEL=planner".to_owned());
    // Titles and the like: they should not wait for the planner, nor it for them.
    lines.push("ANTHROPIC_DEFAULT_HAIKU_MODEL=router".to_owned());
    if let (Some(context), Some(output)) = (wish.context, wish.output()) {
        lines.push(format!("CLAUDE_CODE_MAX_CONTEXT_TOKENS={context}"));
        lines.push(format!("CLAUDE_CODE_MAX_OUTPUT_TOKENS={output}"));
    }
    // A line of the system prompt that changes with each request, so that no prompt would begin like the one before.
    lines.push("CLAUDE_CODE_ATTRIBUTION_HEADER=0".to_owned());
    lines.push("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1".to_owned());
    // An hour in ms each: a processor may read a long prompt for more than the ten minutes that are usual. Claude Code 2.1.197 gives
    // up a stream after five minutes without a piece of the answer, because it does not count pings.
    lines.extend(["API_TIMEOUT_MS", "CLAUDE_STREAM_IDLE_TIMEOUT_MS"].map(|limit| format!("{limit}=3600000")));
    let lines: String = lines.iter().map(|line| format!("  {line} \\\n")).collect();
    let text = format!("claude_monobloc() {{\n{lines}  claude \"$@\"\n}}\n");
    let place = "the start file of your shell (.bashrc, .zshrc); then `claude_monobloc` is Claude Code with monobloc";
    let remarks = vec![wish.server_remark(), "plain `claude` stays as it is, so nothing is written".to_owned()];
    Setup { form: Form::Printed { place: place.to_owned(), text }, remarks }
}
