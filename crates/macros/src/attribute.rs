//! Parses the arguments of `#[tool(…)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Ident, LitStr, Result, Token,
    parse::{Parse, ParseStream},
};

/// The options of a tool.
#[derive(Default)]
pub struct ToolAttribute {
    /// Its name, if it differs from the function's.
    pub name: Option<LitStr>,
    effect: Option<Ident>,
}

const KNOWN: &str = "there are `read_only`, `destructive`, `remote` and `name = \"…\"`";

impl ToolAttribute {
    /// The effect of calls, as a variant of `Effect`.
    pub fn effect(&self) -> TokenStream {
        match self.effect.as_ref().map(ToString::to_string).as_deref() {
            Some("read_only") => quote!(ReadOnly),
            Some("destructive") => quote!(Destructive),
            Some("remote") => quote!(RemoteAction),
            _ => quote!(LocalMutation),
        }
    }

    fn add(&mut self, word: Ident, input: ParseStream<'_>) -> Result<()> {
        match word.to_string().as_str() {
            "name" => {
                input.parse::<Token![=]>()?;
                self.name = Some(plain(input.parse()?)?);
            }
            "read_only" | "destructive" | "remote" => {
                if let Some(other) = &self.effect {
                    return Err(syn::Error::new(
                        word.span(),
                        format!("a tool is `{other}` or `{word}`, not both"),
                    ));
                }
                self.effect = Some(word);
            }
            _ => {
                return Err(syn::Error::new(
                    word.span(),
                    format!("`{word}` is no option of a tool; {KNOWN}"),
                ));
            }
        }
        Ok(())
    }
}

/// Validates a name: providers accept no other characters.
fn plain(name: LitStr) -> Result<LitStr> {
    let text = name.value();
    let is_plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if text.is_empty() || text.len() > 64 || !is_plain {
        let words = "a tool's name is made of letters, digits, `_` and `-`, at most 64 of them";
        return Err(syn::Error::new(name.span(), words));
    }
    Ok(name)
}

impl Parse for ToolAttribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            options.add(word, input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<String, String> {
        let options: ToolAttribute = syn::parse_str(text).map_err(|error| error.to_string())?;
        let name = options.name.as_ref().map(LitStr::value).unwrap_or_default();
        Ok(format!("{} {name}", options.effect()).trim().to_owned())
    }

    #[test]
    fn options_are_read_in_any_order_and_mistakes_are_named() {
        let table = [
            ("", Ok("LocalMutation")),
            ("read_only", Ok("ReadOnly")),
            ("name = \"LookUp\", remote,", Ok("RemoteAction LookUp")),
            (
                "readonly",
                Err("no option of a tool; there are `read_only`"),
            ),
            (
                "read_only, remote",
                Err("`read_only` or `remote`, not both"),
            ),
            ("name = \"look up\"", Err("letters, digits")),
        ];
        for (text, expected) in table {
            match (read(text), expected) {
                (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text}"),
                (Err(words), Err(expected)) => assert!(words.contains(expected), "{text}: {words}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }
}
