//! Rust source without its comments and literals, and the functions in it.
//!
//! Not a parser: a scanner that knows just enough of the language to tell code from text, and
//! where a function's braces close.

use std::ops::Range;

/// What stands for each character of a literal, so that a line of text still counts as a line.
const FILLER: char = '"';

/// Rust source with comments blanked out and literals filled in, line by line as it was.
pub(crate) struct Code {
    text: String,
    /// Where the string literals are in the source, and in `text`.
    strings: Vec<(Range<usize>, usize)>,
}

/// A function with its body: name and lines, counted from 1, both ends included.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
}

impl Code {
    pub(crate) fn new(source: &str) -> Self {
        let mut text = String::with_capacity(source.len());
        let mut strings = Vec::new();
        let mut rest = source;
        while let Some(next) = rest.chars().next() {
            let (length, blank) = match next {
                '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), ' '),
                '/' if rest.starts_with("/*") => (block_comment(rest), ' '),
                _ => match literal(rest, text.chars().next_back()) {
                    Some(length) => {
                        let at = source.len() - rest.len();
                        strings.push((at..at + length, text.len()));
                        (length, FILLER)
                    }
                    None => {
                        text.push(next);
                        rest = &rest[next.len_utf8()..];
                        continue;
                    }
                },
            };
            text.extend(rest[..length].chars().map(|c| if c == '\n' { c } else { blank }));
            rest = &rest[length..];
        }
        Code { text, strings }
    }

    /// The strings of `source`, from which this was made, that users may read, with their lines: no names, and no
    /// reasons of assertions.
    pub(crate) fn messages<'s>(&self, source: &'s str) -> impl Iterator<Item = (usize, &'s str)> {
        self.strings.iter().filter_map(|(range, at)| {
            let before = self.text[..*at].trim_end();
            let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
            let marks = ["expect(", "expect_err(", "assert", "panic!(", "unreachable!("];
            let is_reason = marks.iter().any(|mark| line.contains(mark));
            let string = &source[range.clone()];
            let is_text = string.contains('"') && string.contains(char::is_whitespace);
            (is_text && !is_reason).then(|| (self.line_at(*at), string))
        })
    }

    /// The lines, with their numbers.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// How many lines hold more than a comment.
    pub(crate) fn count(&self) -> usize {
        self.lines().filter(|(_, line)| !line.trim().is_empty()).count()
    }

    /// The lines of modules that only tests see.
    pub(crate) fn test_lines(&self) -> Vec<Range<usize>> {
        let starts = self.text.match_indices("#[cfg(test)]");
        starts
            .filter_map(|(start, _)| {
                let end = self.body_end(start)?;
                Some(self.line_at(start)..self.line_at(end) + 1)
            })
            .collect()
    }

    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for (start, _) in self.text.match_indices("fn ") {
            let is_word = !self.text[..start].ends_with(is_identifier);
            let name: String =
                self.text[start + 3..].chars().take_while(|c| is_identifier(*c)).collect();
            if !is_word || name.is_empty() {
                continue;
            }
            if let Some(end) = self.body_end(start) {
                let (first_line, last_line) = (self.line_at(start), self.line_at(end));
                functions.push(Function { name, first_line, last_line });
            }
        }
        functions
    }

    /// Where the braces close that open first after `start`; `None` when the item has none.
    fn body_end(&self, start: usize) -> Option<usize> {
        let (mut brackets, mut braces) = (0, 0);
        for (offset, c) in self.text[start..].char_indices() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                ';' if brackets == 0 && braces == 0 => return None,
                '{' => braces += 1,
                '}' if braces == 1 => return Some(start + offset),
                '}' => braces -= 1,
                _ => {}
            }
        }
        None
    }

    fn line_at(&self, offset: usize) -> usize {
        1 + self.text[..offset].matches('\n').count()
    }
}

/// Whether `c` may be part of an identifier.
pub(crate) fn is_identifier(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The length of the block comment at the start of `rest`; block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let tail = &rest[at..];
        if tail.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if tail.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of the string or character literal at the start of `rest`, if there is one.
fn literal(rest: &str, before: Option<char>) -> Option<usize> {
    if rest.starts_with('\'') {
        return character(rest);
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, '"'));
    }
    if before.is_some_and(is_identifier) {
        return None;
    }
    let prefix = ["br", "cr", "r", "b", "c"].into_iter().find(|prefix| {
        let tail = rest.strip_prefix(prefix).unwrap_or("");
        tail.starts_with('"')
            || prefix.ends_with('r') && tail.trim_start_matches('#').starts_with('"')
    })?;
    let tail = &rest[prefix.len()..];
    let length = if prefix.ends_with('r') { raw(tail) } else { quoted(tail, '"') };
    Some(prefix.len() + length)
}

/// The length of a character literal; a lifetime or a label is none.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.chars().skip(1);
    let first = chars.next()?;
    if first == '\\' {
        return Some(quoted(rest, '\''));
    }
    (chars.next() == Some('\'')).then(|| 2 + first.len_utf8())
}

/// The length of a literal that opens and closes with `quote`, in which `\` escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// The length of a raw string from its first `#` or quote.
fn raw(rest: &str) -> usize {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let close = format!("\"{}", "#".repeat(hashes));
    let body = hashes + 1;
    rest[body..].find(&close).map_or(rest.len(), |at| body + at + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code, with `~` where a literal was.
    fn text(source: &str) -> String {
        Code::new(source).text.replace(FILLER, "~")
    }

    #[test]
    fn comments_turn_blank_and_literals_are_filled() {
        assert_eq!(text("a // b\nc"), "a     \nc");
        assert_eq!(text("a /* b /* c */ d */ e"), format!("a {:17} e", ""));
        assert_eq!(text(r#"f("/* \" {", 1)"#), "f(~~~~~~~~~, 1)");
        assert_eq!(text(r###"g(r#"a"{"#, br"\")"###), "g(~~~~~~~~, ~~~~~)");
    }

    #[test]
    fn a_brace_in_a_character_is_no_brace_and_a_lifetime_is_no_character() {
        assert_eq!(text(r"'{' '\'' b'}'"), "~~~ ~~~~ b~~~");
        assert_eq!(text("&'a str, 'static"), "&'a str, 'static");
    }

    #[test]
    fn a_line_counts_when_it_holds_more_than_a_comment() {
        let source = "//! Doc.\n\n/* a\n b */\nfn f() {\n    \"text\n    more\" // c\n}\n";
        assert_eq!(Code::new(source).count(), 4);
    }

    #[test]
    fn a_function_reaches_from_its_name_to_its_closing_brace() {
        let source = "trait T { fn no_body(&self, x: [u8; 3]); }\n\
                      fn outer(\n    a: u8,\n) {\n    if a > 0 { inner() }\n    fn inner() {}\n}\n\
                      type F = fn (u8);\n";
        let function = |name: &str, first_line, last_line| Function {
            name: name.to_owned(),
            first_line,
            last_line,
        };
        assert_eq!(
            Code::new(source).functions(),
            [function("outer", 2, 7), function("inner", 6, 6)]
        );
    }

    #[test]
    fn a_test_module_reaches_to_its_closing_brace() {
        let source = "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\nfn h() {}\n";
        assert_eq!(Code::new(source).test_lines(), vec![2..6; 1]);
        assert_eq!(Code::new("#[cfg(test)]\nmod tests;\nfn f() {}\n").test_lines(), []);
    }
}
