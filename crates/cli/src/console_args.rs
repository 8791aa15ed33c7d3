//! The command line of the live console.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

pub(crate) const REPLAY: &str = "\
Examples:
  shortflow compare scenarios/office.toml --replicas 1 --out office \\
      --policies policies/best-effort.toml,policies/fq-codel.toml
  shortflow replay office                # from one policy to the other, and back, in the browser
  shortflow replay office --speed 30";

/// Where the console is unless it is told otherwise.
pub(crate) const CONSOLE: &str = "127.0.0.1:9856";

/// `replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The folder of a simulated run, or of a comparison of several.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Which replica, counted from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) replica: u32,
    /// Which point of a sweep, counted from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) point: usize,
    /// How many seconds of the run pass in a second, 0.1 to 1000; the page has other speeds.
    #[arg(long, value_name = "N", default_value_t = 4.0, value_parser = speed)]
    pub(crate) speed: f64,
    /// Where the page is; port 0 is one that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = CONSOLE)]
    pub(crate) console: SocketAddr,
    #[command(flatten)]
    pub(crate) token: TokenFile,
}

/// Who may change anything on a console.
#[derive(Debug, Args)]
pub(crate) struct TokenFile {
    /// A file with the console's token in its first line, 16 to 512 letters and digits.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) console_token_file: Option<PathBuf>,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| (0.1..=1000.0).contains(speed));
    speed.ok_or_else(|| "a number from 0.1 to 1000".to_owned())
}
