//! Wraps prose to the width of the terminal.

/// Wraps a text to this number of columns, at spaces. Continuation lines are indented by two columns; escape
/// sequences have no width.
pub fn wrapped(text: &str, columns: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| line_wrapped(line, columns)).collect();
    lines.join("\n")
}

fn line_wrapped(line: &str, columns: usize) -> String {
    let words = line.trim_start_matches(' ');
    let indent = line.len() - words.len();
    let (mut out, mut at, mut begins) = (" ".repeat(indent), indent, true);
    for word in unbroken(words) {
        let width = width(&word);
        if !begins && at + 1 + width > columns {
            out += &format!("\n{}", " ".repeat(indent + 2));
            at = indent + 2;
        } else if !begins {
            out.push(' ');
            at += 1;
        }
        out += &word;
        at += width;
        begins = false;
    }
    out
}

/// The words of a line, a number and its unit as one.
fn unbroken(line: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let unit = word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
        match all.last_mut() {
            Some(before)
                if UNITS.contains(&unit) && before.ends_with(|c: char| c.is_ascii_digit()) =>
            {
                *before += &format!(" {word}");
            }
            _ => all.push(word.to_owned()),
        }
    }
    all
}

const UNITS: [&str; 8] = ["%", "ms", "s", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "pkt"];

/// The width of a word in columns.
fn width(word: &str) -> usize {
    let mut is_escape = false;
    let is_seen = |c: &char| {
        let was_escape = is_escape || *c == '\x1b';
        is_escape = was_escape && *c != 'm';
        !was_escape
    };
    word.chars().filter(is_seen).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_behind_its_beginning_and_a_short_one_stays() {
        assert_eq!(wrapped("one two three\nfour\n", 9), "one two\n  three\nfour\n");
        assert_eq!(wrapped("  one two three", 9), "  one two\n    three");
        assert_eq!(wrapped("onetwothree four", 5), "onetwothree\n  four");
    }

    #[test]
    fn a_number_is_not_parted_from_its_unit() {
        assert_eq!(
            wrapped("better by 139 ms (-41 ms to 3 %).", 13),
            "better by\n  139 ms\n  (-41 ms to\n  3 %)."
        );
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(
            wrapped("\x1b[33mwarning:\x1b[0m one two", 12),
            "\x1b[33mwarning:\x1b[0m one\n  two"
        );
    }
}
