//! `cargo xtask picture`: the README's picture, from the figure of a comparison.
//!
//! A report's figure follows a dark screen by a style sheet. A page that shows pictures chooses
//! between two files instead: one for light, one for dark.

use std::fs;
use std::path::{Path, PathBuf};

/// Writes the light and the dark picture made from `figure`, and says which files they are.
pub(crate) fn write(figure: &Path, root: &Path) -> Result<[PathBuf; 2], String> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        format!("{}: {error}; run `make demo` first", path.display())
    };
    let svg = fs::read_to_string(figure).map_err(|error| failed(figure, &error))?;
    let pictures =
        Pictures::parse(&svg).ok_or_else(|| failed(figure, &"this is no figure of ours"))?;
    let folder = root.join("docs/figures");
    let paths = [folder.join("office-light.svg"), folder.join("office-dark.svg")];
    for (path, text) in paths.iter().zip([&pictures.light, &pictures.dark]) {
        fs::write(path, text).map_err(|error| failed(path, &error))?;
    }
    Ok(paths)
}

/// The same drawing in the colours of each screen.
#[derive(Debug, PartialEq)]
struct Pictures {
    light: String,
    dark: String,
}

impl Pictures {
    /// None where the figure has no style sheet for dark screens.
    fn parse(svg: &str) -> Option<Pictures> {
        let (before, rest) = svg.split_once("<style>")?;
        let (style, after) = rest.split_once("</style>")?;
        let light = format!("{before}{after}\n");
        let dark = pairs(style)
            .into_iter()
            .fold(light.clone(), |text, (light, dark)| text.replace(&quoted(light), &quoted(dark)));
        style.contains("prefers-color-scheme:dark").then_some(Pictures { light, dark })
    }
}

/// Each light colour of the style sheet with its dark one: `[fill="#1f2328"]){fill:#e6e9ed}`.
fn pairs(style: &str) -> Vec<(&str, &str)> {
    let pair = |rule| -> Option<(&str, &str)> {
        let (light, rest): (&str, &str) = str::split_once(rule, "\"]{fill:")?;
        Some((light, rest.split_once('}')?.0))
    };
    style.split("[fill=\"").skip(1).filter_map(pair).collect()
}

fn quoted(color: &str) -> String {
    format!("\"{color}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_colour_gets_its_counterpart_and_the_style_sheet_goes() {
        let svg = "<svg><style>@media screen and (prefers-color-scheme:dark){\
                   :is(.figure,.figure *)[fill=\"#fff\"]{fill:#000}\
                   :is(.figure,.figure *)[stroke=\"#fff\"]{stroke:#000}}</style>\
                   <rect fill=\"#fff\" stroke=\"#fff\"/></svg>";
        let pictures = Pictures::parse(svg).unwrap();
        assert_eq!(pictures.light, "<svg><rect fill=\"#fff\" stroke=\"#fff\"/></svg>\n");
        assert_eq!(pictures.dark, "<svg><rect fill=\"#000\" stroke=\"#000\"/></svg>\n");
        assert_eq!(Pictures::parse("<svg></svg>"), None);
    }
}
