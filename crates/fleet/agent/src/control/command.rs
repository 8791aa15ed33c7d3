//! Commands for users, as they are printed.

use std::path::Path;

use shortflow_deploy::quoted;

/// The control socket of an agent that is given no other one.
pub const DEFAULT_SOCKET: &str = "/run/shortflow/agent.sock";

/// The command line that asks the agent at `socket`, such as `shortflow agent resume --socket /tmp/agent.sock`.
pub fn command(words: &str, socket: &Path) -> String {
    let socket = socket.to_string_lossy();
    match socket == DEFAULT_SOCKET {
        true => format!("shortflow agent {words}"),
        false => format!("shortflow agent {words} --socket {}", quoted(&socket)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_socket_unless_it_is_the_default() {
        assert_eq!(command("resume", Path::new(DEFAULT_SOCKET)), "shortflow agent resume");
        assert_eq!(
            command("rollback --to 3", Path::new("/tmp/an agent")),
            "shortflow agent rollback --to 3 --socket '/tmp/an agent'"
        );
    }
}
