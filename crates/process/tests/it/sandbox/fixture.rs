//! A workspace with a repository, and around it what a confined program must not get at.

use std::{
    fs,
    io::Read,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::PermissionsExt,
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
};

use nix::libc;
use rooftree_process::{
    ChildEnvironment, FinishedProcess, ProcessInput, Sandbox, SpawnRequest,
    sandbox::{SandboxBackend, SandboxNetwork, repositories_below},
    spawn,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::shell::PLENTY;

const CALLS: [(&str, libc::c_long); 17] = [
    ("prlimit64", libc::SYS_prlimit64),
    ("mq_open", libc::SYS_mq_open),
    ("getxattr", libc::SYS_getxattr),
    ("setxattr", libc::SYS_setxattr),
    ("ptrace", libc::SYS_ptrace),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("kcmp", libc::SYS_kcmp),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("keyctl", libc::SYS_keyctl),
    ("add_key", libc::SYS_add_key),
    ("bpf", libc::SYS_bpf),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("syslog", libc::SYS_syslog),
    ("sethostname", libc::SYS_sethostname),
    ("unshare", libc::SYS_unshare),
];

pub struct Fixture {
    root: TempDir,
    victim: Child,
    /// Files elsewhere, to be removed again.
    strewn: Vec<PathBuf>,
    _server: (TcpListener, UnixListener, UnixListener),
    port: u16,
    token: String,
    /// The number of a segment of System V shared memory.
    shared: String,
}

/// Whether a place is another one inside a sandbox.
pub fn is_hidden(place: &Path) -> bool {
    ["/tmp", "/var/tmp", "/run", "/home", "/root"]
        .iter()
        .any(|hidden| place.starts_with(hidden))
}

impl Fixture {
    /// Whether what lies beside the workspace is hidden with it.
    pub fn is_in_hiding(&self) -> bool {
        is_hidden(self.root.path())
    }

    pub fn new() -> Self {
        // Not in /tmp, which is hidden as a whole: here is what may be read and not written.
        let built = env!("CARGO_TARGET_TMPDIR");
        let places = [built, "/opt", "/srv"]
            .into_iter()
            .filter(|place| !is_hidden(Path::new(place)));
        let root = places
            .into_iter()
            .find_map(|place| TempDir::new_in(place).ok());
        let root = root.unwrap_or_else(|| TempDir::new_in(built).unwrap());
        let put = |name: &str, content: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        put("out/file", "public\n");
        put("house/.ssh/key", "secret\n");
        put("house/.tool/bin/tool", "#!/bin/sh\necho ran\n");
        put("house/.tool/credentials.toml", "secret\n");
        put("own/credentials", "secret\n");
        put("work/.rooftree/config.toml", "");
        put("work/.mcp.json", "{}");
        let tool = root.path().join("house/.tool/bin/tool");
        fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
        put("work/denied/key", "secret canary\n");
        put("work/denied.env", "secret canary\n");
        put("out/denied", "secret\n");
        put("work/module/.git", "gitdir: ../.git/modules/libs/module\n");
        for repository in ["work", "work/clone", "work/.git/modules/libs/module"] {
            let bare = repository.ends_with("module").then_some("--bare");
            let mut git = Command::new("git");
            git.args(["init", "-q"])
                .args(bare)
                .arg(root.path().join(repository));
            assert!(git.status().unwrap().success());
        }
        let token = root
            .path()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let strewn: Vec<PathBuf> = ["/tmp", "/dev/shm", "/run"]
            .iter()
            .map(|place| Path::new(place).join(&token))
            .collect();
        // Only root can write everywhere.
        strewn
            .iter()
            .for_each(|path| drop(fs::write(path, "secret\n")));
        let (port, listener) = servers();
        let nowhere =
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&token).unwrap()).unwrap();
        let at_home = UnixListener::bind(root.path().join("house/socket")).unwrap();
        let victim = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        let victim = victim.unwrap();
        let shared = perl("$id = shmget(0, 16, 0600); shmwrite($id, 'secret', 0, 6); print $id");
        fs::write(root.path().join("work/.git/objects/info/alternates"), "").unwrap();
        // Not on every file system.
        let file = root.path().join("out/file");
        perl(&format!(
            "syscall({}, '{}', 'user.rooftree', 'x', 1, 0)",
            libc::SYS_setxattr,
            file.display()
        ));
        Self {
            root,
            victim,
            strewn,
            _server: (listener, nowhere, at_home),
            port,
            token,
            shared,
        }
    }

    /// For whoever is killed before it can clean up.
    pub fn without_victim(mut self) -> Self {
        self.victim.kill().unwrap();
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    pub fn sandbox(&self, backend: SandboxBackend) -> Sandbox {
        let mut sandbox = Sandbox::around(&self.path("work"), SandboxNetwork::Off);
        sandbox.backend = Some(backend);
        sandbox.hidden.extend([
            self.path("house"),
            self.path("own"),
            self.path("house/.tool/credentials.toml"),
        ]);
        sandbox.readable.push(self.path("house/.tool"));
        for git in repositories_below(&self.path("work")) {
            sandbox.protect_repository(&git);
        }
        sandbox.denied = ["work/denied", "work/denied.env", "out/denied"]
            .map(|name| self.path(name))
            .to_vec();
        sandbox
            .protected
            .extend([self.path("work/.rooftree"), self.path("work/.mcp.json")]);
        fs::create_dir_all(self.path("scratch")).unwrap();
        sandbox.temporary = Some(self.path("scratch"));
        sandbox
    }

    pub fn spawn(&self, script: &str, sandbox: Option<Sandbox>) -> SpawnRequest {
        let mut environment = ChildEnvironment::default();
        for (name, path) in [
            ("OUT", "out"),
            ("HOUSE", "house"),
            ("HOME", "house"),
            ("OWN", "own"),
            ("TOOL", "house/.tool"),
        ] {
            environment = environment.with(name, &self.path(path).to_string_lossy());
        }
        for (name, number) in CALLS {
            environment = environment.with(&format!("SYS_{name}"), &number.to_string());
        }
        environment = environment
            .with("VICTIM", &self.victim.id().to_string())
            .with("OWNER", &std::process::id().to_string())
            .with("PORT", &self.port.to_string())
            .with("TOKEN", &self.token)
            .with("SHARED", &self.shared);
        if sandbox.is_none() {
            // Stands for one that is inherited, which a test cannot arrange.
            environment = environment.with("UNLISTED", "x");
        }
        SpawnRequest {
            program: "bash".into(),
            args: vec!["-c".into(), script.into()],
            cwd: self.path("work"),
            environment,
            input: ProcessInput::Nothing,
            sandbox: sandbox.map(Arc::new),
        }
    }

    pub async fn run(&self, script: &str, sandbox: Option<Sandbox>) -> FinishedProcess {
        let process = spawn(self.spawn(script, sandbox)).await.unwrap();
        process
            .finish(PLENTY, &CancellationToken::new(), |_| {})
            .await
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        self.strewn
            .iter()
            .for_each(|path| drop(fs::remove_file(path)));
        perl(&format!("shmctl({}, 0, 0)", self.shared));
    }
}

/// Runs a line of perl, which has calls that Rust has not; gives what it wrote.
fn perl(line: &str) -> String {
    let output = Command::new("perl").args(["-e", line]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// One port that takes connections and gives datagrams back.
fn servers() -> (u16, TcpListener) {
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = udp.local_addr().unwrap().port();
    let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) else {
        return servers();
    };
    thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((length, from)) = udp.recv_from(&mut buffer) {
            let _ = udp.send_to(&buffer[..length], from);
        }
    });
    (port, listener)
}

/// Whether this is root.
pub fn is_root() -> bool {
    let mut status = String::new();
    fs::File::open("/proc/self/status")
        .unwrap()
        .read_to_string(&mut status)
        .unwrap();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}
