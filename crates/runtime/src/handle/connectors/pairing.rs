//! Pairing: one-time codes that link a sender of a chat platform to a person.
//!
//! A code goes either way: the owner makes one and the person sends it to the bot, or an unknown sender is told one and
//! the owner confirms it. Only digests of codes are stored.

use std::time::Duration;

use rooftree_protocol::{ErrorCode, LOCAL_OWNER, Principal, Problem, Timestamp};
use rooftree_store::{
    AuditEntry, ChatIdentity, PairingBounds, PairingOffer, PairingRow, PairingUse, TokenHash,
};

use super::{Handle, identity_details, require_connector, require_owner, subject};
use crate::Error;

/// Characters of a code.
pub const PAIRING_CODE_CHARS: usize = 8;
/// What codes are made of: no letter or digit that looks like another one.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// How long a code is good; also how often an unknown sender is told one.
const LIFE: Duration = Duration::from_secs(60 * 60);
const BOUNDS: PairingBounds = PairingBounds {
    pending: 3,
    tries: 10,
};

/// The platform whose requests are signed, so that it needs no pairing.
pub(super) const WEBHOOK: &str = "webhook";

/// A pairing code to be made.
#[derive(Clone, Debug)]
pub struct NewPairing {
    /// The connector.
    pub connector: String,
    /// The person that the sender becomes; the owner if absent.
    pub person: Option<String>,
    /// Whether he may answer permission requests.
    pub may_approve: bool,
}

/// A pairing code: the only time it can be read.
#[derive(Clone, PartialEq, Eq)]
pub struct IssuedPairing {
    /// The code.
    pub code: String,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

impl Handle {
    /// Makes a code that the person sends to the bot. Only the owner may.
    pub async fn create_pairing(
        &self,
        who: &Principal,
        new: NewPairing,
    ) -> Result<IssuedPairing, Error> {
        let connector = self.pairing_connector(who, &new.connector).await?;
        let person = self.paired_person(who, new.person).await?;
        let (row, issued) = self.pairing_row(who, connector)?;
        let row = PairingRow {
            person: Some(person.clone()),
            may_approve: new.may_approve,
            ..row
        };
        let audit = AuditEntry::done(who, row.created_at, "connector.code", &row.connector)
            .with("person", person)
            .with("may_approve", new.may_approve);
        let offer = self.store.offer_pairing(row, BOUNDS, Some(audit)).await?;
        self.chats.note_change();
        match offer {
            PairingOffer::Kept => Ok(issued),
            PairingOffer::Waiting | PairingOffer::Full => {
                let message = format!("{} codes wait to be sent to the bot", BOUNDS.pending);
                Err(Problem::new(ErrorCode::InvalidArguments, message)
                    .fix("use one of them, or wait until they end by themselves after an hour")
                    .into())
            }
        }
    }

    /// A code for an unknown sender, which the owner confirms; none if he was told one within the hour, or too many
    /// wait. For connectors.
    pub async fn ask_pairing(
        &self,
        who: &Principal,
        connector: &str,
        (sender, name): (&str, &str),
    ) -> Result<Option<IssuedPairing>, Error> {
        require_connector(who)?;
        let (row, issued) = self.pairing_row(who, connector.to_owned())?;
        let row = PairingRow {
            sender: Some(sender.to_owned()),
            name: name.to_owned(),
            ..row
        };
        let offer = self.store.offer_pairing(row, BOUNDS, None).await?;
        self.chats.note_change();
        Ok((offer == PairingOffer::Kept).then_some(issued))
    }

    /// Pairs the unknown sender who was told this code. Only the owner may.
    pub async fn confirm_pairing(
        &self,
        who: &Principal,
        new: NewPairing,
        code: &str,
    ) -> Result<ChatIdentity, Error> {
        let connector = self.pairing_connector(who, &new.connector).await?;
        let person = self.paired_person(who, new.person).await?;
        let digest = digest(&connector, code);
        let waiting = self.pairings(who, &connector).await?;
        let told = waiting
            .into_iter()
            .find(|row| row.digest == digest)
            .and_then(|row| Some((row.sender?, row.name)));
        let (sender, name) = told.ok_or_else(wrong_code)?;
        let identity = ChatIdentity {
            tenant: who.tenant.clone(),
            connector,
            sender,
            name,
            person,
            may_send: true,
            may_approve: new.may_approve,
            paired_at: self.now(),
        };
        let given_to = Some(identity.sender.clone());
        if self.pair(who, (digest, given_to), &identity).await? {
            return Ok(identity);
        }
        Err(wrong_code().into())
    }

