//! Lines and what they define.

use super::*;

#[test]
fn definitions_are_recognised_in_many_languages() {
    let table = [
        ("pub(crate) async fn retry_after(x: u8) -> u8 {", Kind::Function, "retry_after"),
        ("pub const fn zero() -> Self {", Kind::Function, "zero"),
        ("macro_rules! check {", Kind::Function, "check"),
        ("impl<T> Tool for Grep {", Kind::Type, "Tool for Grep"),
        ("pub struct Inbox;", Kind::Type, "Inbox"),
        ("pub const LIMIT: u32 = 5;", Kind::Text, "LIMIT"),
        ("static mut COUNT: u32 = 5;", Kind::Text, "COUNT"),
        ("def handle(self, event):", Kind::Function, "handle"),
        ("async def fetch(url):", Kind::Function, "fetch"),
        ("class Cart(Base):", Kind::Type, "Cart"),
        ("def self.build(options)", Kind::Function, "build"),
        ("func (s *Server) Close() error {", Kind::Function, "Close"),
        ("type Store interface {", Kind::Type, "Store"),
        ("export default class Cart extends Base {", Kind::Type, "Cart"),
        ("export const load = async (id) => {", Kind::Function, "load"),
        ("function render(page) {", Kind::Function, "render"),
        ("render(page) {", Kind::Function, "render"),
        ("static int parse_line(char *text)", Kind::Function, "parse_line"),
        ("void Server::accept(int port) {", Kind::Function, "accept"),
        ("public static List<String> names(int most) {", Kind::Function, "names"),
        ("CREATE TABLE IF NOT EXISTS users (", Kind::Type, "users"),
        ("fun total(cart: Cart): Int =", Kind::Function, "total"),
    ];
    for (line, kind, name) in table {
        assert_eq!(definition(line), Some(Definition { kind, name }), "{line}");
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
