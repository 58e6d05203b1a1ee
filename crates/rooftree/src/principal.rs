//! The principal of a program that embeds the library: the local owner of the tenant `default`.

use rooftree_protocol::{Principal, Surface};

/// Who sends the commands of this program and reads for it.
pub(crate) fn owner() -> Principal {
    Principal::local_owner(Surface::Library)
}
