//! Merges a stronger settings layer over a weaker one, key by key; permission rules are concatenated.

use super::{
    LimitSettings, ModelSettings, PermissionSettings, ProviderSettings, SandboxSettings, Settings,
    WebSettings, flatten::flatten, layer::SettingsLayer, providers::ProviderTimeouts,
};

/// Keys whose values add up instead of replacing each other.
pub const ADDING_UP: [&str; 5] = [
    "permission.allow",
    "permission.ask",
    "permission.deny",
    "sandbox.writable",
    "sandbox.readable",
];

impl Settings {
    /// Merges a layer on top that may set any key.
    pub(super) fn overlaid(mut self, said: Self) -> Self {
        self.permission = self.permission.overlaid(said.permission);
        self.sandbox = self.sandbox.overlaid(said.sandbox);
        self.limits = said.limits.or(self.limits);
        self.models = self.models.overlaid(said.models);
        self.external.extend(said.external);
        self.servers.extend(said.servers);
        self.agents.extend(said.agents);
        self.hooks.extend(said.hooks);
        self.environment.keep.extend(said.environment.keep);
        self.environment.only_listed |= said.environment.only_listed;
        self.remarks.extend(said.remarks);
        self.pinned.extend(said.pinned);
        Self {
            confined: said.confined.or(self.confined),
            embeddings: said.embeddings.or(self.embeddings),
            web: self.web.overlaid(said.web),
            ..self
        }
    }

    /// Merges pinned settings on top: they override all other layers, which may only add deny and ask rules.
    pub(super) fn pinned_by(mut self, said: Self, layer: &SettingsLayer) -> Self {
        let pinned: Vec<String> = flatten(&layer.table)
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        let has = |key: &str| pinned.iter().any(|known| known == key);
        // For a pinned key, drop what other layers grant.
        if has("permission.allow") {
            self.permission.allow.clear();
        }
        if has("sandbox.writable") {
            self.sandbox.writable.clear();
        }
        if has("sandbox.readable") {
            self.sandbox.readable.clear();
        }
        let here = layer.path.display();
        let ignored = self.typed.iter().filter(|key| has(key) && !is_denial(key));
        let ignored: Vec<String> = ignored
            .map(|key| format!("-c {key} is ignored: {here} sets it"))
            .collect();
        let mut settings = self.overlaid(said);
        settings.remarks.extend(ignored);
        settings.pinned.extend(pinned);
        settings
    }

    /// Whether a key is pinned by the administrator, so that no other layer can set it.
    pub fn is_pinned(&self, key: &str) -> bool {
        self.pinned.iter().any(|known| known == key)
    }
}

fn is_denial(key: &str) -> bool {
    matches!(key, "permission.deny" | "permission.ask")
}

impl PermissionSettings {
    fn overlaid(mut self, said: Self) -> Self {
        self.allow.extend(said.allow);
        self.ask.extend(said.ask);
        self.deny.extend(said.deny);
        Self {
            mode: said.mode.or(self.mode),
            wary: said.wary.or(self.wary),
            spawn: said.spawn.or(self.spawn),
            ..self
        }
    }
}

impl SandboxSettings {
    fn overlaid(mut self, said: Self) -> Self {
        self.writable.extend(said.writable);
        self.readable.extend(said.readable);
        Self {
            mode: said.mode.or(self.mode),
            network: said.network.or(self.network),
            ..self
        }
    }
}

impl LimitSettings {
    fn or(self, weaker: Self) -> Self {
        Self {
            max_turns: self.max_turns.or(weaker.max_turns),
            timeout: self.timeout.or(weaker.timeout),
            max_cost: self.max_cost.or(weaker.max_cost),
            depth: self.depth.or(weaker.depth),
            children: self.children.or(weaker.children),
            descendants: self.descendants.or(weaker.descendants),
            emergency_context: self.emergency_context.or(weaker.emergency_context),
            identical_calls: self.identical_calls.or(weaker.identical_calls),
        }
    }
}

impl ModelSettings {
    fn overlaid(mut self, said: Self) -> Self {
        self.aliases.extend(said.aliases);
        for (name, provider) in said.providers {
            let known = self.providers.remove(&name).unwrap_or_default();
            self.providers.insert(name, known.overlaid(provider));
        }
        if !said.fallbacks.is_empty() {
            self.fallbacks = said.fallbacks;
        }
        Self {
            default: said.default.or(self.default),
            ..self
        }
    }
}

impl ProviderSettings {
    fn overlaid(self, said: Self) -> Self {
        let ProviderTimeouts {
            connect,
            first_byte,
            between_events,
            total,
        } = said.waits;
        Self {
            base_url: said.base_url.or(self.base_url),
            key_env: said.key_env.or(self.key_env),
            wire: said.wire.or(self.wire),
            waits: ProviderTimeouts {
                connect: connect.or(self.waits.connect),
                first_byte: first_byte.or(self.waits.first_byte),
                between_events: between_events.or(self.waits.between_events),
                total: total.or(self.waits.total),
            },
        }
    }
}

impl WebSettings {
    fn overlaid(mut self, said: Self) -> Self {
        self.allow_private.extend(said.allow_private);
        Self {
            backend: said.backend.or(self.backend),
            url: said.url.or(self.url),
            model: said.model.or(self.model),
            ..self
        }
    }
}
