//! Lists and reads the resources and prompts of a server. Nothing is cached: both are requested each time, so that a
//! list is never stale.

use std::time::Duration;

use rmcp::{
    model::{
        GetPromptRequestParams, GetPromptResult, JsonObject, PaginatedRequestParams, Prompt,
        ReadResourceRequestParams, ReadResourceResult, Resource, ResourceTemplate,
    },
    service::ServiceError,
};
use tokio::time::timeout;

use super::{Error, LISTING, MOST_PAGES, McpConnection};
use crate::ToolContext;

/// Resources or prompts of one server that are listed.
const MOST_LISTED: usize = 512;

/// What there is to be read.
#[derive(Default)]
pub(in crate::mcp) struct McpResourceList {
    pub(in crate::mcp) resources: Vec<Resource>,
    pub(in crate::mcp) templates: Vec<ResourceTemplate>,
    /// Whether the server has more than is fetched.
    pub(in crate::mcp) has_more: bool,
}

impl McpConnection {
    /// Whether it says that it has resources.
    pub(in crate::mcp) fn has_resources(&self) -> bool {
        self.service
            .peer_info()
            .is_some_and(|info| info.capabilities.resources.is_some())
    }

    /// What there is to be read. Not every server with resources has templates.
    pub(in crate::mcp) async fn readable(&self) -> Result<McpResourceList, Error> {
        let service = &self.service;
        let resources = |asked| async move {
            let page = service.list_resources(Some(asked)).await?;
            Ok((page.resources, page.next_cursor))
        };
        let templates = |asked| async move {
            let page = service.list_resource_templates(Some(asked)).await?;
            Ok((page.resource_templates, page.next_cursor))
        };
        let (resources, has_more) = self.pages(MOST_LISTED, resources).await?;
        let templates = self.pages(MOST_LISTED, templates).await;
        let (templates, has_more_templates) = match templates {
            Ok(found) => found,
            Err(Error::Refused(_)) => (Vec::new(), false),
            Err(error) => return Err(error),
        };
        Ok(McpResourceList {
            resources,
            templates,
            has_more: has_more || has_more_templates,
        })
    }

    /// Reads one resource.
    pub(in crate::mcp) async fn read(
        &self,
        uri: &str,
        limit: Duration,
        context: &ToolContext,
    ) -> Result<ReadResourceResult, Error> {
        let working = self.shared.underway.begin(context);
        let asked = self
            .service
            .read_resource(ReadResourceRequestParams::new(uri));
        let read = tokio::select! {
            () = context.cancel.cancelled() => return Err(Error::Cancelled),
            () = working.call.patience(limit) => return Err(Error::NoAnswer(limit)),
            read = working.call.clone().scope(asked) => read,
        };
        match read {
            Ok(read) => {
                self.note_service();
                Ok(read)
            }
            Err(error) => Err(self.failure(error).await),
        }
    }

    /// The prompts it has; none if it says that it has none.
    pub(in crate::mcp) async fn prompts(&self) -> Result<Vec<Prompt>, Error> {
        if self
            .service
            .peer_info()
            .is_none_or(|info| info.capabilities.prompts.is_none())
        {
            return Ok(Vec::new());
        }
        let service = &self.service;
        let prompts = |asked| async move {
            let page = service.list_prompts(Some(asked)).await?;
            Ok((page.prompts, page.next_cursor))
        };
        let (prompts, _) = self.pages(MOST_LISTED, prompts).await?;
        Ok(prompts)
    }

    /// One prompt, filled in.
    pub(in crate::mcp) async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
    ) -> Result<GetPromptResult, Error> {
        let asked = GetPromptRequestParams::new(name).with_arguments(arguments);
        match timeout(LISTING, self.service.get_prompt(asked)).await {
            Ok(Ok(prompt)) => Ok(prompt),
            Ok(Err(error)) => Err(self.failure(error).await),
            Err(_) => Err(Error::NoAnswer(LISTING)),
        }
    }

    /// Asks page by page, and not for more than are wanted; says whether there are more.
    pub(super) async fn pages<T, F>(
        &self,
        most: usize,
        ask: impl Fn(PaginatedRequestParams) -> F,
    ) -> Result<(Vec<T>, bool), Error>
    where
        F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let asked = PaginatedRequestParams::default().with_cursor(cursor);
            let (page, next) = match timeout(LISTING, ask(asked)).await {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => return Err(self.failure(error).await),
                Err(_) => return Err(Error::NoAnswer(LISTING)),
            };
            all.extend(page);
            cursor = next;
            if cursor.is_none() || all.len() >= most {
                let has_more = cursor.is_some() || all.len() > most;
                all.truncate(most);
                return Ok((all, has_more));
            }
        }
        Ok((all, true))
    }
}
