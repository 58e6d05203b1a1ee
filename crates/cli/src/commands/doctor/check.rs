//! One check of the doctor: its group, verdict, message and fix.

use std::borrow::Cow;

use serde::Serialize;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DoctorVerdict {
    /// As it should be.
    Good,
    /// Not there, and nothing needs it.
    Absent,
    /// Works, but the user should look at it.
    Warning,
    /// Something will not work.
    Failure,
}

/// What it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DoctorGroup {
    Environment,
    Storage,
    Models,
    Providers,
    Agents,
    Sessions,
}

/// A line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    pub group: DoctorGroup,
    pub name: Cow<'static, str>,
    pub verdict: DoctorVerdict,
    pub words: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl DoctorGroup {
    /// Everything is as it should be.
    pub fn good(self, name: impl Into<Cow<'static, str>>, words: impl Into<String>) -> DoctorCheck {
        DoctorCheck {
            group: self,
            name: name.into(),
            verdict: DoctorVerdict::Good,
            words: words.into(),
            fix: None,
        }
    }

    /// It is not there, and that is fine.
    pub fn absent(
        self,
        name: impl Into<Cow<'static, str>>,
        words: impl Into<String>,
    ) -> DoctorCheck {
        DoctorCheck {
            verdict: DoctorVerdict::Absent,
            ..self.good(name, words)
        }
    }

    /// A warning: it works, but the user should look at it.
    pub fn warning(
        self,
        name: impl Into<Cow<'static, str>>,
        words: impl Into<String>,
    ) -> DoctorCheck {
        DoctorCheck {
            verdict: DoctorVerdict::Warning,
            ..self.good(name, words)
        }
    }

    /// Something will not work.
    pub fn failure(
        self,
        name: impl Into<Cow<'static, str>>,
        words: impl Into<String>,
    ) -> DoctorCheck {
        DoctorCheck {
            verdict: DoctorVerdict::Failure,
            ..self.good(name, words)
        }
    }
}

impl DoctorCheck {
    /// Adds what to do about it.
    pub fn fix(self, fix: impl Into<String>) -> Self {
        Self {
            fix: Some(fix.into()),
            ..self
        }
    }
}
