//! HTML of replies for streams that ask for it: of whole ones, and of the blocks that a running one has closed.
//!
//! Each byte of a running reply is parsed once, when its block is closed.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use rooftree_markdown::HtmlStream;
use rooftree_protocol::{Event, EventBody, MessageId, RunId, SessionId};
use rooftree_view::{DraftText, ReplyBlock, ReplyHtml, StreamFrame};

use crate::api::html_cache::HtmlCache;

/// Makes the frames with HTML that follow other frames of one stream.
pub(super) struct ReplyRenderer {
    cache: Arc<HtmlCache>,
    running: HashMap<SessionId, RunningReply>,
}

/// What a model has written of a reply.
struct RunningReply {
    message: MessageId,
    run: Option<RunId>,
    text: HtmlStream,
    index: u32,
}

impl ReplyRenderer {
    pub(super) fn new(cache: Arc<HtmlCache>) -> Self {
        Self {
            cache,
            running: HashMap::new(),
        }
    }

    /// The frames that follow this one.
    pub(super) fn after(&mut self, frame: &StreamFrame) -> VecDeque<StreamFrame> {
        let made = match frame {
            StreamFrame::Event(event) => self.after_event(event),
            StreamFrame::Snapshot(snapshot) => {
                self.running.remove(&snapshot.session);
                let drafts = snapshot.messages.iter();
                let made = drafts.map(|draft| self.draft(&snapshot.session, draft));
                return made.flatten().collect();
            }
            StreamFrame::Removed(removed) => {
                self.running.remove(&removed.session);
                None
            }
            _ => None,
        };
        made.into_iter().collect()
    }

    fn after_event(&mut self, event: &Event) -> Option<StreamFrame> {
        match &event.body {
            EventBody::MessageDelta {
                text,
                place: Some(place),
            } => self.write(&event.session, &place.message, event.run.as_ref(), text),
            EventBody::MessageCompleted(reply) => {
                self.running.remove(&event.session);
                let is_shown = !reply.text.is_empty();
                let event_id = event.id.filter(|_| is_shown)?;
                Some(StreamFrame::Html(Box::new(ReplyHtml {
                    session: event.session.clone(),
                    event: event_id,
                    html: self.cache.html(&reply.text).as_ref().to_owned(),
                })))
            }
            _ => None,
        }
    }

    fn draft(&mut self, session: &SessionId, draft: &DraftText) -> Option<StreamFrame> {
        self.write(session, &draft.id, draft.run.as_ref(), &draft.text)
    }

    /// Takes a piece of a reply; returns a frame if it closes a block.
    fn write(
        &mut self,
        session: &SessionId,
        message: &MessageId,
        run: Option<&RunId>,
        piece: &str,
    ) -> Option<StreamFrame> {
        let known = self.running.remove(session);
        let known = known.filter(|known| known.message == *message);
        let mut reply = known.unwrap_or_else(|| RunningReply {
            message: message.clone(),
            run: run.cloned(),
            text: HtmlStream::default(),
            index: 0,
        });
        let html = reply.text.push(piece);
        let frame = (!html.is_empty()).then(|| {
            StreamFrame::Block(Box::new(ReplyBlock {
                session: session.clone(),
                run: reply.run.clone(),
                message: reply.message.clone(),
                index: reply.index,
                html,
                open: reply.text.open_text(),
            }))
        });
        reply.index += u32::from(frame.is_some());
        self.running.insert(session.clone(), reply);
        frame
    }
}
