//! Stems English words: retries, retried and retry become one word.
//!
//! Both sides of a search go through here, so a stem need not be a word, only the same one for
//! forms that belong together. Short words stay: there, endings carry the meaning.

/// Cuts the endings off a word in lower case.
pub(super) fn stem(word: &mut String) {
    if word.len() < 4 || !word.is_ascii() {
        return;
    }
    plural(word);
    tense(word);
    derivation(word);
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
}

fn plural(word: &mut String) {
    if replace(word, "ies", "y", 2) || replace(word, "sses", "ss", 1) {
        return;
    }
    if !word.ends_with('s') {
        return;
    }
    let hisses = ["xes", "ches", "shes", "zes"];
    if hisses.iter().any(|end| word.ends_with(end)) {
        word.truncate(word.len() - 2);
    } else if !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
}

fn tense(word: &mut String) {
    if replace(word, "ied", "y", 2) {
        return;
    }
    let is_cut = word.ends_with(['g', 'd'])
        && ["ing", "ed"]
            .iter()
            .any(|end| has_vowel_before(word, end) && replace(word, end, "", 3));
    if !is_cut {
        return;
    }
    if word.ends_with("at") || word.ends_with("iz") || word.ends_with("bl") {
        word.push('e');
    } else if is_doubled(word) {
        word.pop();
    }
}

/// Endings that make another word of the same family, the longest first, with what is left of
/// them and how many letters must stand before.
const FAMILIES: [(&str, &str, usize); 19] = [
    ("ization", "iz", 3),
    ("isation", "iz", 3),
    ("izer", "iz", 3),
    ("iser", "iz", 3),
    ("ation", "", 4),
    ("ator", "", 4),
    ("ible", "", 4),
    ("able", "", 4),
    ("ment", "", 4),
    ("ness", "", 4),
    ("tion", "t", 3),
    ("sion", "s", 4),
    ("ize", "iz", 3),
    ("ise", "iz", 3),
    ("ate", "", 4),
    ("er", "", 4),
    ("or", "", 4),
    ("ly", "", 4),
    ("al", "", 5),
];

fn derivation(word: &mut String) {
    for (end, left, before) in FAMILIES {
        if replace(word, end, left, before) {
            break;
        }
    }
}

/// Swaps an ending if at least so many letters stand before it.
fn replace(word: &mut String, end: &str, with: &str, before: usize) -> bool {
    // Most endings fail at their last letter, so that is compared first.
    let is_other = word.as_bytes().last() != end.as_bytes().last();
    if is_other || !word.ends_with(end) || word.len() < end.len() + before {
        return false;
    }
    word.truncate(word.len() - end.len());
    word.push_str(with);
    true
}

fn has_vowel_before(word: &str, end: &str) -> bool {
    word.strip_suffix(end)
        .is_some_and(|rest| rest.contains(['a', 'e', 'i', 'o', 'u', 'y']))
}

/// `stopp` but not `roll`, `pass` or `buzz`, which are written so anyway.
fn is_doubled(word: &str) -> bool {
    let mut ends = word.bytes().rev();
    let (last, before) = (ends.next(), ends.next());
    last == before
        && !matches!(
            last,
            Some(b'l' | b's' | b'z' | b'a' | b'e' | b'i' | b'o' | b'u')
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut word = word.to_owned();
        stem(&mut word);
        word
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        let families = [
            "retry retries retried retrying",
            "handle handles handled handling handler handlers",
            "parse parses parsed parsing parser",
            "stop stops stopped stopping",
            "validate validates validated validating validation validator",
            "connect connects connected connecting connection connections",
            "serialize serialise serialized serializer serialization serialisation",
            "execute executes executing execution",
            "cache caches cached caching",
            "match matches matched matching matcher",
            "configure configured configuring",
            "delete deleted deleting deletion",
            "route routes routed routing router",
            "class classes",
            "roll rolls rolled rolling",
            "authenticate authenticated authentication authenticator",
            "schedule schedules scheduled scheduling scheduler",
        ];
        for family in families {
            let stems: Vec<String> = family.split(' ').map(stemmed).collect();
            assert!(
                stems.iter().all(|stem| *stem == stems[0]),
                "{family}: {stems:?}"
            );
        }
    }

    #[test]
    fn words_that_only_look_alike_stay_apart() {
        for (one, other) in [
            ("user", "use"),
            ("string", "str"),
            ("status", "stat"),
            ("bus", "bu"),
            ("error", "err"),
        ] {
            assert_ne!(stemmed(one), stemmed(other));
        }
    }
}
