//! Asks for the description of a network: by flags, or by questions on a terminal.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use shortflow_advise::{Flows, LINES, LineKind, Network, UnknownName, Use, read_capture, read_csv};
use shortflow_text::{InputFiles, MAX_TEXT, reason};
use shortflow_units::Rate;

use crate::advise_args::Advise;
use crate::failure::Failure;

/// The network, from the arguments and, on a terminal, from answers.
pub(crate) fn network(args: &Advise) -> Result<Network, Failure> {
    let asks = args.up.is_none() || args.down.is_none();
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if asks && !can_ask {
        let what = "missing --up or --down: the rates of the line\nas in `shortflow advise --up '10 Mbit/s' --down \
             '50 Mbit/s' --users 4 --uses web,voice,backup`";
        return Err(Failure::Input(what.to_owned()));
    }
    let rate = |given: Option<Rate>, question: &str| match given {
        Some(rate) => Ok(rate),
        None => ask(question, "", |text| text.parse::<Rate>()),
    };
    let down = rate(args.down, "How fast is the line from the provider, as in `50 Mbit/s`?")?;
    let up = rate(args.up, "And towards it, as in `10 Mbit/s`?")?;
    let min = Rate::from_bits_per_sec(64_000);
    if up < min || down < min || up.bits_per_sec().max(down.bits_per_sec()) > 10_000_000_000 {
        return Err(Failure::Input(
            "the line must have 64 kbit/s to 10 Gbit/s in each direction".to_owned(),
        ));
    }
    let users = match args.users {
        None if asks => ask("How many people use it?", "10", |text| {
            text.parse::<u32>()
                .ok()
                .filter(|n| (1..=1000).contains(n))
                .ok_or_else(|| "write a number from 1 to 1000".to_owned())
        })?,
        given => given.unwrap_or(10),
    };
    let flows = args.from.as_ref().map(|path| flows(path)).transpose()?;
    let parse = |text: &str| -> Result<Vec<Use>, UnknownName> {
        let mut uses =
            text.split(',').map(|one| Use::parse(one.trim())).collect::<Result<Vec<_>, _>>()?;
        uses.sort_unstable();
        uses.dedup();
        Ok(uses)
    };
    let usual = if flows.is_some() { "voice" } else { "web,voice,backup" };
    let uses = match &args.uses[..] {
        [] if asks => {
            let names = Use::ALL.map(|one| one.row().name).join(", ");
            ask(&format!("What do they do? ({names})"), usual, parse)?
        }
        [] => parse(usual)?,
        given => parse(&given.join(","))?,
    };
    let line = match &args.link {
        None if asks => {
            let names: Vec<&str> = LINES.iter().map(|one| one.name).collect();
            ask(&format!("What is the line? ({})", names.join(", ")), "ethernet", LineKind::parse)?
        }
        given => LineKind::parse(given.as_deref().unwrap_or("ethernet"))?,
    };
    let name = format!("{users} users, {up} up, {down} down");
    let line = line.at(up, down);
    Ok(Network { name, up, down, line, users, uses, flows, sizes: args.sizes })
}

fn flows(path: &Path) -> Result<Flows, Failure> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let unread = |error: std::io::Error| {
        let how =
            "give CSV with the columns start_s, bytes and direction, or a capture, pcap or pcapng";
        Failure::Input(format!("cannot read {}: {}\n{how}", path.display(), reason(&error)))
    };
    if is_capture(path).map_err(unread)? {
        let file = shortflow_files::open(path).map_err(|error| unread(error.into()))?;
        return Ok(read_capture(&name, file)?);
    }
    let text = InputFiles::default().read(path, MAX_TEXT).map_err(unread)?;
    Ok(read_csv(&name, &text)?)
}

/// Whether a file begins as captures do: in pcapng with a section header, in pcap with one of four numbers.
fn is_capture(path: &Path) -> std::io::Result<bool> {
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    let head = shortflow_files::head(path, 4)?;
    let Ok(head) = <[u8; 4]>::try_from(head) else { return Ok(false) };
    let number = u32::from_le_bytes(head);
    const PCAP: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];
    let is_pcap = PCAP.contains(&number) || PCAP.contains(&number.swap_bytes());
    Ok(number == 0x0a0d_0d0a || is_pcap)
}

/// Asks until an answer is understood; an empty one is the usual.
fn ask<T, E: std::fmt::Display>(
    question: &str,
    usual: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, Failure> {
    let mut lines = std::io::stdin().lock().lines();
    loop {
        let hint = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
        eprint_now(&format!("{question}{hint} "));
        let Some(Ok(answer)) = lines.next() else {
            return Err(Failure::Input("no answer: end of input".to_owned()));
        };
        let answer = if answer.trim().is_empty() { usual } else { answer.trim() };
        match parse(answer) {
            Ok(found) => return Ok(found),
            Err(why) => eprint_now(&format!("{why}\n")),
        }
    }
}

fn eprint_now(text: &str) {
    let mut out = std::io::stderr();
    // Who cannot be asked gives no answer either.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
