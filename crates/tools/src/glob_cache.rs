//! Cache of compiled globs: rules are matched against every call, and compiling a glob costs more than the call.
//!
//! An entry depends on the glob alone, so a cache hit and a miss give the same result.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use globset::{GlobBuilder, GlobMatcher};

/// Maximum number of cached globs per thread. Rules are few; when it is exceeded, the cache is cleared.
const KEPT: usize = 128;

/// What `*` means in a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WildcardMeaning {
    /// Any text, as in names.
    Anything,
    /// Text without a `/`, as in paths.
    WithinPart,
}

/// A compiled glob; none if it cannot be read.
pub(crate) type CompiledGlob = Option<Arc<GlobMatcher>>;

thread_local! {
    static KNOWN: RefCell<HashMap<(String, WildcardMeaning), CompiledGlob>> = RefCell::default();
}

/// Whether a text is what a glob means. One that cannot be read means nothing.
pub(crate) fn is_match(
    glob: &str,
    star: WildcardMeaning,
    text: impl AsRef<std::path::Path>,
) -> bool {
    compiled_glob(glob, star).is_some_and(|glob| glob.is_match(text))
}

/// A glob, compiled now or earlier.
pub(crate) fn compiled_glob(glob: &str, star: WildcardMeaning) -> CompiledGlob {
    KNOWN.with_borrow_mut(|known| {
        let key = (glob.to_owned(), star);
        if let Some(compiled) = known.get(&key) {
            return compiled.clone();
        }
        let built = GlobBuilder::new(glob)
            .literal_separator(star == WildcardMeaning::WithinPart)
            // `{,/**}`: a directory itself, and all that is below it.
            .empty_alternates(true)
            .build();
        let compiled = built.ok().map(|glob| Arc::new(glob.compile_matcher()));
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, compiled.clone());
        compiled
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_two_globs_where_a_star_means_two_things() {
        for _ in 0..2 {
            assert!(is_match("a*c", WildcardMeaning::Anything, "a/c"));
            assert!(!is_match("a*c", WildcardMeaning::WithinPart, "a/c"));
            assert!(is_match("a*c", WildcardMeaning::WithinPart, "abc"));
            assert!(!is_match("a[", WildcardMeaning::Anything, "a["));
        }
    }

    #[test]
    fn a_flood_of_globs_changes_no_answer() {
        for number in 0..3 * KEPT {
            assert!(is_match(
                &format!("{number}*"),
                WildcardMeaning::Anything,
                format!("{number}x")
            ));
            assert!(is_match("same*", WildcardMeaning::Anything, "same"));
        }
    }
}
