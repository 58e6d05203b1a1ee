//! The agents of a permission request in words: a title, and one line per kind of agent with its tasks below.

use rooftree_protocol::SpawnGroup;

/// How many agents, and which.
pub(super) fn title(groups: &[SpawnGroup]) -> String {
    let agents: usize = groups.iter().map(|group| group.calls.len()).sum();
    let kinds = groups
        .iter()
        .map(|group| format!("{} × {}", group.calls.len(), group.agent));
    let noun = if agents == 1 { "agent" } else { "agents" };
    format!("{agents} {noun}: {}", kinds.collect::<Vec<_>>().join(", "))
}

/// What the agents of a group are expected to cost together, if that is known.
pub(super) fn cost(group: &SpawnGroup) -> Option<f64> {
    let each = group.forecast.as_ref()?.cost_usd?;
    Some(each * group.calls.len() as f64)
}

/// Model, tools, forecast and tasks of each group, and the forecast of all.
pub(super) fn detail(groups: &[SpawnGroup]) -> String {
    let mut lines = Vec::new();
    for group in groups {
        let model = group.model.as_deref().unwrap_or("its usual model");
        lines.push(format!("{} × {} · {model}", group.calls.len(), group.agent));
        lines.push(format!("  gets: {}", names(&group.tools)));
        lines.push(format!("  loses: {}", names(&group.lost)));
        lines.push(format!("  forecast: {}", forecast(group)));
        let tasks = group.calls.iter();
        lines.extend(tasks.map(|call| format!("  task: {}", call.title)));
    }
    lines.push(total(groups));
    lines.join("\n")
}

fn names(names: &[String]) -> String {
    if names.is_empty() {
        "nothing".into()
    } else {
        names.join(", ")
    }
}

fn forecast(group: &SpawnGroup) -> String {
    let Some(expected) = group.forecast else {
        return "no past runs".into();
    };
    let cost = match expected.cost_usd {
        Some(cost) => format!("${cost:.4}"),
        None => "an unknown price".into(),
    };
    let of = match expected.runs {
        1 => "the last run".to_owned(),
        runs => format!("mean of the last {runs} runs"),
    };
    format!("about {} tokens and {cost} each ({of})", expected.tokens)
}

fn total(groups: &[SpawnGroup]) -> String {
    let number = |group: &SpawnGroup| group.calls.len() as u64;
    let known = groups.iter().filter_map(|group| {
        let expected = group.forecast?;
        Some(expected.tokens.saturating_mul(number(group)))
    });
    let tokens = known.fold(0, u64::saturating_add);
    let cost: f64 = groups.iter().filter_map(cost).sum();
    let unknown = groups.iter().filter(|group| group.forecast.is_none());
    let unknown: u64 = unknown.map(number).sum();
    let unpriced = groups
        .iter()
        .any(|group| group.forecast.is_some_and(|one| one.cost_usd.is_none()));
    let mut line = format!("together: about {tokens} tokens and ${cost:.4}");
    if unpriced {
        line += ", without models of unknown price";
    }
    if unknown > 0 {
        line += &format!(", without {unknown} that have no past runs");
    }
    line
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{CallId, SpawnCall, SpawnForecast};

    use super::*;

    fn group(agent: &str, calls: u64, forecast: Option<SpawnForecast>) -> SpawnGroup {
        let call = |number| SpawnCall {
            call: CallId::from_entropy(u128::from(number)),
            title: format!("part {number}"),
            digest: String::new(),
        };
        SpawnGroup {
            agent: agent.into(),
            model: Some("a/b".into()),
            tools: vec!["Read".into()],
            lost: vec!["Bash".into(), "Write".into()],
            forecast,
            calls: (0..calls).map(call).collect(),
        }
    }

    #[test]
    fn a_person_reads_who_is_started_with_which_tools_and_what_it_may_cost() {
        let known = SpawnForecast {
            runs: 3,
            tokens: 1_000,
            cost_usd: Some(0.25),
        };
        let groups = [group("explore", 2, Some(known)), group("task", 1, None)];
        assert_eq!(title(&groups), "3 agents: 2 × explore, 1 × task");
        let wanted = "2 × explore · a/b\n  gets: Read\n  loses: Bash, Write\n  \
            forecast: about 1000 tokens and $0.2500 each (mean of the last 3 runs)\n  task: part 0\n  task: part 1\n\
            1 × task · a/b\n  gets: Read\n  loses: Bash, Write\n  forecast: no past runs\n  task: part 0\n\
            together: about 2000 tokens and $0.5000, without 1 that have no past runs";
        assert_eq!(detail(&groups), wanted);
    }
}
