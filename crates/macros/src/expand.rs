//! Generates the code of a tool: a function that makes it, with the function it calls inside.

use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

use crate::parse::{ParameterRole, ToolFn, ToolParameter};

/// Every name is a full path: the user's crate may define any name itself.
pub fn expand_tool(tool: &ToolFn) -> TokenStream {
    let ToolFn {
        options,
        description,
        parameters,
        function,
        attributes,
    } = tool;
    let (visibility, ident, effect) = (&function.vis, &function.sig.ident, options.effect());
    let name = options
        .name
        .clone()
        .unwrap_or_else(|| LitStr::new(&plain_name(tool), ident.span()));
    let mut inner = function.clone();
    inner.vis = syn::Visibility::Inherited;
    let fields = parameters
        .iter()
        .filter(|parameter| parameter.role == ParameterRole::Argument)
        .map(field);
    let given = parameters.iter().map(call_argument);
    let state: Vec<&ToolParameter> = parameters
        .iter()
        .filter(|parameter| parameter.role == ParameterRole::State)
        .collect();
    let made_with = state
        .iter()
        .map(|ToolParameter { name, ty, .. }| quote!(#name: #ty));
    let cloned = state
        .iter()
        .map(|ToolParameter { name, .. }| quote!(let #name = ::core::clone::Clone::clone(&#name);));
    quote! {
        #(#attributes)*
        #visibility fn #ident(#(#made_with),*) -> impl ::rooftree::Tool + 'static {
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
                move |arguments: Arguments, context: ::rooftree::ToolContext| {
                    #(#cloned)*
                    async move {
                        #[allow(unused_imports, reason = "which of them is used depends on what the tool returns")]
                        use ::rooftree::__private::{AsJson as _, AsText as _};
                        let _ = (&arguments, &context);
                        match #ident(#(#given),*).await {
                            ::core::result::Result::Ok(value) => {
                                (&::rooftree::__private::ToolReturnValue(&value)).output()
                            }
                            ::core::result::Result::Err(error) => {
                                ::rooftree::__private::failed(&error)
                            }
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

fn field(ToolParameter { name, ty, docs, .. }: &ToolParameter) -> TokenStream {
    quote! { #(#docs)* #name: #ty, }
}

fn call_argument(ToolParameter { name, role, .. }: &ToolParameter) -> TokenStream {
    match role {
        ParameterRole::Argument => quote!(arguments.#name),
        ParameterRole::Context => quote!(context.clone()),
        ParameterRole::State => quote!(#name),
    }
}
