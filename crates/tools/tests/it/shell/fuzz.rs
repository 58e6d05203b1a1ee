//! Any bytes are judged by any rule, without a panic and without a hang.

use std::path::Path;

use rooftree_protocol::Effect;
use rooftree_testkit::fuzz;
use rooftree_tools::{PermissionRule, Policy, PolicyRequest};

#[test]
fn fuzz_the_rules() {
    let seeds: [&[u8]; 6] = [
        b"Bash(git log *)\ngit log | head",
        b"Bash(rm:*)\nsudo -u x sh -c 'rm y'",
        b"Read(~/.ssh/**)\ncat /home/me/.ssh/id_rsa",
        b"Edit(/src/*.{rs,toml})\necho x > src/a.rs",
        b"WebFetch(domain:*.example.com)\nhttps://a.example.com/",
        b"mcp__a__*\nx",
    ];
    let words = [
        "Bash(", "Read(", "Write(", "domain:", "**", "*", "[", "{a,b}", "~/", "../", ":*)", ")\n",
        "\\*", "sh -c '",
    ];
    fuzz::run(&seeds, &words, |input| {
        let text = String::from_utf8_lossy(input);
        let (rule, subject) = text.split_once('\n').unwrap_or((&text, ""));
        let Ok(rule) = PermissionRule::parse(rule) else {
            return;
        };
        assert_eq!(
            PermissionRule::parse(&rule.to_string())
                .unwrap()
                .to_string(),
            rule.to_string()
        );
        let (some, none) = (vec![rule], Vec::new());
        for (allow, ask, deny) in [
            (&some, &none, &none),
            (&none, &some, &none),
            (&none, &none, &some),
        ] {
            let policy = Policy {
                allow: allow.clone(),
                ask: ask.clone(),
                deny: deny.clone(),
                ..Policy::default()
            };
            for tool in ["Bash", "Write", "WebFetch", "mcp__a__b"] {
                let effect = Effect::RemoteAction;
                let judged = PolicyRequest {
                    tool,
                    subject: Some(subject),
                    input: None,
                    effect,
                    cwd: Path::new("/home/me"),
                };
                let _ = policy.explain(&judged).to_string();
            }
        }
    });
}

#[test]
fn long_lines_are_judged_in_no_long_time() {
    for piece in [
        "a;", "sudo ", "-a ", "nice ", "cd a;", "a[ ", "$x", "'a'", "\\\n", "{a,", "*", "<<E\n",
        "`", "a=b ", ">a ", "&&a", "((", "sh -c '",
    ] {
        let line = piece.repeat(10_000 / piece.len());
        let deny = vec![
            PermissionRule::parse("Bash(rm -r x *)").unwrap(),
            PermissionRule::parse("Read(.env)").unwrap(),
        ];
        let policy = Policy {
            deny,
            allow: vec![PermissionRule::parse("Bash(a *)").unwrap()],
            ..Policy::default()
        };
        let effect = Effect::Destructive;
        let judged = PolicyRequest {
            tool: "Bash",
            subject: Some(&line),
            input: None,
            effect,
            cwd: Path::new("/home/me"),
        };
        let _ = policy.judge(&judged);
    }
}
