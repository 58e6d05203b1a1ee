//! Elicitation: questions of servers to the user, asked through the call in flight and answered in the server's schema.
//!
//! The question is durable, because it is asked in the same way as by a tool. An invalid answer is asked for again,
//! with the validation error; no answer counts as declined.

mod field;
mod page;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rooftree_protocol::{Question, QuestionReply};
use serde_json::{Map, Value};

use self::{field::ElicitationField, page::ElicitationPage};
use super::{
    in_flight::InFlightCall,
    sanitize::{COMPLAINT, sanitize_text},
};

/// Maximum number of fields; a longer form is not shown.
const MOST_FIELDS: usize = 12;
/// How often a question with invalid answers is asked.
const ATTEMPTS: usize = 3;
/// Name of a question that asks only for consent.
const CONSENT: &str = "answer";

/// What a server wants to know.
pub(super) struct ElicitationForm {
    message: String,
    fields: Vec<ElicitationField>,
    /// Whether it is about a page that people are to visit.
    page: Option<ElicitationPage>,
}

impl ElicitationForm {
    /// None if it is nothing that people are asked here.
    pub(super) fn of(server: &str, request: ElicitRequestParams) -> Option<Self> {
        match request {
            ElicitRequestParams::FormElicitationParams {
                message,
                requested_schema,
                ..
            } => {
                let message = format!(
                    "The MCP server `{server}` asks: {}",
                    sanitize_text(&message, COMPLAINT)
                );
                Some(Self {
                    message,
                    fields: fields(requested_schema)?,
                    page: None,
                })
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let page = ElicitationPage::of(&url)?;
                let message = page.words(server, &sanitize_text(&message, COMPLAINT));
                Some(Self {
                    message,
                    fields: Vec::new(),
                    page: Some(page),
                })
            }
            _ => None,
        }
    }

    /// Asks the user of the call.
    pub(super) async fn put(&self, call: &InFlightCall) -> ElicitResult {
        let mut complaint = String::new();
        for _ in 0..ATTEMPTS {
            let QuestionReply::Answered { answers } = call.ask(self.questions(&complaint)).await
            else {
                return ElicitResult::new(ElicitationAction::Decline);
            };
            if let Some(page) = &self.page {
                return ElicitResult::new(page.said(&answers));
            }
            if self.fields.is_empty() {
                let is_yes = answers
                    .get(CONSENT)
                    .is_some_and(|given| given.iter().any(|word| word == "yes"));
                return if is_yes {
                    accepted(Map::new())
                } else {
                    ElicitResult::new(ElicitationAction::Decline)
                };
            }
            let read = self.fields.iter().filter_map(|field| {
                let given = answers
                    .get(&field.asked_as)
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                let value = field.read(given).transpose()?;
                Some(value.map(|value| (field.name.clone(), value)))
            });
            match read.collect::<Result<Map<String, Value>, String>>() {
                Ok(content) => return accepted(content),
                Err(why) => complaint = format!("That does not fit: {why}. "),
            }
        }
        ElicitResult::new(ElicitationAction::Cancel)
    }

    pub(super) fn questions(&self, complaint: &str) -> Vec<Question> {
        let message = format!("{complaint}{}", self.message);
        if let Some(page) = &self.page {
            return vec![page.question(message)];
        }
        if self.fields.is_empty() {
            return vec![field::consent(CONSENT, message)];
        }
        let text = |(at, field): (usize, &ElicitationField)| {
            let text = match (at, field.detail.is_empty()) {
                (0, true) => message.clone(),
                (0, false) => format!("{message}\n{}", field.detail),
                _ => field.detail.clone(),
            };
            field.question(text)
        };
        self.fields.iter().enumerate().map(text).collect()
    }
}

fn accepted(content: Map<String, Value>) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
}

/// The fields of a schema, in the server's order; none if it is not supported.
fn fields(schema: ElicitationSchema) -> Option<Vec<ElicitationField>> {
    let order = schema.property_order.clone();
    let order = order.unwrap_or_else(|| schema.properties.keys().cloned().collect());
    if order.len() > MOST_FIELDS {
        return None;
    }
    let required = schema.required.clone().unwrap_or_default();
    let is_single = order.len() == 1;
    let mut fields: Vec<ElicitationField> = Vec::new();
    for name in order {
        let property = serde_json::to_value(schema.properties.get(&name)?).ok()?;
        let mut field = ElicitationField::of(&name, &property, required.contains(&name))?;
        if !is_single && field.detail.is_empty() {
            field.detail = field.asked_as.clone();
        }
        if fields.iter().any(|other| other.asked_as == field.asked_as) {
            field.asked_as = format!("{} {}", field.asked_as, fields.len() + 1);
        }
        fields.push(field);
    }
    Some(fields)
}
