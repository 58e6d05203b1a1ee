//! What stories need: a whole runtime in a temporary directory, a scripted model, a clock one can turn.
//!
//! ```ignore
//! let house = House::with(script().reply("Hello.")).await;
//! let session = house.post("hi").await;
//! house.finished(&session).await;
//! assert_eq!(house.story(&session).await, "user     hi\nmodel    Hello.\nended    completed, 1 turn");
//! ```

pub mod clock;
pub mod house;
pub mod story;

pub use clock::VirtualClock;
pub use house::House;
