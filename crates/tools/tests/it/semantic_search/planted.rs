//! A project in five languages, with much in it that only looks like what is asked for.

use crate::desk::Desk;

pub fn project() -> Desk {
    let desk = Desk::new();
    for (path, content) in FILES {
        desk.put(path, content);
    }
    for n in 0..40 {
        desk.put(
            &format!("src/generic/part{n}.rs"),
            format!(
                "//! Part {n} of the pipeline.\n\nuse crate::request::Request;\n\n/// Runs step {n} of a request.\npub fn step_{n}(request: &Request) -> Request {{\n    let file = request.file();\n    let user = request.user();\n    let total = user.total() + {n};\n    request.with(file, user, total)\n}}\n\n/// Sends what step {n} made.\nfn send_{n}(request: Request) {{\n    request.send();\n}}\n"
            ),
        );
    }
    desk
}

const FILES: [(&str, &str); 12] = [
    (
        "src/net/client.rs",
        "use std::time::Duration;\n\nconst MAX_ATTEMPTS: u32 = 5;\n\npub struct Client {\n    base: String,\n}\n\nimpl Client {\n    pub fn new(base: String) -> Self {\n        Self { base }\n    }\n\n    /// Sends a request; if the server is busy, waits and tries again, longer each time.\n    pub async fn send_with_backoff(&self, request: Request) -> Result<Response, Error> {\n        let mut delay = Duration::from_millis(100);\n        for attempt in 0..MAX_ATTEMPTS {\n            match self.send_once(&request).await {\n                Err(error) if error.is_retryable() => sleep(delay).await,\n                other => return other,\n            }\n            delay *= 2;\n        }\n        Err(Error::Exhausted)\n    }\n\n    async fn send_once(&self, request: &Request) -> Result<Response, Error> {\n        self.connection.call(request).await\n    }\n}\n",
    ),
    (
        "src/net/server.rs",
        "/// Accepts connections.\npub struct HTTPServer {\n    port: u16,\n}\n\n/// Stops taking connections and waits for those that are open.\npub async fn shutdown(server: HTTPServer) {\n    server.close().await;\n}\n\npub fn listen(port: u16) -> HTTPServer {\n    HTTPServer { port }\n}\n",
    ),
    (
        "src/net/throttle.go",
        "package net\n\n// Bucket holds the tokens of one user.\ntype Bucket struct {\n\ttokens int\n}\n\n// Allow says whether one more request may pass, so that nobody exceeds the rate limit.\nfunc (b *Bucket) Allow(user string) bool {\n\tif b.tokens == 0 {\n\t\treturn false\n\t}\n\tb.tokens--\n\treturn true\n}\n\nfunc (b *Bucket) refill() {\n\tb.tokens = 10\n}\n",
    ),
    (
        "src/auth/login.py",
        "import bcrypt\n\n\ndef check_credentials(name, password):\n    \"\"\"Compares a password with the stored hash.\"\"\"\n    row = users.find(name)\n    return row is not None and bcrypt.checkpw(password, row.hash)\n\n\ndef login_page():\n    return render('login.html')\n",
    ),
    (
        "src/auth/sessions.py",
        "def open_session(user):\n    return store.insert(user=user, started=now())\n\n\ndef purge_stale(now):\n    \"\"\"Removes sessions whose time is over.\"\"\"\n    for session in store.all():\n        if session.expires < now:\n            store.remove(session)\n",
    ),
    (
        "src/settings/load.rs",
        "//! Settings of the program.\n\n/// Reads config.toml and applies defaults.\npub fn read_settings(path: &Path) -> Result<Settings, Error> {\n    let text = fs::read_to_string(path)?;\n    toml::from_str(&text)\n}\n\npub fn default_settings() -> Settings {\n    Settings::default()\n}\n",
    ),
    (
        "web/cart.js",
        "import { exchange } from './money'\n\nexport function addItem(cart, item) {\n  cart.items.push(item)\n}\n\n/** What the customer pays: items, shipping and VAT. */\nexport function grandTotal(cart, taxRate) {\n  const net = cart.items.reduce((sum, item) => sum + item.price * item.count, 0)\n  return net * (1 + taxRate)\n}\n",
    ),
    (
        "web/money.ts",
        "export interface Money {\n  amount: number\n  currency: string\n}\n\nexport const exchange = (money: Money, to: string): Money => {\n  const rate = rates[money.currency][to]\n  return { amount: money.amount * rate, currency: to }\n}\n\nexport const format = (money: Money): string => {\n  return money.amount.toFixed(2)\n}\n",
    ),
    (
        "src/ops/rotate.rs",
        "/// Starts a new log file when the old one is too large.\npub fn rotate(log: &Path) -> io::Result<()> {\n    fs::rename(log, next_name(log))\n}\n\n/// Packs log files that are no longer written.\nfn gzip_rotated(directory: &Path) -> io::Result<()> {\n    for file in old_logs(directory)? {\n        encoder(&file)?.finish()?;\n    }\n    Ok(())\n}\n",
    ),
    (
        "src/shop/notify.py",
        "def on_shipped(order):\n    \"\"\"Tells the customer by email that a parcel is on its way.\"\"\"\n    mailer.send(order.customer.email, template='shipped', order=order)\n\n\ndef on_cancelled(order):\n    mailer.send(order.customer.email, template='cancelled', order=order)\n",
    ),
    (
        "docs/operations.md",
        "# Operations\n\nHow to run it.\n\n## Retries\n\nThe client handles errors of the server by asking again.\n\n## Logs\n\nOld logs are packed every night.\n",
    ),
    (
        "tests/test_client.py",
        "def test_retries_are_handled():\n    \"\"\"Retries are handled by the client.\"\"\"\n    client = Client()\n    assert client.retries == 5\n\n\ndef test_password():\n    assert check_credentials('a', 'b')\n",
    ),
];
