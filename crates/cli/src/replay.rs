//! `replay`: a simulated run on the live console.

use shortflow_console::Replay;
use shortflow_sim::{LiveNetwork, Simulator};

use crate::console::Console;
use crate::console_args;
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::page::Page;

/// `shortflow replay`.
pub(crate) fn replay(console: &Console, args: &console_args::Replay) -> Result<(), Failure> {
    let stop = stop_on_interrupt()?;
    let which = (args.point, args.replica);
    let replay = Replay::open(&args.folder, which, &Simulator, LiveNetwork::ports_to_watch)?;
    let page = Page::open(console, args.console, &args.token)?;
    console.print(&format!("Console: {}\n", page.url))?;
    console.note("open it in a browser; Ctrl-C ends it");
    page.beside(replay.hub(), &replay, || replay.run(args.speed, stop))
}
