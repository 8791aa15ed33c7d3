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

/// The default address of the console.
pub(crate) const CONSOLE: &str = "127.0.0.1:9856";

/// `replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The results folder of a simulated run or comparison.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// The replica, counted from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) replica: u32,
    /// The point of the sweep, counted from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) point: usize,
    /// Seconds of the run that pass in one second, 0.1 to 1000; the page offers other speeds.
    #[arg(long, value_name = "N", default_value_t = 4.0, value_parser = speed)]
    pub(crate) speed: f64,
    /// Address and port of the page; port 0 selects a free one.
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
