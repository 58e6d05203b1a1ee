//! Every page of `docs` is linked from the index `docs/README.md`, so that readers find it.

use anyhow::Result;

use crate::{finding::Finding, repository::Repository};

const INDEX: &str = "docs/README.md";

/// Objects to pages without a link in the index.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    if !repository.has(INDEX) {
        return Ok(Vec::new());
    }
    let index = repository.text(INDEX)?;
    let pages = repository
        .files_ending("md")
        .filter_map(|path| path.strip_prefix("docs/"));
    let pages = pages.filter(|page| !page.contains('/') && *page != "README.md");
    let missing = pages.filter(|page| !index.contains(&format!("]({page})")));
    Ok(missing
        .map(|page| {
            Finding::new(
                format!("docs/{page}"),
                "the index does not link it",
                format!("add it to {INDEX}"),
            )
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    #[test]
    fn n_24_a_page_that_the_index_does_not_link_is_found() {
        let planted = Planted::new()
            .with(INDEX, "[one](one.md)")
            .with("docs/one.md", "")
            .with("docs/two.md", "")
            .with("docs/decisions/three.md", "");
        let said = told(&check(&planted.repository()).unwrap());
        assert!(
            said.contains("docs/two.md") && !said.contains("one.md:") && !said.contains("three"),
            "{said}"
        );
    }
}
