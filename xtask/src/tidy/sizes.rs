//! Ratchets: nothing grows past the size at which it is still read in one go.

use super::code::Code;
use super::{Finding, Tree};

const LINES_PER_FILE: usize = 600;
const LINES_PER_FUNCTION: usize = 70;
const BYTES_PER_FILE: u64 = 1_000_000;

/// Finds long files, long functions and heavy files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        if file.bytes > BYTES_PER_FILE {
            findings.push(Finding::new(
                &file.path,
                1,
                format!("{} bytes, above {BYTES_PER_FILE}", file.bytes),
                "keep results and data out of the repository, or generate them",
            ));
        }
    }
    for (path, text) in tree.texts_with("rs") {
        let code = Code::new(text);
        let lines = code.count();
        if lines > LINES_PER_FILE {
            findings.push(Finding::new(
                path,
                1,
                format!("{lines} lines of code, above {LINES_PER_FILE}"),
                "split it: one idea per file",
            ));
        }
        for function in code.functions() {
            let lines = function.last_line - function.first_line + 1;
            if lines > LINES_PER_FUNCTION {
                findings.push(Finding::new(
                    path,
                    function.first_line,
                    format!("`{}` has {lines} lines, above {LINES_PER_FUNCTION}", function.name),
                    "take a step out of it that has a name of its own",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    #[test]
    fn a_file_of_601_lines_of_code_is_too_long_and_comments_do_not_count() {
        let fits = "const A: u8 = 0;\n".repeat(600) + "// why\n\n";
        let long = format!("{fits}const B: u8 = 0;\n");
        assert_eq!(
            read(check, &[("fits.rs", &fits), ("long.rs", &long)]),
            ["long.rs:1: 601 lines of code, above 600; split it: one idea per file"]
        );
    }

    #[test]
    fn a_function_of_71_lines_is_too_long() {
        let body = |lines: usize| format!("\nfn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
        assert_eq!(read(check, &[("a.rs", &body(70))]), [""; 0]);
        assert_eq!(
            read(check, &[("a.rs", &body(71))]),
            [
                "a.rs:2: `f` has 71 lines, above 70; take a step out of it that has a name of its own"
            ]
        );
    }

    #[test]
    fn a_file_above_a_megabyte_is_too_heavy() {
        let heavy = "x".repeat(1_000_001);
        assert_eq!(
            read(check, &[("data.csv", &heavy)]),
            ["data.csv:1: 1000001 bytes, above 1000000; \
              keep results and data out of the repository, or generate them"]
        );
    }
}
