//! Asks for the description of a network: by flags, or by questions on a terminal.

use std::io::{BufRead, IsTerminal, Write};

use shortflow_advise::{Description, LINES, LineKind, Network, Use, read_flows};
use shortflow_units::Rate;

use crate::advise_args::Advise;
use crate::failure::Failure;

/// The network, from the arguments and, on a terminal, from answers.
pub(crate) fn network(args: &Advise) -> Result<Network, Failure> {
    let asks = args.up.is_none() || args.down.is_none();
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if asks && !can_ask {
        let missing = match (args.up, args.down) {
            (None, None) => "--up and --down: the rates of the line",
            (None, Some(_)) => "--up: the line's rate towards the provider",
            _ => "--down: the line's rate from the provider",
        };
        return Err(Failure::Input(format!(
            "missing {missing}\nas in `shortflow advise --up '10 Mbit/s' --down '50 Mbit/s' --users 4 --uses \
             web,voice,backup`"
        )));
    }
    let rate = |given: Option<Rate>, question: &str| match given {
        Some(rate) => Ok(rate),
        None => ask(question, "", |text| text.parse::<Rate>()),
    };
    let down = rate(args.down, "How fast is the line from the provider, as in `50 Mbit/s`?")?;
    let up = rate(args.up, "And towards it, as in `10 Mbit/s`?")?;
    let users = match args.users {
        None if asks => ask("How many people use it?", "10", |text| {
            text.parse::<u32>()
                .ok()
                .filter(|n| (1..=1000).contains(n))
                .ok_or_else(|| "write a number from 1 to 1000".to_owned())
        })?,
        given => given.unwrap_or(10),
    };
    let flows = args.from.as_ref().map(|path| read_flows(path)).transpose()?;
    let usual = Description::usual_uses(flows.is_some());
    let uses = match &args.uses[..] {
        [] if asks => {
            let names = Use::ALL.map(|one| one.row().name).join(", ");
            ask(&format!("What do they do? ({names})"), usual, Use::parse_all)?
        }
        [] => Use::parse_all(usual)?,
        given => Use::parse_all(&given.join(","))?,
    };
    let line = match &args.link {
        None if asks => {
            let names: Vec<&str> = LINES.iter().map(|one| one.name).collect();
            ask(&format!("What is the line? ({})", names.join(", ")), "ethernet", LineKind::parse)?
        }
        given => LineKind::parse(given.as_deref().unwrap_or("ethernet"))?,
    };
    Ok(Description { up, down, users, uses, line, flows, sizes: args.sizes }.network()?)
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
