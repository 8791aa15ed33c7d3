//! The prose of a document or a message: its lines, words and sentences, without code.

/// Stands for code, a placeholder or another text that is not prose.
const CODE: char = '`';

/// A line of prose.
pub(super) struct Line {
    pub(super) number: usize,
    /// The text, with [`CODE`] in place of each piece of code.
    pub(super) text: String,
    /// Whether it begins a paragraph, an item, a row or a heading.
    pub(super) begins: bool,
    /// Whether it is part of sentences: no heading, no row of a table.
    pub(super) is_running: bool,
}

/// A word in small letters at its line; empty between clauses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) line: usize,
    pub(super) word: String,
}

impl Line {
    /// Its words, after the end of a clause where it begins something.
    pub(super) fn tokens(&self) -> Vec<Token> {
        let start = self.begins.then(|| Token { line: self.number, word: String::new() });
        start.into_iter().chain(words(&self.text, self.number)).collect()
    }
}

/// The prose of a document in Markdown: without fenced blocks, generated regions, inline code and targets of links.
pub(super) fn lines(markdown: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut is_fenced, mut is_generated, mut in_code) = (false, false, false);
    let mut after_blank = true;
    for (index, line) in markdown.lines().enumerate() {
        let start = line.trim_start();
        let is_fence = start.starts_with("```") || start.starts_with("~~~");
        is_fenced ^= is_fence;
        is_generated |= start.starts_with("<!-- begin:");
        if start.is_empty() || is_fence || is_fenced || is_generated || start.starts_with("<!--") {
            is_generated &= !start.starts_with("<!-- end:");
            (after_blank, in_code) = (true, false);
            continue;
        }
        let is_block = start.starts_with(['#', '|', '<']);
        let item = start.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item = ["- ", "* ", ". ", "> "].iter().any(|sign| item.starts_with(sign));
        let begins = after_blank || is_block || is_item;
        in_code &= !begins;
        let text = without_code(start, &mut in_code);
        lines.push(Line { number: index + 1, text, begins, is_running: !is_block });
        after_blank = is_block;
    }
    lines
}

/// A line with [`CODE`] in place of inline code and of the targets of links; `in_code` continues from line to line.
fn without_code(line: &str, in_code: &mut bool) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '`' => {
                text.extend((!*in_code).then_some(CODE));
                *in_code = !*in_code;
            }
            _ if *in_code => {}
            ']' if rest.starts_with('(') => {
                text.push(' ');
                rest = rest.find(')').map_or("", |end| &rest[end + 1..]);
            }
            c => text.push(c),
        }
    }
    text
}

/// The prose of a string literal as it stands in source: [`CODE`] in place of placeholders and of code.
pub(super) fn of_literal(literal: &str) -> String {
    let mut text = String::new();
    let mut chars = literal.chars().peekable();
    let mut in_code = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                _ => text.push('|'),
            },
            '`' => {
                text.extend((!in_code).then_some(CODE));
                in_code = !in_code;
            }
            _ if in_code => {}
            '{' => {
                while chars.next_if(|c| *c != '}').is_some() {}
                chars.next();
                text.push(CODE);
            }
            c => text.push(c),
        }
    }
    text
}

/// The words of a text in one line; punctuation ends a clause.
pub(super) fn words(text: &str, line: usize) -> Vec<Token> {
    let mut tokens = Vec::new();
    let is_of_word = |c: char| c.is_alphanumeric() || "'’-_".contains(c);
    for (index, piece) in
        text.split(|c: char| !is_of_word(c) && !c.is_whitespace() && c != '*').enumerate()
    {
        if index > 0 {
            tokens.push(Token { line, word: String::new() });
        }
        let words =
            piece.split(|c: char| c.is_whitespace() || c == '*').filter(|word| !word.is_empty());
        tokens.extend(
            words.map(|word| Token { line, word: word.trim_matches(['_', '-']).to_lowercase() }),
        );
    }
    tokens
}

/// The sentences of running text: the line of the first word, and the number of words.
pub(super) fn sentences(lines: &[Line]) -> Vec<(usize, usize)> {
    let mut sentences = Vec::new();
    let (mut first, mut count) = (0, 0);
    for line in lines {
        if line.begins {
            sentences.push((first, std::mem::take(&mut count)));
        }
        for word in line.text.split_whitespace().filter(|_| line.is_running) {
            if word.contains(|c: char| c.is_alphanumeric() || c == CODE) {
                first = if count == 0 { line.number } else { first };
                count += 1;
            }
            let end = word.trim_end_matches([')', '"', '*', '_', '”', '\'']);
            if end.ends_with(['.', '!', '?', ':', ';']) {
                sentences.push((first, std::mem::take(&mut count)));
            }
        }
    }
    sentences.push((first, count));
    sentences.retain(|(_, words)| *words > 0);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_at_its_point_and_at_the_end_of_a_paragraph_or_an_item() {
        let text = "# A heading of five words\n\nOne two `code of more` four.\nOne [two three](target) four\n\
                    - an item\n- another: item\n\n| a | row |\n";
        let found: Vec<usize> =
            sentences(&lines(text)).into_iter().map(|(_, words)| words).collect();
        assert_eq!(found, [4, 4, 2, 1, 1]);
    }

    #[test]
    fn a_literal_loses_its_placeholders_and_line_breaks() {
        assert_eq!(of_literal("a {b:?} \\\n     c `d`\\ne"), "a ` c `|e");
    }
}
