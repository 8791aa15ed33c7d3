//! Characters that are not seen but obeyed: by a terminal, by a page, by the direction of writing.

use std::ops::RangeInclusive;

/// The first character of `text` that whatever shows the text would obey, or that no page may hold.
pub fn control_char(text: &str) -> Option<char> {
    if is_printed(text) {
        return None;
    }
    text.chars().find(|c| is_obeyed(*c))
}

/// The same in a text that may go over several lines, with tabs in them.
pub fn control_char_in_lines(text: &str) -> Option<char> {
    if is_printed(text) {
        return None;
    }
    text.lines().find_map(|line| line.chars().find(|c| *c != '\t' && is_obeyed(*c)))
}

/// The same text with U+FFFD in the place of such characters, but for line ends and tabs.
pub fn without_control_chars(text: &str) -> String {
    let shown =
        |c| if c != '\n' && c != '\t' && is_obeyed(c) { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(shown).collect()
}

/// Whether all of it is ASCII that is seen, as most is: that is soon said.
fn is_printed(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn is_obeyed(c: char) -> bool {
    c.is_control() || (!c.is_ascii() && OBEYED.iter().any(|range| range.contains(&c)))
}

/// Besides the control characters: what turns the direction of writing (Unicode Standard Annex 9 §2),
/// parts lines, joins or tags in silence, and the two that XML 1.0 §2.2 does not have. The joiners
/// U+200C and U+200D are not among them: there are scripts that need them.
const OBEYED: [RangeInclusive<char>; 11] = [
    '\u{061c}'..='\u{061c}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200b}',
    '\u{200e}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    '\u{fffe}'..='\u{ffff}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e007f}',
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_obeyed_is_found_and_what_is_read_is_not() {
        for found in ['\u{1b}', '\n', '\t', '\0', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}'] {
            assert_eq!(control_char(&format!("RED{found}")), Some(found));
        }
        for text in ["RED, weighted: 50 % (α = ½)", "भाषा", "می\u{200c}خواهم", "👩\u{200d}🔬"]
        {
            assert_eq!(control_char(text), None, "{text}");
        }
        assert_eq!(control_char_in_lines("one\n\ttwo\r\n"), None);
        assert_eq!(control_char_in_lines("one\rtwo"), Some('\r'));
        assert_eq!(without_control_chars("a\x1b[2J\n\tb\u{202e}"), "a\u{fffd}[2J\n\tb\u{fffd}");
    }
}
