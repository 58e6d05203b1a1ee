//! Puts a tool together: a function that makes it, with the function it calls inside.

use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

use crate::read::{Parameter, Role, ToolFn};

/// Everything is named by its whole path: the user's crate may call anything anything.
pub fn write(tool: &ToolFn) -> TokenStream {
    let ToolFn { options, description, parameters, function, attributes } = tool;
    let (visibility, ident, effect) = (&function.vis, &function.sig.ident, options.effect());
    let name = options.name.clone().unwrap_or_else(|| LitStr::new(&plain_name(tool), ident.span()));
    let mut inner = function.clone();
    inner.vis = syn::Visibility::Inherited;
    let fields = parameters.iter().filter(|parameter| parameter.role == Role::Argument).map(field);
    let given = parameters.iter().map(given);
    quote! {
        #(#attributes)*
        #visibility fn #ident() -> impl ::rooftree::Tool + 'static {
            #inner

            #[derive(::rooftree::__private::serde::Deserialize, ::rooftree::__private::schemars::JsonSchema)]
            #[serde(crate = "::rooftree::__private::serde", deny_unknown_fields)]
            #[schemars(crate = "::rooftree::__private::schemars")]
            struct Arguments {
                #(#fields)*
            }

            ::rooftree::__private::FunctionTool::new(
                #name,
                #description,
                ::rooftree::Effect::#effect,
                |arguments: Arguments, context: ::rooftree::ToolContext| async move {
                    #[allow(unused_imports, reason = "which of them is used depends on what the tool returns")]
                    use ::rooftree::__private::{AsJson as _, AsText as _};
                    let _ = (&arguments, &context);
                    match #ident(#(#given),*).await {
                        ::core::result::Result::Ok(value) => {
                            (&::rooftree::__private::Spoken(&value)).output()
                        }
                        ::core::result::Result::Err(error) => {
                            ::rooftree::__private::failed(&error)
                        }
                    }
                },
            )
        }
    }
}

fn plain_name(tool: &ToolFn) -> String {
    let name = tool.function.sig.ident.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}

fn field(Parameter { name, ty, docs, .. }: &Parameter) -> TokenStream {
    quote! { #(#docs)* #name: #ty, }
}

fn given(Parameter { name, role, .. }: &Parameter) -> TokenStream {
    match role {
        Role::Argument => quote!(arguments.#name),
        Role::Context => quote!(context.clone()),
    }
}
