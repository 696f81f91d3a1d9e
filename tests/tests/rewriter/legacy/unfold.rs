//! Text with folded `try`s, which the parser of scripts doesn't know, becomes text with none of them.

/// An S-expression.
enum Node<'t> {
    Atom(&'t str),
    List(Vec<Node<'t>>),
}

/// Unfolds all code: `(i32.add (try (do (nop)) (catch_all)) (i32.const 1))` becomes
/// `try nop catch_all end i32.const 1 i32.add`.
pub(crate) fn unfold(text: &str) -> String {
    let mut out = String::new();
    for node in parse(&mut tokens(text).into_iter()) {
        print(&node, &mut out);
    }
    out
}

fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let length = match rest.as_bytes() {
            [b';', b';', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'(', b';', ..] => rest.find(";)").expect("comments end") + 2,
            [b'(' | b')', ..] => 1,
            [b'"', string @ ..] => {
                let mut escaped = false;
                let ends = |&byte: &u8| {
                    let end = byte == b'"' && !escaped;
                    escaped = byte == b'\\' && !escaped;
                    end
                };
                string.iter().position(ends).expect("strings end") + 2
            }
            _ => rest.find(|c: char| c.is_whitespace() || "();\"".contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        if !token.starts_with(";;") && !token.starts_with("(;") {
            tokens.push(token);
        }
        rest = after.trim_start();
    }
    tokens
}

fn parse<'t>(tokens: &mut impl Iterator<Item = &'t str>) -> Vec<Node<'t>> {
    let mut nodes = Vec::new();
    while let Some(token) = tokens.next() {
        match token {
            "(" => nodes.push(Node::List(parse(tokens))),
            ")" => break,
            atom => nodes.push(Node::Atom(atom)),
        }
    }
    nodes
}

/// Writes what isn't code as it is.
fn print(node: &Node<'_>, out: &mut String) {
    match node {
        Node::Atom(atom) => push(atom, out),
        Node::List(items) => {
            push("(", out);
            let header = if node.head() == "func" { 1 + header(&items[1..], FUNCTION_HEADER) } else { items.len() };
            items[..header].iter().for_each(|item| print(item, out));
            code(&items[header..], out);
            push(")\n", out);
        }
    }
}

fn push(token: &str, out: &mut String) {
    out.push_str(token);
    out.push(' ');
}

const FUNCTION_HEADER: &[&str] = &["export", "import", "type", "param", "result", "local"];
const BLOCK_HEADER: &[&str] = &["type", "param", "result"];
const TRY_TABLE_HEADER: &[&str] = &["type", "param", "result", "catch", "catch_ref", "catch_all", "catch_all_ref"];

/// How many atoms, and lists that start with one of `keywords`, come first.
fn header(items: &[Node<'_>], keywords: &[&str]) -> usize {
    items.iter().take_while(|item| matches!(item, Node::Atom(_)) || keywords.contains(&item.head())).count()
}

impl Node<'_> {
    /// The list's first atom.
    fn head(&self) -> &str {
        match self {
            Node::List(items) => match items.first() {
                Some(Node::Atom(atom)) => atom,
                _ => "",
            },
            Node::Atom(_) => "",
        }
    }
}

/// Writes code, folded or not.
fn code(items: &[Node<'_>], out: &mut String) {
    for item in items {
        match item {
            Node::List(folded) if !BLOCK_HEADER.contains(&item.head()) => instruction(item.head(), &folded[1..], out),
            // An operator, or something that belongs to it.
            _ => print(item, out),
        }
    }
}

fn instruction(name: &str, items: &[Node<'_>], out: &mut String) {
    let keywords = if name == "try_table" { TRY_TABLE_HEADER } else { BLOCK_HEADER };
    let (header, rest) = items.split_at(header(items, keywords));
    let open = |out: &mut String| {
        push(name, out);
        header.iter().for_each(|item| print(item, out));
    };
    match name {
        "block" | "loop" | "try_table" => {
            open(out);
            code(rest, out);
            push("end", out);
        }
        "if" => {
            let condition = rest.iter().take_while(|item| item.head() != "then").count();
            code(&rest[..condition], out);
            open(out);
            parts(&rest[condition..], out);
            push("end", out);
        }
        "try" => {
            open(out);
            parts(rest, out);
            if rest.last().is_none_or(|last| last.head() != "delegate") {
                push("end", out);
            }
        }
        _ => {
            code(rest, out);
            open(out);
        }
    }
}

/// Writes `then`, `else`, `do`, `catch`, `catch_all` and `delegate`.
fn parts(parts: &[Node<'_>], out: &mut String) {
    for part in parts {
        let Node::List(items) = part else { panic!("an atom after the parts of a block") };
        let immediates = match part.head() {
            "then" | "do" => 0,
            "catch" | "delegate" => 2,
            _ => 1,
        };
        items[..immediates].iter().for_each(|item| print(item, out));
        code(&items[immediates.max(1)..], out);
    }
}
