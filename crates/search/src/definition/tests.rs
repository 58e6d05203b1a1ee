//! Tests of definition detection by example lines.

use super::*;

#[test]
fn definitions_are_recognised_in_many_languages() {
    let table = [
        (
            "pub(crate) async fn retry_after(x: u8) -> u8 {",
            ChunkKind::Function,
            "retry_after",
        ),
        ("pub const fn zero() -> Self {", ChunkKind::Function, "zero"),
        ("macro_rules! check {", ChunkKind::Function, "check"),
        ("impl<T> Tool for Grep {", ChunkKind::Type, "Tool for Grep"),
        ("pub struct Inbox;", ChunkKind::Type, "Inbox"),
        ("pub const LIMIT: u32 = 5;", ChunkKind::Text, "LIMIT"),
        ("static mut COUNT: u32 = 5;", ChunkKind::Text, "COUNT"),
        ("def handle(self, event):", ChunkKind::Function, "handle"),
        ("async def fetch(url):", ChunkKind::Function, "fetch"),
        ("class Cart(Base):", ChunkKind::Type, "Cart"),
        ("def self.build(options)", ChunkKind::Function, "build"),
        (
            "func (s *Server) Close() error {",
            ChunkKind::Function,
            "Close",
        ),
        ("type Store interface {", ChunkKind::Type, "Store"),
        (
            "export default class Cart extends Base {",
            ChunkKind::Type,
            "Cart",
        ),
        (
            "export const load = async (id) => {",
            ChunkKind::Function,
            "load",
        ),
        ("function render(page) {", ChunkKind::Function, "render"),
        ("render(page) {", ChunkKind::Function, "render"),
        (
            "static int parse_line(char *text)",
            ChunkKind::Function,
            "parse_line",
        ),
        (
            "void Server::accept(int port) {",
            ChunkKind::Function,
            "accept",
        ),
        (
            "public static List<String> names(int most) {",
            ChunkKind::Function,
            "names",
        ),
        (
            "CREATE TABLE IF NOT EXISTS users (",
            ChunkKind::Type,
            "users",
        ),
        ("fun total(cart: Cart): Int =", ChunkKind::Function, "total"),
    ];
    for (line, kind, name) in table {
        assert_eq!(
            definition(line),
            Some(CodeDefinition { kind, name }),
            "{line}"
        );
    }
}

#[test]
fn statements_calls_and_prose_define_nothing() {
    let lines = [
        "if (ready) {",
        "for (const x of y) {",
        "return build(x) {",
        "} else if (x) {",
        "value = compute(1, 2)",
        "compute(1, 2);",
        "println!(\"{}\", x);",
        "describe('it works', () => {",
        "record the result of the call",
        "type = 3",
        "// fn commented_out() {",
        "# def commented_out():",
        "class of problems that",
        "match found(x) {",
        "",
        "}",
    ];
    for line in lines {
        assert_eq!(definition(line), None, "{line}");
    }
}
