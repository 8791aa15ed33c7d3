//! The schema, before a real OpenLDAP.

use std::sync::Arc;

use shortflow_agent::ldap;
use shortflow_text::Source;

use crate::slapd::{BASE, Like, Slapd, schema};
use crate::support::bundle;

#[test]
fn a_repository_goes_through_a_real_directory_and_comes_back_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let repository =
        bundle("name = \"Größe\"\n", &[("odd, \"name\".toml", " begins and ends with a space ")]);
    let Some(slapd) = Slapd::with(folder.path(), &Like::default(), &repository) else { return };
    // Lines as long as the tool likes them, and cut as it cuts them.
    for more in [&["-LLL"][..], &["-LLL", "-o", "ldif-wrap=no"]] {
        let text = slapd.tool("ldapsearch", &[more, &["-b", BASE]].concat()).unwrap();
        let entries = ldap::parse("search", &text).unwrap();
        let source = Arc::new(Source { name: "search".to_owned(), text });
        assert_eq!(ldap::bundle(&source, &entries).unwrap(), repository);
    }
}

#[test]
fn both_files_of_the_schema_define_the_same() {
    let words = |name: &str, marks: [&str; 3]| -> Vec<String> {
        let text = std::fs::read_to_string(schema().join(name)).unwrap();
        let lines =
            text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
        // Lines that begin with a space or a tab go on with the one before.
        let joined = lines.replace("\n ", " ").replace("\n\t", " ");
        let definitions = joined.lines().filter_map(|line| {
            let rest = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
            Some(rest.split_whitespace().collect::<Vec<_>>().join(" "))
        });
        definitions.collect()
    };
    let one = words("shortflow.schema", ["objectidentifier ", "attributetype ", "objectclass "]);
    let other = words(
        "shortflow.ldif",
        ["olcObjectIdentifier: ", "olcAttributeTypes: ", "olcObjectClasses: "],
    );
    assert_eq!(one, other);
    assert_eq!(one.len(), 3 + 14 + 4);
}
