//! Tool state: a tool with a shared value that the model never sees, such as a connection or a cache.

use std::sync::{Arc, Mutex};

use rooftree::{
    query,
    testing::{ScriptedModel, call, say},
    tool,
};
use serde_json::json;

/// What the program shares with its tool.
#[derive(Clone, Default)]
struct Basket(Arc<Mutex<Vec<String>>>);

/// Puts something into the basket.
#[tool(read_only)]
async fn put(
    #[state] basket: Basket,
    /** What to put in */
    item: String,
) -> Result<String, String> {
    let mut items = basket.0.lock().map_err(|error| error.to_string())?;
    items.push(item);
    Ok(format!("{} in the basket", items.len()))
}

#[tokio::main]
async fn main() -> rooftree::Result<()> {
    let model = ScriptedModel::from_replies([
        say("").calls([call("put", json!({"item": "apples"}))]),
        say("").calls([call("put", json!({"item": "pears"}))]),
        say("{{ results[0].text }}."),
    ])?;
    let basket = Basket::default();
    let answer = query("Buy apples and pears")
        .provider("scripted", model)
        .tool(put(basket.clone()))
        .await?;
    println!("{answer}");
    let items = basket.0.lock().map(|items| items.join(", "));
    println!("the program sees: {}", items.unwrap_or_default());
    Ok(())
}
