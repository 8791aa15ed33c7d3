//! Parts of a document that are written by the program, between comments that name them.

/// What a document with parts has in it.
pub(super) const BEGIN: &str = "<!-- begin:";

/// A document as its lines.
pub(super) struct Blocks<'a>(Vec<&'a str>);

/// A mistake and its line.
pub(super) type Mistake = (usize, String);

impl<'a> Blocks<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Blocks(text.lines().collect())
    }

    /// The document with each part as `part` says for its name. An empty line stands on both sides of
    /// it, so that Markdown sees where a table begins.
    pub(super) fn renewed(
        &self,
        part: impl Fn(&str) -> Result<String, String>,
    ) -> Result<String, Mistake> {
        let mut out = String::new();
        let mut lines = (1..).zip(&self.0);
        while let Some((number, line)) = lines.next() {
            out += &format!("{line}\n");
            let Some(name) = named(line, "begin") else { continue };
            let text = part(name).map_err(|mistake| (number, mistake))?;
            let end = lines.find(|(_, line)| named(line, "end") == Some(name));
            let (_, end) = end.ok_or((number, format!("the part `{name}` does not end")))?;
            out += &format!("\n{}\n\n{end}\n", text.trim());
        }
        Ok(out)
    }
}

/// The name in `<!-- begin: NAME -->`.
fn named<'a>(line: &'a str, edge: &str) -> Option<&'a str> {
    let inside = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    Some(inside.strip_prefix(edge)?.strip_prefix(':')?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_comments_changes() {
        let text = "# A\n<!-- begin: x -->\nold\nolder\n<!-- end: x -->\n\nB\n";
        let renewed = Blocks::new(text).renewed(|name| Ok(format!("new {name}\n")));
        assert_eq!(renewed, Ok("# A\n<!-- begin: x -->\n\nnew x\n\n<!-- end: x -->\n\nB\n".into()));
    }

    #[test]
    fn a_document_without_parts_stays_as_it_is() {
        let text = "# A\n\n<!-- a comment -->\nB\n";
        assert_eq!(Blocks::new(text).renewed(|_| Err("none".into())), Ok(text.into()));
    }

    #[test]
    fn a_part_that_does_not_end_is_a_mistake() {
        let text = "# A\n<!-- begin: x -->\n<!-- end: y -->\n";
        let mistake = Blocks::new(text).renewed(|_| Ok(String::new()));
        assert_eq!(mistake, Err((2, "the part `x` does not end".into())));
    }
}
