//! Output generated from the parser and the file formats: completions, man pages, schemas.

use clap::CommandFactory;
use clap_mangen::Man;
use shortflow_measure::results::Folder;

use crate::args::{Arguments, Completions, Format, Man as ManArguments, Schema};
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow completions`.
pub(crate) fn completions(console: &Console, args: &Completions) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "shortflow", &mut text);
    console.print(&String::from_utf8_lossy(&text))
}

/// `shortflow schema`.
pub(crate) fn schema(console: &Console, args: &Schema) -> Result<(), Failure> {
    let schema = match args.format {
        Format::Policy => shortflow_policy::schema(),
        Format::Scenario => shortflow_scenario::schema(),
        Format::Plans => shortflow_plans::schema(),
    };
    console.print_json(&schema.into())
}

/// `shortflow man`.
pub(crate) fn man(console: &Console, args: &ManArguments) -> Result<(), Failure> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    // So that each page has the options that all commands share.
    command.build();
    match &args.out {
        None => console.print(&String::from_utf8_lossy(&page(&command))),
        Some(folder) => {
            let pages = Folder::create(folder)?;
            write_page(&pages, &command)?;
            command.get_subcommands().try_for_each(|sub| write_page(&pages, sub))?;
            console.file("Man pages", folder)
        }
    }
}

fn write_page(folder: &Folder, command: &clap::Command) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let text = page(command);
    Ok(folder.write_file(&format!("{name}.1"), |file| file.write_all(&text))?)
}

fn page(command: &clap::Command) -> Vec<u8> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text).expect("memory takes what is written");
    text
}
