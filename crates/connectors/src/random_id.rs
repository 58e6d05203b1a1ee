//! Random ids of deliveries that have no key of their own.

use ring::rand::{SecureRandom as _, SystemRandom};

use crate::{FailureClass, SendError};

/// 32 hexadecimal digits.
pub(crate) fn random_id() -> Result<String, SendError> {
    let mut random = [0_u8; 16];
    let filled = SystemRandom::new().fill(&mut random);
    filled.map_err(|_| SendError::new(FailureClass::Transient, "there are no random numbers"))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
