//! Commands in the sandbox that flags, settings and definitions ask for, with the real program.

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::symlink,
    path::Path,
    thread,
};

use super::fixture::{Desk, finished};

/// A desk whose model runs one command that tries to read our own directory and to reach a server.
fn desk(server: &TcpListener) -> Desk {
    let desk = Desk::new("");
    let script = format!(
        "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = \"\"\"
echo >made
while read line; do :; done <{house}/script.toml && echo seen
(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached
true\"\"\" }}
[[reply]]\ntext = \"\"\"{{{{ results[0].text }}}}\"\"\"",
        house = desk.house.path().display(),
        port = server.local_addr().unwrap().port()
    );
    desk.rewrite(&script);
    desk
}

fn server() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// What is asked for, and whether our directory is seen and the server reached then.
const WISHES: [(&[&str], &str, bool, bool); 4] = [
    (&["--sandbox", "off"], "", true, true),
    (&["--sandbox", "required"], "", false, true),
    (
        &["--sandbox", "required", "--network", "off"],
        "",
        false,
        false,
    ),
    (
        &[],
        "[sandbox]\nmode = \"required\"\nnetwork = \"off\"",
        false,
        false,
    ),
];

#[test]
fn flags_and_settings_say_how_commands_are_confined() {
    let server = server();
    for (flags, settings, sees, reaches) in WISHES {
        let desk = desk(&server);
        fs::write(desk.house.path().join("config.toml"), settings).unwrap();
        let done = desk.run(&[&["--permission-mode", "bypass"], flags, &["Go"]].concat());
        let text = done.well();
        assert!(desk.path().join("made").exists(), "{flags:?}: {text}");
        assert_eq!(text.contains("seen"), sees, "{flags:?} {settings}: {text}");
        assert_eq!(
            text.contains("reached"),
            reaches,
            "{flags:?} {settings}: {text}"
        );
    }
}

#[test]
fn without_bubblewrap_the_program_is_its_own_helper() {
    let server = server();
    let place = tempfile::tempdir().unwrap();
    link("bash", place.path());
    link("true", place.path());
    for (network, reaches) in [("on", true), ("off", false)] {
        let desk = desk(&server);
        let arguments = [
            "--permission-mode",
            "bypass",
            "--sandbox",
            "required",
            "--network",
            network,
            "Go",
        ];
        let done = finished(
            desk.command(&arguments)
                .env("PATH", place.path())
                .spawn()
                .unwrap(),
        );
        let text = done.well();
        if text.contains("nothing here can do that") {
            eprintln!("left out: {text}");
            return;
        }
        assert!(desk.path().join("made").exists(), "{text}");
        assert!(
            !text.contains("seen") && text.contains("reached") == reaches,
            "{network}: {text}"
        );
    }
}

fn link(program: &str, place: &Path) {
    let path = env::var_os("PATH").unwrap();
    let found = env::split_paths(&path)
        .map(|place| place.join(program))
        .find(|file| file.is_file())
        .unwrap();
    symlink(found, place.join(program)).unwrap();
}

#[test]
fn a_wish_nobody_understands_is_refused_with_what_there_is() {
    for (arguments, words) in [
        (
            ["--sandbox", "maybe"],
            "[possible values: auto, required, off]",
        ),
        (
            ["--network", "https://github.com"],
            "choose on, off or hosts",
        ),
        (["--network", "crates.io,,"], "names no hosts"),
    ] {
        let done = Desk::with_echo().run(&[&arguments[..], &["Go"]].concat());
        assert!(done.code == 2 && done.err.contains(words), "{done:?}");
    }
}

#[test]
fn no_file_tool_changes_what_this_program_obeys() {
    let desk = Desk::new("");
    let target = desk.house.path().join("hooks.json");
    let script = format!(
        "[[reply]]\n[[reply.call]]\ntool = \"Write\"\ninput = {{ file_path = \"{}\", content = \"{{}}\" }}\n\
         [[reply]]\ntext = \"\"\"{{{{ results[0].text }}}}\"\"\"",
        target.display()
    );
    desk.rewrite(&script);
    for mode in ["auto", "bypass"] {
        let said = desk.run(&["--permission-mode", mode, "Go"]).out;
        assert!(said.contains("people change that"), "{mode}: {said}");
        assert!(!target.exists(), "{mode}");
    }
}

/// Asks two hosts through the proxy and one without it.
const ASKING: &str = r#"
ask() { a=${http_proxy#http://}; exec 3<>/dev/tcp/${a%:*}/${a#*:}; printf "GET http://$1/ HTTP/1.1\r\n\r\n" >&3; cat <&3; }
ask localhost:PORT
ask refused.example
(exec 3<>/dev/tcp/127.0.0.1/PORT) && echo direct
true"#;

/// Says hello to everybody who asks, for as long as this process lives.
pub fn greeter() -> String {
    let server = server();
    let port = server.local_addr().unwrap().port().to_string();
    thread::spawn(move || {
        for mut client in server.incoming().flatten() {
            let _ = client.read(&mut [0; 1000]);
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello\n");
        }
    });
    port
}

#[test]
fn commands_with_a_list_reach_its_hosts_and_people_hear_whom_they_did_not_reach() {
    let port = greeter();
    let list = "[sandbox]\nmode = \"required\"\nnetwork = [\"localhost\"]\n";
    for (settings, flags) in [
        (list, &[][..]),
        (
            "",
            &["--sandbox", "required", "--network", "localhost,a.example"],
        ),
    ] {
        let desk = Desk::new("");
        let command = ASKING.replace("PORT", &port);
        desk.rewrite(&format!(
            "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = '''{command}''' }}\n\
             [[reply]]\ntext = \"\"\"{{{{ results[0].text }}}}\"\"\""
        ));
        let settings = format!("{settings}[web]\nallow_private = [\"localhost:{port}\"]\n");
        fs::write(desk.house.path().join("config.toml"), settings).unwrap();
        let done = desk.run(&[&["--permission-mode", "bypass"], flags, &["Go"]].concat());
        let text = done.well();
        if text.contains("needs bubblewrap") || text.contains("nothing here can do that") {
            eprintln!("left out: {text}");
            return;
        }
        assert!(text.contains("hello") && !text.contains("direct"), "{text}");
        assert!(
            text.contains("[network: refused.example is not on the list"),
            "{text}"
        );
    }
}

#[test]
fn without_bubblewrap_a_list_is_nobody_or_a_refusal() {
    let port = greeter();
    let place = tempfile::tempdir().unwrap();
    ["bash", "true", "cat"]
        .iter()
        .for_each(|program| link(program, place.path()));
    for (mode, wanted) in [("required", "not started"), ("auto", "[commands ")] {
        let desk = Desk::new("");
        desk.rewrite(&format!(
            "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = \"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo direct; true\" }}\n\
             [[reply]]\ntext = \"\"\"{{{{ results[0].text }}}}\"\"\""
        ));
        let arguments = [
            "--permission-mode",
            "bypass",
            "--sandbox",
            mode,
            "--network",
            "crates.io",
            "Go",
        ];
        let done = finished(
            desk.command(&arguments)
                .env("PATH", place.path())
                .spawn()
                .unwrap(),
        );
        let text = done.well();
        assert!(text.contains(wanted), "{mode}: {text}");
        assert!(
            !text.contains("direct") || text.contains("not confined here"),
            "{mode}: {text}"
        );
    }
}

#[test]
fn what_a_rule_denies_reading_is_not_there_for_commands() {
    // No word of it is what the rules name: what keeps it is the sandbox.
    let command = "n=.env; cat $n; grep -rhs hunter2 .; echo done";
    for (flags, reaches) in [
        (
            &["--deny", "Read(.env)", "--deny", "Read(secrets/**)"][..],
            false,
        ),
        (&[], true),
    ] {
        let desk = Desk::new("");
        desk.rewrite(&format!(
            "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = '''{command}''' }}\n\
             [[reply]]\ntext = \"\"\"{{{{ results[0].text }}}}\"\"\""
        ));
        fs::create_dir(desk.path().join("secrets")).unwrap();
        for name in [".env", "secrets/key"] {
            fs::write(desk.path().join(name), format!("hunter2 of {name}\n")).unwrap();
        }
        let arguments = [
            &["--permission-mode", "bypass", "--sandbox", "required"],
            flags,
            &["Go"],
        ]
        .concat();
        let text = desk.run(&arguments).well();
        if text.contains("needs bubblewrap") || text.contains("nothing here can do that") {
            eprintln!("left out: {text}");
            return;
        }
        assert!(text.contains("done"), "{text}");
        for name in [".env", "secrets/key"] {
            assert_eq!(
                text.contains(&format!("hunter2 of {name}")),
                reaches,
                "{flags:?}: {text}"
            );
        }
    }
}

#[test]
fn without_bubblewrap_it_is_said_that_a_denied_file_can_be_read() {
    let place = tempfile::tempdir().unwrap();
    ["bash", "true", "cat"]
        .iter()
        .for_each(|program| link(program, place.path()));
    let desk = Desk::new("");
    desk.rewrite(
        "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"echo done\" }\n\
         [[reply]]\ntext = \"\"\"{{ results[0].text }}\"\"\"",
    );
    fs::write(desk.path().join(".env"), "hunter2").unwrap();
    let arguments = [
        "--permission-mode",
        "bypass",
        "--sandbox",
        "auto",
        "--deny",
        "Read(.env)",
        "Go",
    ];
    let text = finished(
        desk.command(&arguments)
            .env("PATH", place.path())
            .spawn()
            .unwrap(),
    )
    .well();
    let is_said = text.contains("that cannot be kept from commands here")
        || text.contains("not confined here");
    assert!(is_said && text.contains("done"), "{text}");
}
