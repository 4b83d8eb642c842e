//! Tells Zed how the language server is started.
use zed_extension_api as zed;

struct Whamm;

impl zed::Extension for Whamm {
    fn new() -> Self {
        Whamm
    }

    fn language_server_command(&mut self, _server: &zed::LanguageServerId, worktree: &zed::Worktree) -> zed::Result<zed::Command> {
        let command = worktree.which("whammc").ok_or("there is no whammc in the PATH")?;
        Ok(zed::Command { command, args: vec!["lsp".to_string()], env: worktree.shell_env() })
    }
}

zed::register_extension!(Whamm);
