//! Clients that start monobloc themselves: editors over ACP, others over MCP.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::setup::{Form, Setup, Wish, config_home, home, keys, quoted, variable};

/// Zed: `agent_servers` of its settings; an agent that does not come from Zed's registry has the type `custom`.
pub fn zed(wish: &Wish) -> Setup {
    // On macOS Zed reads ~/.config whatever the variables say, in a Flatpak the folder outside it.
    let folder = if cfg!(target_os = "macos") {
        home().join(".config")
    } else {
        variable("FLATPAK_XDG_CONFIG_HOME").unwrap_or_else(config_home)
    };
    let agent = json!({ "type": "custom", "command": wish.program, "args": ["acp"] });
    entry(folder.join("zed/settings.json"), "agent_servers", agent, "in Zed: agent panel, new thread, monobloc")
}

/// IDEs of JetBrains: one file for all of them.
pub fn jetbrains(wish: &Wish) -> Setup {
    let agent = json!({ "command": wish.program, "args": ["acp"] });
    entry(home().join(".jetbrains/acp.json"), "agent_servers", agent, "in the IDE: AI Chat, choose monobloc as agent")
}

/// Neovim: the configuration is a program of the user, so it is printed for the two plugins that speak ACP.
pub fn neovim(wish: &Wish) -> Setup {
    let program = quoted(&wish.program);
    let text = format!(
        r#"-- CodeCompanion.nvim: `extend` takes over how any agent is spoken to; the command is monobloc's
require("codecompanion").setup({{
  adapters = {{
    acp = {{
      monobloc = function()
        return require("codecompanion.adapters").extend("opencode", {{
          name = "monobloc",
          formatted_name = "monobloc",
          commands = {{ default = {{ {program}, "acp" }} }},
          defaults = {{ timeout = 60000 }},
        }})
      end,
    }},
  }},
  interactions = {{ chat = {{ adapter = "monobloc" }} }},
}})

-- or avante.nvim
require("avante").setup({{
  provider = "monobloc",
  acp_providers = {{ monobloc = {{ command = {program}, args = {{ "acp" }} }} }},
}})
"#
    );
    let place = format!("the set-up of one of these plugins, below {}", config_home().join("nvim").display());
    Setup { form: Form::Printed { place, text }, remarks: Vec::new() }
}

/// Cursor: its own variable stands for the folder that is open, so one entry serves every project.
pub fn cursor(wish: &Wish) -> Setup {
    let args = json!(["mcp", "serve", "--project", "${workspaceFolder}"]);
    let server = json!({ "type": "stdio", "command": wish.program, "args": args });
    entry(home().join(".cursor/mcp.json"), "mcpServers", server, "in Cursor: settings, MCP, switch monobloc on")
}

/// Claude Desktop: it has no open folder, so the project is named.
pub fn claude_desktop(wish: &Wish) -> Setup {
    let base = if cfg!(target_os = "macos") { home().join("Library/Application Support") } else { config_home() };
    let server = json!({ "command": wish.program, "args": ["mcp", "serve", "--project", wish.project] });
    let remark = format!("it sees {}; `--project DIR` names another; restart Claude Desktop", wish.project);
    entry(base.join("Claude/claude_desktop_config.json"), "mcpServers", server, &remark)
}

/// The entry `monobloc` in an object of a file.
fn entry(file: PathBuf, object: &str, value: Value, remark: &str) -> Setup {
    let entries = vec![(keys(&[object, "monobloc"]), value)];
    Setup { form: Form::Entries { file, entries }, remarks: vec![remark.to_owned()] }
}
