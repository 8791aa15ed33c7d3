//! `init`: the shipped scenarios and policies, written into a folder to start from.

use std::fs;
use std::path::Path;

use shortflow_measure::results::{Folder, write_whole};
use shortflow_run::shell_word;

use crate::args::Init;
use crate::console::Console;
use crate::failure::Failure;
use crate::shipped::FILES;

/// `shortflow init`.
pub(crate) fn init(console: &Console, args: &Init) -> Result<(), Failure> {
    refuse_changed(&args.folder)?;
    for (path, text) in FILES {
        write(&args.folder.join(path), text)?;
    }
    console.file("Examples", &args.folder)?;
    console.print(&format!("{}\n", begin(&args.folder)))
}

/// Refuses to write over a file that somebody has changed.
fn refuse_changed(folder: &Path) -> Result<(), Failure> {
    for (path, text) in FILES {
        let place = folder.join(path);
        match fs::read(&place) {
            Ok(found) if found != text.as_bytes() => {
                return Err(Failure::Input(format!(
                    "{} is there already and differs from the example\n\
                     choose another folder, or move the file away",
                    place.display()
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let made = path.parent().map_or(Ok(()), |folder| Folder::create(folder).map(|_| ()));
    let written = made.and_then(|()| write_whole(path, |file| file.write_all(text.as_bytes())));
    written.map_err(|error| Failure::Machine(format!("{error}\nchoose another folder")))
}

fn begin(folder: &Path) -> String {
    format!(
        "Begin with:\n  cd {}\n  shortflow compare scenarios/office.toml \\\n      \
         --policies policies/best-effort.toml,policies/fq-codel.toml,policies/short-first.toml",
        shell_word(folder.as_os_str())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_scenario_and_policy_is_written() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut there: Vec<String> = Vec::new();
        for folder in ["policies", "scenarios"] {
            let entries = fs::read_dir(root.join(folder)).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            there.extend(names.map(|name| format!("{folder}/{name}")));
        }
        there.sort();
        let mut written: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        written.sort_unstable();
        assert_eq!(written, there);
    }

    #[test]
    fn the_folder_can_be_pasted_into_a_shell() {
        let told = |folder: &str| begin(Path::new(folder)).lines().nth(1).unwrap().to_owned();
        assert_eq!(told("ex/a b/ünï"), "  cd 'ex/a b/ünï'");
        assert_eq!(told("examples"), "  cd examples");
    }
}
