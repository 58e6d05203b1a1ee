//! Loads the project context of agents: rules, skills, instructions, verifiers.

use std::{collections::BTreeMap, path::PathBuf};

use rooftree_protocol::{AgentDefinition, Verifier};

use super::{
    Definitions,
    instructions::{self, Instructions},
    prompt_commands::{self, PromptCommand},
    rules::{self, RuleFile},
    search_dirs::{ProjectTrust, SearchDirs},
    skills::{self, Skill},
    verifiers,
};

/// All of it, as it was when it was read. Plain data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectContext {
    /// Rules, the most general first.
    pub rules: Vec<RuleFile>,
    /// Skills, by name.
    pub skills: Vec<Skill>,
    /// Commands that people type, by name.
    pub commands: Vec<PromptCommand>,
    /// What AGENTS.md and the like say.
    pub instructions: Instructions,
    /// What can check work, by name.
    pub verifiers: BTreeMap<String, Verifier>,
    /// What people should know about all this.
    pub remarks: Vec<String>,
    /// What of that was not so when the program started.
    pub news: Vec<String>,
}

impl ProjectContext {
    /// Reads what there is; at most so many bytes of instructions.
    pub fn read(places: &SearchDirs, instruction_bytes: usize) -> Self {
        let (skills, mut remarks) = skills::read(places);
        let (verifiers, more) = verifiers::read(places);
        remarks.extend(more);
        let (commands, more) = prompt_commands::read(places);
        remarks.extend(more);
        let instructions = instructions::read(places, instruction_bytes);
        let refused = instructions.refused.iter();
        remarks.extend(refused.map(|path| {
            format!(
                "{} is no part of the instructions: a link leads out of the project",
                path.display()
            )
        }));
        let cut = instructions.cut.as_ref();
        remarks.extend(cut.map(|cut| {
            format!("instructions are longer than {instruction_bytes} bytes; left out: {cut}")
        }));
        Self {
            rules: rules::read(places),
            skills,
            commands,
            instructions,
            verifiers,
            remarks,
            news: Vec::new(),
        }
    }

    /// Files of a project that are ignored because the project is not trusted.
    pub fn untrusted(places: &SearchDirs) -> Vec<PathBuf> {
        if places.trust == ProjectTrust::Given {
            return Vec::new();
        }
        let mut found = instructions::present(places);
        for name in ["rules", "skills"] {
            let project = places
                .called(name)
                .into_iter()
                .filter(|(_, level)| !places.may_use(*level));
            found.extend(project.map(|(path, _)| path));
        }
        found.extend(prompt_commands::of_project(places));
        let names = [".emdash/verifiers.json", ".rooftree/verifiers.json"];
        let verifiers = places
            .project
            .iter()
            .flat_map(|place| names.map(|name| place.join(name)));
        found.extend(verifiers.filter(|path| path.is_file()));
        found
    }

    /// The verifiers of a definition, and the unknown names. A name is that of a verifier, or of an agent, which may
    /// be written `agent:NAME`.
    pub fn checking(
        &self,
        definition: &AgentDefinition,
        definitions: &Definitions,
    ) -> (Vec<(String, Verifier)>, Vec<String>) {
        let (mut found, mut unknown) = (Vec::<(String, Verifier)>::new(), Vec::new());
        for name in &definition.verifiers {
            if found.iter().any(|(known, _)| known == name) {
                continue;
            }
            let agent = name.strip_prefix("agent:").map_or(name.as_str(), str::trim);
            let known = self.verifiers.get(name).cloned();
            match known.or_else(|| definitions.has(agent).then(|| verifiers::agent(agent))) {
                Some(verifier) => found.push((name.clone(), verifier)),
                None => unknown.push(name.clone()),
            }
        }
        (found, unknown)
    }

    /// Names in a definition that do not exist.
    pub fn missing(&self, definition: &AgentDefinition, definitions: &Definitions) -> Vec<String> {
        let is_rule = |name: &str| {
            self.rules
                .iter()
                .any(|rule| rule.name.eq_ignore_ascii_case(name))
        };
        let is_skill = |name: &str| self.skill(name).is_some();
        let lacking = |kind: &str, names: &[String], is_known: &dyn Fn(&str) -> bool| {
            let unknown = names.iter().filter(|name| !is_known(name));
            unknown
                .map(|name| format!("{kind} `{name}` is not there"))
                .collect::<Vec<_>>()
        };
        let mut missing = lacking(
            "rule",
            definition.rules.as_deref().unwrap_or_default(),
            &is_rule,
        );
        missing.extend(lacking("skill", &definition.preloaded_skills, &is_skill));
        let (found, unknown) = self.checking(definition, definitions);
        missing.extend(lacking("verifier", &unknown, &|_| false));
        missing.extend(found.iter().filter_map(|(name, verifier)| match verifier {
            Verifier::Agent { agent, .. } if !definitions.has(agent) => Some(format!(
                "verifier `{name}` asks agent `{agent}`, which is not there"
            )),
            _ => None,
        }));
        missing
    }

    /// A skill by name, without case.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills
            .iter()
            .find(|skill| skill.name.eq_ignore_ascii_case(name))
    }
}
