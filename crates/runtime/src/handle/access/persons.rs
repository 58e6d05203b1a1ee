//! Persons: the owner invites, lists and disables them.

use rooftree_protocol::{Account, AuthorizedCaller, ErrorCode, LOCAL_OWNER, Principal, Problem};
use rooftree_store::{AccessTokenRow, AuditEntry, LinkPurpose, PersonRole, PersonRow};

use super::{
    IssuedLink, check_name, invalid,
    links::{INVITATION_LIFE, link},
    require_admin,
};
use crate::{Error, Handle};

/// Characters of a person's id.
const ID_CHARS: usize = 40;

/// A person who was invited, and the link for his first browser.
#[derive(Clone)]
pub struct InvitedPerson {
    /// The person.
    pub person: PersonRow,
    /// The link, which can be read only now.
    pub link: IssuedLink,
}

impl Handle {
    /// Invites a person: he is there from now on, and the link gives his first device a token. Only the owner may.
    pub async fn invite_person(
        &self,
        maker: &AuthorizedCaller,
        name: &str,
    ) -> Result<InvitedPerson, Error> {
        require_admin(maker)?;
        check_name(name)?;
        let (who, at) = (&maker.principal, self.now());
        let account = Account {
            tenant: who.tenant.clone(),
            person: person_id(name)?,
        };
        let person = PersonRow {
            account: account.clone(),
            name: name.trim().to_owned(),
            role: PersonRole::Member,
            invited_at: at,
            disabled_at: None,
        };
        let link = link(account, LinkPurpose::Invitation, at, INVITATION_LIFE)?;
        let audit = AuditEntry::done(who, at, "person.invite", &person.account.person)
            .with("name", person.name.clone());
        let kept = self
            .store
            .put_person(person.clone(), Some(link.row.clone()), Some(audit));
        kept.await.map_err(|error| match error {
            rooftree_store::Error::NameTaken(id) => {
                let message = format!("there is already a person called `{id}`");
                Error::from(invalid(&message).fix("rooftree person list shows who there is"))
            }
            other => other.into(),
        })?;
        Ok(InvitedPerson { person, link })
    }

    /// The persons there are: for the owner all of the tenant, else the person himself.
    pub async fn persons(&self, who: &Principal) -> Result<Vec<PersonRow>, Error> {
        let mut persons = self.store.persons(&who.tenant).await?;
        let sees_all = who.is_unbound_owner();
        persons.retain(|person| sees_all || person.account.person == who.person);
        Ok(persons)
    }

    /// Disables a person: all his tokens and links end at once. Only the owner may, and not himself.
    pub async fn disable_person(
        &self,
        maker: &AuthorizedCaller,
        id: &str,
    ) -> Result<PersonRow, Error> {
        require_admin(maker)?;
        let (who, at) = (&maker.principal, self.now());
        let person = self.enabled_person(who, id).await?;
        if person.role == PersonRole::Owner {
            return Err(invalid("the owner cannot be disabled").into());
        }
        let audit = AuditEntry::done(who, at, "person.disable", id);
        let disabled = self.store.disable_person(&person.account, at, Some(audit));
        if !disabled.await? {
            return Err(unknown(id).into());
        }
        Ok(PersonRow {
            disabled_at: Some(at),
            ..person
        })
    }

    /// The person of a principal, and the token he presented.
    pub async fn identity(
        &self,
        who: &Principal,
    ) -> Result<(Option<PersonRow>, Option<AccessTokenRow>), Error> {
        let persons = self.store.persons(&who.tenant).await?;
        let person = persons
            .into_iter()
            .find(|person| person.account.person == who.person);
        let Some(id) = &who.token else {
            return Ok((person, None));
        };
        let tokens = self.store.access_tokens(&who.tenant).await?;
        Ok((person, tokens.into_iter().find(|token| token.id == *id)))
    }

    /// Whether the token that a principal presented is still good, and the person is not disabled: for connections that
    /// stay open.
    pub async fn is_still_authorised(&self, who: &Principal) -> Result<bool, Error> {
        let (person, token) = self.identity(who).await?;
        let now = self.now();
        let is_enabled = person.is_none_or(|person| person.disabled_at.is_none());
        let is_valid = who.token.is_none() || token.is_some_and(|token| token.is_valid_at(now));
        Ok(is_enabled && is_valid)
    }

    /// A person who is there and not disabled.
    pub(in crate::handle) async fn enabled_person(
        &self,
        who: &Principal,
        id: &str,
    ) -> Result<PersonRow, Error> {
        let persons = self.store.persons(&who.tenant).await?;
        let found = persons
            .into_iter()
            .find(|person| person.account.person == id);
        match found {
            Some(person) if person.disabled_at.is_none() => Ok(person),
            Some(_) => Err(invalid(&format!("the person `{id}` is disabled")).into()),
            None => Err(unknown(id).into()),
        }
    }
}

fn unknown(id: &str) -> Problem {
    Problem::new(
        ErrorCode::TaskNotFound,
        format!("there is no person `{id}`"),
    )
    .fix("rooftree person list shows who there is")
}

/// The id that follows from a name: small letters, digits and dashes.
fn person_id(name: &str) -> Result<String, Problem> {
    let mut id = String::new();
    for letter in name.trim().to_lowercase().chars() {
        match letter {
            'a'..='z' | '0'..='9' | '.' | '_' => id.push(letter),
            _ if id.ends_with('-') || id.is_empty() => {}
            _ => id.push('-'),
        }
    }
    let id: String = id.trim_end_matches('-').chars().take(ID_CHARS).collect();
    if !id.contains(|letter: char| letter.is_ascii_alphanumeric()) {
        let problem = invalid("the name has no letter or digit that an id can be made of");
        return Err(problem.fix("use a name with letters from a to z"));
    }
    if id == LOCAL_OWNER {
        return Err(invalid("`owner` is the owner of this installation"));
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_persons_are_plain_and_never_the_owner() {
        let table = [
            ("Ann", Some("ann")),
            (" Ann Müller ", Some("ann-m-ller")),
            ("a/../b", Some("a-..-b")),
            ("Owner", None),
            ("日本", None),
            ("--", None),
        ];
        for (name, wanted) in table {
            assert_eq!(person_id(name).ok().as_deref(), wanted, "{name}");
        }
    }
}
