//! `init`: the shipped scenarios and policies, written into a folder to start from.

use std::io::ErrorKind;
use std::path::Path;

use shortflow_files::ReadError;
use shortflow_measure::results::{Error, Folder};
use shortflow_run::shell_word;
use shortflow_shipped::FILES;
use shortflow_text::MAX_TEXT;

use crate::args::Init;
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow init`.
pub(crate) fn init(console: &Console, args: &Init) -> Result<(), Failure> {
    refuse_changed(&args.folder)?;
    let failed = |error: Error| Failure::Machine(format!("{error}\nchoose another folder"));
    let folder = Folder::create(&args.folder).map_err(failed)?;
    FILES
        .iter()
        .try_for_each(|(path, text)| write(&folder, Path::new(path), text))
        .map_err(failed)?;
    console.file("Examples", &args.folder)?;
    console.print(&format!("{}\n", begin(&args.folder)))
}

/// Refuses to overwrite a file that a user has changed.
fn refuse_changed(folder: &Path) -> Result<(), Failure> {
    for (path, text) in FILES {
        let place = folder.join(path);
        match shortflow_files::read(&place, MAX_TEXT) {
            Ok(found) if found == text.as_bytes() => {}
            // A file in the way of a folder is named when the folder is made.
            Err(ReadError::Io(error))
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            _ => {
                return Err(Failure::Input(format!(
                    "{} already exists and differs from the example\nchoose another folder, or move the file away",
                    place.display()
                )));
            }
        }
    }
    Ok(())
}

fn write(folder: &Folder, path: &Path, text: &str) -> Result<(), Error> {
    let around = folder.create_inside(path.parent().unwrap_or(Path::new("")))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    around.write_text(&name, text)
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
            let entries = std::fs::read_dir(root.join(folder)).unwrap();
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
        let message = |folder: &str| begin(Path::new(folder)).lines().nth(1).unwrap().to_owned();
        assert_eq!(message("ex/a b/ünï"), "  cd 'ex/a b/ünï'");
        assert_eq!(message("examples"), "  cd examples");
    }
}
