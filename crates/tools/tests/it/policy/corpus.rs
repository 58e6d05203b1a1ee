//! The attack corpus: nothing that must not be is allowed, and what must be is.

use std::collections::HashMap;

use rooftree_tools::PolicyVerdict;

use super::bench_of_rules::{judge_command, named};

const CORPUS: &str = include_str!("../../corpora/shell.txt");

/// A command with the corpus's escapes taken away.
pub fn unescaped(text: &str) -> String {
    let (mut plain, mut chars) = (String::new(), text.chars());
    while let Some(next) = chars.next() {
        if next != '\\' {
            plain.push(next);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('\\') => plain.push('\\'),
            Some('u') => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                plain.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
            }
            other => panic!("`\\{other:?}` is no escape of the corpus"),
        }
    }
    plain
}

#[test]
fn no_attack_is_allowed_and_no_honest_line_is_stopped() {
    let mut policies = HashMap::new();
    let (mut attacks, mut honest, mut wrong) = (0, 0, Vec::new());
    for line in CORPUS.lines().filter(|line| !line.starts_with('#')) {
        let [expected, set, command] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let policy = policies.entry(set).or_insert_with(|| named(set));
        let command = unescaped(command);
        // An empty line or a NUL is refused by the tool before anybody judges it.
        let is_allowed = !command.contains('\0')
            && matches!(judge_command(policy, &command), PolicyVerdict::Allow(_));
        let must_be = match expected {
            "allow" => true,
            "deny-or-ask" => false,
            other => panic!("{other}"),
        };
        *(if must_be { &mut honest } else { &mut attacks }) += 1;
        if is_allowed != must_be {
            wrong.push(line);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines are judged wrongly:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        attacks >= 500 && honest * 4 >= attacks,
        "{attacks} attacks, {honest} honest lines"
    );
}

#[test]
fn what_is_denied_is_denied_and_not_only_asked_about() {
    let policy = named("denied");
    let lines = CORPUS
        .lines()
        .filter_map(|line| line.strip_prefix("deny-or-ask\tdenied\t"));
    let left: Vec<&str> = lines
        .filter(|line| {
            !matches!(
                judge_command(&policy, &unescaped(line)),
                PolicyVerdict::Deny(_)
            )
        })
        .collect();
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn s_l1_text_in_plain_sight_that_a_command_may_run_is_denied() {
    let policy = named("denied");
    let attacks = [
        ". /dev/stdin <<< 'rm x'",
        "source /dev/stdin <<< 'rm x'",
        "make -f - <<< $'x:\n\t@rm x'",
        "make -f - <<'E'\nx:\n\t-rm x\nE",
        "printf 'rm x' > s.sh; sh s.sh",
        "printf 'ls\\nrm x\\n' > s.sh; bash ./s.sh",
        "printf '%s\\n' 'rm x' > s.sh && . ./s.sh",
        "printf 'ls\\x0arm x' > s.sh; sh s.sh",
        "echo -e 'ls\\nrm x' > s.sh; sh s.sh",
        "echo rm x > s.sh; chmod +x s.sh; ./s.sh",
        "cat > s.sh <<'E'\nls\nrm x\nE\nsh s.sh",
        "tee s.sh <<< 'rm x'; ./s.sh",
        "bash <<< 'rm x'",
        "sh -s <<E\nrm x\nE",
        "ssh host <<< 'rm x'",
        "timeout 5 bash s.sh <<< 'rm x'",
        "echo rm x | xargs env",
        "echo 'rm x' | xargs -I{} sh -c {}",
        "xargs sudo <<< 'rm x'",
        "python3 - <<E\nimport os; os.system('rm x')\nE",
        "perl <<< 'system \"rm x\"'",
        "echo 'BEGIN{system(\"rm x\")}' > p.awk; awk -f p.awk",
        "printf 'git push' > s.sh; sh s.sh",
    ];
    let left: Vec<&&str> = attacks
        .iter()
        .filter(|line| !matches!(judge_command(&policy, line), PolicyVerdict::Deny(_)))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
    let honest = [
        "echo rm x",
        "echo 'rm x' > notes.txt",
        "cat <<E\nrm x\nE",
        "printf 'ls' > s.sh; sh s.sh",
        "echo 'we will rm nothing'; sh build.sh",
        "git commit -F - <<E\nrm the old file\nE",
        "python3 a.py <<< 'hello'",
        "make -f - <<< $'x:\n\t@ls'",
        "grep -rn rm src && bash build.sh",
    ];
    let stopped: Vec<&&str> = honest
        .iter()
        .filter(|line| !matches!(judge_command(&policy, line), PolicyVerdict::Allow(_)))
        .collect();
    assert!(stopped.is_empty(), "{stopped:#?}");
}