    /// Pairs a sender who sent a code that the owner made; none if it is not one. For connectors.
    pub async fn redeem_pairing(
        &self,
        who: &Principal,
        connector: &str,
        (sender, name): (&str, &str),
        code: &str,
    ) -> Result<Option<ChatIdentity>, Error> {
        require_connector(who)?;
        let digest = digest(connector, code);
        let waiting = self.store.pairings(&who.tenant, connector, self.now());
        let made = waiting
            .await?
            .into_iter()
            .find(|row| row.digest == digest && row.sender.is_none() && row.person.is_some());
        let identity = ChatIdentity {
            tenant: who.tenant.clone(),
            connector: connector.to_owned(),
            sender: sender.to_owned(),
            name: name.to_owned(),
            may_send: true,
            may_approve: made.as_ref().is_some_and(|made| made.may_approve),
            // A wrong code is counted; it pairs no sender.
            person: made.and_then(|made| made.person).unwrap_or_default(),
            paired_at: self.now(),
        };
        let is_paired = self.pair(who, (digest, None), &identity).await?;
        Ok(is_paired.then_some(identity))
    }

    /// Codes of a connector that wait. Only for the owner.
    pub async fn pairings(
        &self,
        who: &Principal,
        connector: &str,
    ) -> Result<Vec<PairingRow>, Error> {
        require_owner(who)?;
        let found = self.store.pairings(&who.tenant, connector, self.now());
        Ok(found.await?)
    }

    /// The name of a connector that people can be paired with.
    async fn pairing_connector(&self, who: &Principal, name: &str) -> Result<String, Error> {
        let row = self.connector(who, name).await?;
        if row.fields.platform != WEBHOOK {
            return Ok(row.name);
        }
        let message = format!("nobody is paired with `{}`: it is a webhook", row.name);
        Err(Problem::new(ErrorCode::InvalidArguments, message)
            .cause("a webhook has no senders; whoever signs a request with its secret is heard")
            .fix(format!(
                "rooftree connectors secret {} changes who that is",
                row.name
            ))
            .into())
    }

    async fn pair(
        &self,
        who: &Principal,
        (digest, given_to): (TokenHash, Option<String>),
        identity: &ChatIdentity,
    ) -> Result<bool, Error> {
        let audit = AuditEntry::done(who, self.now(), "connector.pair", subject(identity));
        let used = PairingUse {
            digest,
            given_to,
            identity: identity.clone(),
            audit: Some(identity_details(audit, identity)),
        };
        let is_used = self.store.use_pairing(used, BOUNDS).await?;
        self.chats.note_change();
        Ok(is_used)
    }

    async fn paired_person(
        &self,
        who: &Principal,
        person: Option<String>,
    ) -> Result<String, Error> {
        let person = person.unwrap_or_else(|| LOCAL_OWNER.into());
        if person != LOCAL_OWNER {
            self.enabled_person(who, &person).await?;
        }
        Ok(person)
    }

    fn pairing_row(
        &self,
        who: &Principal,
        connector: String,
    ) -> Result<(PairingRow, IssuedPairing), Error> {
        let (code, now) = (random_code()?, self.now());
        let row = PairingRow {
            tenant: who.tenant.clone(),
            digest: digest(&connector, &code),
            connector,
            sender: None,
            name: String::new(),
            person: None,
            may_approve: false,
            created_at: now,
            expires_at: now.after(LIFE),
            tries: 0,
        };
        let expires_at = row.expires_at;
        Ok((row, IssuedPairing { code, expires_at }))
    }
}

/// The digest of a code, however it is typed: in small letters, with spaces or a dash.
fn digest(connector: &str, code: &str) -> TokenHash {
    let code: String = code
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric())
        .map(|letter| letter.to_ascii_uppercase())
        .collect();
    TokenHash::of_pieces(&[b"pairing", connector.as_bytes(), code.as_bytes()])
}

fn random_code() -> Result<String, Problem> {
    let mut bytes = [0_u8; PAIRING_CODE_CHARS];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(ErrorCode::Internal, "this machine gives no random bytes")
            .cause(error.to_string())
    })?;
    let letters = bytes.iter().filter_map(|byte| {
        let letter = ALPHABET.get(usize::from(*byte) % ALPHABET.len())?;
        Some(char::from(*letter))
    });
    Ok(letters.collect())
}

fn wrong_code() -> Problem {
    let message = "no sender waits with this code";
    Problem::new(ErrorCode::InvalidArguments, message)
        .cause("it is wrong, was used, or ended after an hour")
        .fix("let the person write to the bot again, or make a code: rooftree connectors pair NAME")
}
