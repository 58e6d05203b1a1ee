//! Stories: a scripted model, a real runtime, a real store, a virtual clock.

mod cancel;
mod limits;
mod order;
mod parallel;
mod permissions;
mod recovery;
mod retry;
mod sessions;
mod steer;
//mod todos;
