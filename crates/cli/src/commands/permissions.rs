//! Pending permission requests and questions: lists and answers them, and edits the saved rules. One file per action.
//!
//! Answers go into the store, so that they count whichever process works on the session, and also
//! if none does at the moment.

mod answer;
mod find;
mod import;
mod list;
mod rules;

use clap::{Args, Subcommand};
use rooftree_protocol::Problem;

use crate::{environment::Environment, exit::Exit};

/// Options of `permissions`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do about permissions.
#[derive(Debug, Subcommand)]
enum Action {
    /// List what agents ask: permissions and questions
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    /// Show all of one question
    Show(list::PermissionShowArguments),
    /// Say yes to a call
    Allow(answer::AllowArguments),
    /// Say no to a call
    Deny(answer::DenyArguments),
    /// Answer what an agent asks
    Answer(answer::AnswerArguments),
    /// List, add and remove rules
    Rules(rules::Arguments),
    /// Take over the rules of another program's settings
    Import(import::Arguments),
}

impl Arguments {
    /// Whether a server can do it too. An import reads files of this machine.
    pub fn can_be_sent(&self) -> bool {
        !matches!(self.action, Action::Import(_))
    }
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Action::List(arguments) => list::execute(arguments, environment).await,
        Action::Show(arguments) => list::show(arguments, environment).await,
        Action::Allow(arguments) => answer::allow(arguments, environment).await,
        Action::Deny(arguments) => answer::deny(arguments, environment).await,
        Action::Answer(arguments) => answer::reply(arguments, environment).await,
        Action::Rules(arguments) => rules::execute(arguments, environment).await,
        Action::Import(arguments) => import::execute(arguments, environment).await,
    }
}
