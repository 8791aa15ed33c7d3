//! The order of a crate's modules: a crate whose front page has a block `modules` lists them there, and a module uses
//! only those above it. So modules cannot use each other in circles.

use super::code::{Code, is_identifier};
use super::crates::place;
use super::edges::block;
use super::{Finding, Tree};

/// Finds modules that the block of their crate lacks, and uses of modules that are not above in it.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let fronts = tree.texts_with("rs").filter_map(|(path, text)| {
        let crate_place = place(path).filter(|place| place.inside == "src/lib.rs")?;
        let order = order(text);
        (!order.is_empty()).then_some((crate_place.folder, order))
    });
    let mut findings = Vec::new();
    for (folder, order) in fronts {
        for (path, text) in tree.texts_with("rs") {
            let inside = path.strip_prefix(folder).and_then(|path| path.strip_prefix("/src/"));
            let Some(module) = inside.map(first_word).filter(|module| module != "lib") else {
                continue;
            };
            let Some(own) = order.iter().position(|name| *name == module) else {
                let found = format!("`{module}` is not in the block `modules`");
                findings.push(Finding::new(path, 1, found, "list it below all that it uses"));
                continue;
            };
            for (line, used) in uses(text) {
                if !order[..=own].contains(&used) {
                    let found = format!("`{module}` uses `crate::{used}`, which is not above it");
                    let remedy = "move the code down the block `modules`, or the used code up";
                    findings.push(Finding::new(path, line, found, remedy));
                }
            }
        }
    }
    findings
}

/// The modules in the block of a front page, the lowest first.
fn order(front: &str) -> Vec<String> {
    let docs = front.lines().map(|line| line.strip_prefix("//! ").unwrap_or_default());
    let docs = docs.collect::<Vec<_>>().join("\n");
    block(&docs, "modules").into_iter().map(|(_, line)| first_word(line)).collect()
}

/// The modules that a file names by a path from the root, with their lines.
fn uses(source: &str) -> Vec<(usize, String)> {
    const ROOT: &str = "crate::";
    let code = Code::new(source);
    let of_line = |(number, line): (usize, &str)| {
        let paths =
            line.match_indices(ROOT).filter(|(at, _)| !line[..*at].ends_with(is_identifier));
        let named = paths.map(|(at, _)| (number, first_word(&line[at + ROOT.len()..])));
        named.collect::<Vec<_>>()
    };
    code.lines().flat_map(of_line).collect()
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| is_identifier(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    const FRONT: &str = "//! A crate.\n//!\n//! ```modules\n//! leaf  used by all\n//! spec  files\n\
                         //! runs  replicas\n//! ```\n\nmod leaf;\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        read(check, &[("crates/a/src/lib.rs", FRONT), (path, text)])
    }

    #[test]
    fn a_module_uses_itself_and_those_above_it() {
        let text = "use crate::leaf::A;\nuse crate::spec::B;\n// crate::runs in a comment\n";
        assert_eq!(findings("crates/a/src/spec/deep/b.rs", text), [""; 0]);
        assert_eq!(findings("crates/b/src/spec.rs", "use crate::runs::C;"), [""; 0], "no block");
    }

    #[test]
    fn a_module_that_uses_one_below_it_is_found_at_its_line() {
        assert_eq!(
            findings("crates/a/src/spec.rs", "\nfn f() -> crate::runs::C {}\n"),
            ["crates/a/src/spec.rs:2: `spec` uses `crate::runs`, which is not above it; \
              move the code down the block `modules`, or the used code up"]
        );
    }

    #[test]
    fn a_path_around_the_order_is_found() {
        let by_the_root = findings("crates/a/src/spec.rs", "use crate::C;\n");
        assert!(by_the_root[0].contains("`spec` uses `crate::C`"), "{by_the_root:?}");
        let listed = findings("crates/a/src/spec.rs", "use crate::{leaf::A, runs::C};\n");
        assert!(listed[0].contains("`spec` uses `crate::`"), "{listed:?}");
        let other = findings("crates/a/src/other.rs", "");
        assert!(other[0].contains("`other` is not in the block `modules`"), "{other:?}");
    }
}
