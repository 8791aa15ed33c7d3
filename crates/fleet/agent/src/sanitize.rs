//! Texts written by others, made safe to display.

/// The most letters of one.
const MAX_CHARS: usize = 500;

/// One line of limited length, without control characters that a terminal or a journal would interpret.
pub(crate) fn sanitize(text: &str) -> String {
    let mut letters = text.trim().chars();
    let mut line: String = letters.by_ref().take(MAX_CHARS).map(letter).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}

/// A character, or a replacement for a control character.
fn letter(of: char) -> char {
    match of {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        _ if is_hidden(of) => '\u{fffd}',
        _ => of,
    }
}

/// Whether it moves the cursor, changes colours, or turns the direction of what follows.
fn is_hidden(letter: char) -> bool {
    let turns =
        ['\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}'];
    letter.is_control() || turns.contains(&letter) || ('\u{2066}'..='\u{2069}').contains(&letter)
}

/// A text of several lines without the same.
pub fn sanitize_lines(text: &str) -> String {
    let of = |letter: char| match letter {
        '\n' | '\t' => letter,
        _ if is_hidden(letter) => '\u{fffd}',
        _ => letter,
    };
    text.chars().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_takes_for_more_than_letters_is_not_handed_on() {
        assert_eq!(
            sanitize(" a\x1b[2Jb\nroot: c\u{9b}d\u{202e}é\u{7f} "),
            "a\u{fffd}[2Jb root: c\u{fffd}d\u{fffd}é\u{fffd}"
        );
        assert_eq!(sanitize(&"ä".repeat(500)), "ä".repeat(500));
        assert_eq!(sanitize(&"ä".repeat(501)), format!("{}…", "ä".repeat(500)));
        assert_eq!(sanitize_lines("a\n  b\x1b[31m\r"), "a\n  b\u{fffd}[31m\u{fffd}");
        let plainly = sanitize("x\x07");
        assert_eq!(sanitize(&plainly), plainly, "twice is as once");
    }
}
