//! `cargo xtask figures`: counts how plain the code's language is: type names, tokens per line, words, struct sizes.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::{
    repository::Repository,
    tidy::{plain_words, type_names},
};

/// Prints the figures.
pub fn run(repository: &Repository) -> Result<()> {
    types(repository)?;
    text(repository)?;
    let findings = plain_words::check(repository)?;
    println!("comments to reword   {}", findings.len());
    Ok(())
}

fn types(repository: &Repository) -> Result<()> {
    let mut declared = type_names::declared(repository)?;
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &declared {
        *by_name.entry(one.name.as_str()).or_default() += 1;
    }
    let colliding: usize = by_name.values().filter(|count| **count > 1).sum();
    let names = by_name.values().filter(|count| **count > 1).count();
    let is_one_word = |name: &str| !name.chars().skip(1).any(char::is_uppercase);
    let one_word = declared.iter().filter(|one| is_one_word(&one.name)).count();
    let all = declared.len();
    println!("types                {all}");
    println!(
        "share a name         {colliding} ({} %), {names} names",
        percent(colliding, all)
    );
    println!(
        "one-word names       {one_word} ({} %)",
        percent(one_word, all)
    );
    declared.sort_by_key(|one| std::cmp::Reverse(one.fields));
    let largest: Vec<String> = declared
        .iter()
        .take(8)
        .map(|one| format!("{} {}", one.name, one.fields))
        .collect();
    println!("largest structs      {}", largest.join(", "));
    Ok(())
}

fn text(repository: &Repository) -> Result<()> {
    let (mut files, mut lines, mut code_lines, mut tokens, mut comment_words) = (0, 0, 0, 0, 0);
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    for path in repository
        .files_ending("rs")
        .filter(|path| path.starts_with("crates/") && path.contains("/src/"))
    {
        let text = repository.text(path)?;
        files += 1;
        lines += text.lines().count();
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
        for line in text.lines().map(str::trim).filter(is_code) {
            code_lines += 1;
            tokens += tokens_in(line.split(" // ").next().unwrap_or_default());
        }
        for (_, comment) in plain_words::comments(&text) {
            for word in plain_words::words(comment) {
                comment_words += 1;
                let known = plain_words::REFUSED
                    .iter()
                    .find(|known| word.eq_ignore_ascii_case(known));
                known
                    .into_iter()
                    .for_each(|known| *refused.entry(known).or_default() += 1);
            }
        }
    }
    println!("source files, lines  {files}, {lines}");
    println!("tokens per line      {}", tenths(tokens, code_lines));
    println!("comment words        {comment_words}");
    for (word, count) in refused {
        println!(
            "  {word:<18} {count} ({} per 1,000)",
            tenths(count * 1_000, comment_words)
        );
    }
    Ok(())
}

/// Words, literals and punctuation of a line of code.
fn tokens_in(line: &str) -> usize {
    let (mut count, mut letters) = (0, line.chars().peekable());
    while let Some(letter) = letters.next() {
        let is_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
        if letter.is_whitespace() {
            continue;
        }
        count += 1;
        if is_word(&letter) {
            while letters.next_if(is_word).is_some() {}
        } else if letter == '"' {
            while letters.next_if(|letter| *letter != '"').is_some() {}
            letters.next();
        } else if "=<>!&|+-*/.:".contains(letter) {
            while letters.next_if(|next| "=>&|.:".contains(*next)).is_some() {}
        }
    }
    count
}

fn percent(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or_default()
}

fn tenths(part: usize, whole: usize) -> String {
    let tenths = (part * 10).checked_div(whole).unwrap_or_default();
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_operators_and_texts_are_one_token_each() {
        assert_eq!(tokens_in("let one = a::b(\"two three\");"), 10);
        assert_eq!(tokens_in("    x => y,"), 4);
    }
}
