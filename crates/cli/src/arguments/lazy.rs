//! Lazy clap arguments: built only when their command is used, because there are hundreds of them.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, builder::Resettable};

use super::examples::with_examples;

/// The arguments of a command, read like `T` itself.
#[derive(Debug)]
pub struct LazyArguments<T>(pub T);

impl<T: FromArgMatches> FromArgMatches for LazyArguments<T> {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(found).map(Self)
    }

    fn from_arg_matches_mut(found: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(found).map(Self)
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(found)
    }
}

impl<T: Args> Args for LazyArguments<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(keeping_its_words::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Keeps the help text of the command's variant instead of that of `T`, and adds examples.
fn keeping_its_words<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long = command.get_long_about().cloned();
    let command = T::augment_args(command)
        .about(Resettable::from(about))
        .long_about(Resettable::from(long));
    with_examples(command)
}
