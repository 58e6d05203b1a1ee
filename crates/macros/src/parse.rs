//! Parses a function: the tool's description and parameters, and errors for what cannot be a tool.

use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, PatType, Result,
    ReturnType, Type, spanned::Spanned,
};

use crate::attribute::ToolAttribute;

/// A function that can be a tool.
pub struct ToolFn {
    pub options: ToolAttribute,
    /// The description for the model.
    pub description: String,
    pub parameters: Vec<ToolParameter>,
    /// The function itself, without the attributes that are only for the model.
    pub function: ItemFn,
    /// Attributes that belong to the generated function.
    pub attributes: Vec<Attribute>,
}

/// One parameter of it.
pub struct ToolParameter {
    pub name: Ident,
    pub ty: Type,
    pub docs: Vec<Attribute>,
    pub role: ParameterRole,
}

/// The source of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRole {
    /// An argument from the model.
    Argument,
    /// The context from the runtime.
    Context,
    /// A value that the program gives when it makes the tool.
    State,
}

/// Parses the function; errors point at the offending place.
pub fn parse_tool(options: ToolAttribute, mut function: ItemFn) -> Result<ToolFn> {
    check_signature(&function)?;
    let attributes = std::mem::take(&mut function.attrs);
    let description = text_of(&attributes);
    if description.is_empty() {
        let words = "a tool needs a doc comment: it is all the model knows about it";
        return Err(Error::new(function.sig.ident.span(), words));
    }
    let parameters = function
        .sig
        .inputs
        .iter_mut()
        .map(parameter)
        .collect::<Result<_>>()?;
    Ok(ToolFn {
        options,
        description,
        parameters,
        function,
        attributes,
    })
}

fn check_signature(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        return Err(Error::new(
            signature.fn_token.span(),
            "a tool is an `async fn`",
        ));
    }
    if !signature.generics.params.is_empty() {
        let words = "a tool cannot be generic: the model is told one schema";
        return Err(Error::new(signature.generics.span(), words));
    }
    let returns = match &signature.output {
        ReturnType::Type(_, ty) if last_name(ty).is_some_and(|name| name == "Result") => {
            return Ok(());
        }
        ReturnType::Type(_, ty) => ty.span(),
        ReturnType::Default => signature.ident.span(),
    };
    Err(Error::new(
        returns,
        "a tool returns a `Result`: what the model reads, or what went wrong",
    ))
}

fn parameter(argument: &mut FnArg) -> Result<ToolParameter> {
    let FnArg::Typed(PatType { attrs, pat, ty, .. }) = argument else {
        return Err(Error::new(
            argument.span(),
            "a tool is a function of its own, not a method",
        ));
    };
    let Pat::Ident(name) = &**pat else {
        return Err(Error::new(
            pat.span(),
            "a tool's parameter needs a name: the model calls it by that",
        ));
    };
    if let Type::Reference(_) = **ty {
        let words =
            "a tool owns what it is given: take `String` or `Vec<T>` instead of a reference";
        return Err(Error::new(ty.span(), words));
    }
    let is_context = last_name(ty).is_some_and(|name| name == "ToolContext");
    let (docs, mut others): (Vec<Attribute>, Vec<Attribute>) = std::mem::take(attrs)
        .into_iter()
        .partition(|attribute| attribute.path().is_ident("doc"));
    let count = others.len();
    others.retain(|attribute| !attribute.path().is_ident("state"));
    let role = match (is_context, others.len() < count) {
        (true, _) => ParameterRole::Context,
        (false, true) => ParameterRole::State,
        (false, false) => ParameterRole::Argument,
    };
    *attrs = others;
    Ok(ToolParameter {
        name: name.ident.clone(),
        ty: (**ty).clone(),
        docs,
        role,
    })
}

fn last_name(ty: &Type) -> Option<&Ident> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().map(|segment| &segment.ident)
}

/// A doc comment as the model reads it: without the space behind `///`.
fn text_of(attributes: &[Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        });
    let lines: Vec<String> = lines
        .map(|line| {
            line.strip_prefix(' ')
                .unwrap_or(&line)
                .trim_end()
                .to_owned()
        })
        .collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let function: ItemFn = syn::parse_str(text).unwrap();
        parse_tool(ToolAttribute::default(), function)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_a_tool_is_told_in_words() {
        let table = [
            (
                "/// Adds.\nfn add(a: u64) -> Result<u64, String> { Ok(a) }",
                "a tool is an `async fn`",
            ),
            (
                "async fn add(a: u64) -> Result<u64, String> { Ok(a) }",
                "needs a doc comment",
            ),
            (
                "/// Adds.\nasync fn add(a: u64) -> u64 { a }",
                "returns a `Result`",
            ),
            ("/// Adds.\nasync fn add(a: u64) {}", "returns a `Result`"),
            (
                "/// Adds.\nasync fn add<T>(a: T) -> Result<T, String> { Ok(a) }",
                "cannot be generic",
            ),
            (
                "/// Adds.\nasync fn add(a: &str) -> Result<u64, String> { Ok(1) }",
                "take `String`",
            ),
            (
                "/// Adds.\nasync fn add((a, b): (u8, u8)) -> Result<u8, String> { Ok(a) }",
                "needs a name",
            ),
            (
                "/// Adds.\nasync fn add(&self) -> Result<u8, String> { Ok(1) }",
                "not a method",
            ),
        ];
        for (text, expected) in table {
            let words = refusal(text);
            assert!(words.contains(expected), "{text}: {words}");
        }
    }

    #[test]
    fn state_is_no_argument_and_its_mark_leaves_the_function() {
        let text = "/// Looks up.\nasync fn look(#[state] db: Arc<Db>, id: u64) -> Result<u64, String> { Ok(id) }";
        let tool = parse_tool(ToolAttribute::default(), syn::parse_str(text).unwrap()).unwrap();
        let roles: Vec<ParameterRole> = tool
            .parameters
            .iter()
            .map(|parameter| parameter.role)
            .collect();
        assert_eq!(roles, [ParameterRole::State, ParameterRole::Argument]);
        let is_left =
            |argument: &FnArg| matches!(argument, FnArg::Typed(typed) if !typed.attrs.is_empty());
        assert!(!tool.function.sig.inputs.iter().any(is_left));
    }

    #[test]
    fn doc_comments_become_descriptions_and_leave_the_function() {
        let text = "/// Looks up.\n///\n/// Only numbers.\n#[cfg(unix)]\nasync fn look(/** Which one */ id: u64, context: \
                    rooftree::ToolContext) -> io::Result<String> { Ok(String::new()) }";
        let tool = parse_tool(ToolAttribute::default(), syn::parse_str(text).unwrap()).unwrap();
        assert_eq!(tool.description, "Looks up.\n\nOnly numbers.");
        let roles: Vec<ParameterRole> = tool
            .parameters
            .iter()
            .map(|parameter| parameter.role)
            .collect();
        assert_eq!(roles, [ParameterRole::Argument, ParameterRole::Context]);
        assert_eq!(
            tool.parameters
                .first()
                .map(|parameter| parameter.docs.len()),
            Some(1)
        );
        assert_eq!(
            tool.attributes.len(),
            4,
            "cfg and docs go to what replaces the function"
        );
    }
}
