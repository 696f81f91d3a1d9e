//! wasm-bindgen: strings and arrays are blocks of `__wbindgen_malloc`, which the callee frees; what is more than a
//! number is returned through an address on the stack; objects of JavaScript are numbers.
//!
//! ```text
//! r = __wbindgen_add_to_stack_pointer(-16); p = __wbindgen_malloc(len, 1); write(p, string); format(r, p, len)
//! ```
//!
//! The types don't tell a string from an array of bytes, nor an address to return through from a first parameter. The
//! glue does. Without it a string is assumed, because no caller can give anything else for one.

use crate::sandbox::conventions::library::Library;
use crate::sandbox::conventions::{Proposal, allocates, glue, rank, takes, written};
use wasmparser::{FuncType, ValType};

pub(super) const NAME: &str = "wasm-bindgen";

const STACK: &str = "__wbindgen_add_to_stack_pointer";

/// The import that makes a string of JavaScript.
const STRING_NEW: &str = "__wbindgen_string_new";

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Where to return to.
    Return,
    /// The object whose method it is.
    This,
    /// The address of a string or of bytes, which may be left out; the next is its length.
    Block {
        text: bool,
        optional: bool,
    },
    Length,
    /// An object that there must be.
    Object,
    /// A number or an object.
    Other,
}

pub(super) fn proposals(library: &Library<'_>) -> Vec<Proposal> {
    let Some(malloc) = Malloc::of(library) else { return Vec::new() };
    let is_own =
        |name: &str| name.starts_with("__wbg") || name.starts_with("__wbindgen") || name.starts_with("__externref");
    let is_told = library.glue.is_of_bindgen();
    let mut proposals = Vec::new();
    for (name, ty) in library.functions().filter(|(name, _)| !is_own(name)) {
        let roles = roles(library, name, ty);
        // Of other functions its JavaScript would know how they are called.
        let is_other = is_told && library.glue.call(name).is_none();
        if is_other || !roles.iter().any(|role| matches!(role, Role::Block { .. } | Role::Object)) {
            continue;
        }
        let Some(call) = recipe(library, &malloc, name, &roles) else { continue };
        // Fewer unknowns, fewer surprises.
        let unknown = roles.iter().filter(|role| **role == Role::Other).count();
        let guessed = library.glue.call(name).is_none();
        let score = 60 + rank::interest(name) - 5 * i32::try_from(unknown).unwrap_or(10);
        proposals.push(Proposal { export: name.to_owned(), call, convention: NAME, guessed, tried: None, score });
    }
    proposals
}

/// The allocator: its name, and whether it wants an alignment.
struct Malloc<'i> {
    name: &'i str,
    aligned: bool,
}

impl<'i> Malloc<'i> {
    fn of(library: &Library<'i>) -> Option<Self> {
        let is_malloc = |name: &str| {
            let ty = library.function(name)?;
            if allocates(ty, 2) { Some(true) } else { allocates(ty, 1).then_some(false) }
        };
        let found = library.functions().map(|(name, _)| name).find(|name| *name == "__wbindgen_malloc");
        let numbered = || {
            let mut names = library.functions().map(|(name, _)| name);
            names.find(|name| {
                name.starts_with("__wbindgen_export") && library.glue.is_allocator(name) && is_malloc(name).is_some()
            })
        };
        let name = found.or_else(numbered)?;
        Some(Self { name, aligned: is_malloc(name)? })
    }

    fn call(&self) -> String {
        let arguments = if self.aligned { "len, 1" } else { "len" };
        format!("{}({arguments})", written(self.name))
    }
}

/// What the parameters of an export are: what the glue says, else what the types allow.
fn roles(library: &Library<'_>, name: &str, ty: &FuncType) -> Vec<Role> {
    let told = library.glue.call(name).filter(|(arguments, _)| arguments.len() == ty.params().len());
    match told {
        Some((arguments, before)) => told_roles(&arguments, before),
        None => guessed_roles(library, name, ty),
    }
}

fn told_roles(arguments: &[&str], before: &str) -> Vec<Role> {
    let mut roles = Vec::new();
    for argument in arguments {
        let is_numbered = |prefix: &str| {
            argument
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()) && !rest.is_empty())
        };
        roles.push(match *argument {
            "retptr" => Role::Return,
            "this.__wbg_ptr" | "this.ptr" => Role::This,
            _ if is_numbered("ptr") => {
                let given = glue::given(before, argument).unwrap_or_default();
                // Of other arrays than those of bytes the length is another.
                let optional = given.contains("isLikeNone");
                match given {
                    _ if given.contains("String") => Role::Block { text: true, optional },
                    _ if given.contains("Array8") => Role::Block { text: false, optional },
                    _ => Role::Other,
                }
            }
            _ if is_numbered("len") && matches!(roles.last(), Some(Role::Block { .. })) => Role::Length,
            _ if argument.starts_with("addHeapObject(") => Role::Object,
            _ => Role::Other,
        });
    }
    roles
}

/// In the order of wasm-bindgen: where to return to, the object, then the arguments.
fn guessed_roles(library: &Library<'_>, name: &str, ty: &FuncType) -> Vec<Role> {
    let is_method = library.class(name).is_some() && !name.ends_with("_new");
    let pairs_at_most = ty.params().len().saturating_sub(usize::from(is_method));
    let returns = library.function(STACK).is_some()
        && ty.results().is_empty()
        && (!pairs_at_most.is_multiple_of(2) || pairs_at_most > 2);
    let mut roles = Vec::new();
    roles.extend(returns.then_some(Role::Return));
    roles.extend(is_method.then_some(Role::This));
    let mut rest = ty.params().get(roles.len()..).unwrap_or_default();
    while let [first, others @ ..] = rest {
        if let (ValType::I32, [ValType::I32, ..]) = (first, others) {
            roles.extend([Role::Block { text: true, optional: false }, Role::Length]);
            rest = &others[1..];
        } else {
            roles.push(Role::Other);
            rest = others;
        }
    }
    roles
}

fn recipe(library: &Library<'_>, malloc: &Malloc<'_>, name: &str, roles: &[Role]) -> Option<String> {
    let mut lines = Vec::new();
    let mut maker = None;
    if roles.contains(&Role::This) {
        maker = Some(format!("{}_new", library.class(name)?));
    }
    let made = maker.as_ref().map(|maker| library.function(maker)).map_or(Some(None), |ty| ty.map(Some))?;
    let maker_roles = maker.as_ref().zip(made).map(|(maker, ty)| roles_of_maker(library, maker, ty));
    let returns = |roles: &[Role]| roles.contains(&Role::Return);
    if returns(roles) || maker_roles.as_deref().is_some_and(returns) {
        library.function(STACK).filter(|ty| takes(ty, 1))?;
        lines.push(format!("r = {STACK}(-16)"));
    }
    if let (Some(maker), Some(roles)) = (maker, maker_roles) {
        // An object that there is none of is undefined.
        if roles.iter().any(|role| matches!(role, Role::Block { .. } | Role::This)) {
            return None;
        }
        let arguments: Vec<_> = roles.iter().map(|role| if *role == Role::Return { "r" } else { "0" }).collect();
        let made = format!("{}({})", written(&maker), arguments.join(", "));
        if returns(&roles) {
            // Address, error, whether it is one.
            lines.extend([made, "if read32(r + 8) reject".to_owned(), "s = read32(r)".to_owned()]);
        } else {
            lines.push(format!("s = {made}"));
        }
    }
    let arguments = arguments(library, malloc, roles, &mut lines)?;
    lines.push(format!("{}({})", written(name), arguments.join(", ")));
    Some(lines.join("; "))
}

/// What is given for each role, and the lines that make it. What may be left out is, if there is something else to give
/// the input to; an object is the input as a string of JavaScript's, if there is nothing else.
fn arguments(
    library: &Library<'_>,
    malloc: &Malloc<'_>,
    roles: &[Role],
    lines: &mut Vec<String>,
) -> Option<Vec<&'static str>> {
    let has = |test: fn(&Role) -> bool| roles.iter().any(test);
    let has_block = has(|role| matches!(role, Role::Block { optional: false, .. }));
    let has_object = !has_block && roles.contains(&Role::Object);
    let is_text = has_object || has(|role| matches!(role, Role::Block { text: true, .. }));
    let word = if is_text { "string" } else { "input" };
    let mut variables = ["p", "q", "u", "v"].into_iter();
    let (mut arguments, mut left_out, mut object) = (Vec::new(), false, has_object);
    for role in roles {
        arguments.push(match role {
            Role::Return => "r",
            Role::This => "s",
            Role::Length if left_out => "0",
            Role::Length => "len",
            Role::Block { optional: true, .. } if has_block || has_object => {
                left_out = true;
                "0"
            }
            Role::Block { .. } => {
                left_out = false;
                let variable = variables.next()?;
                lines.extend([format!("{variable} = {}", malloc.call()), format!("write({variable}, {word})")]);
                variable
            }
            Role::Object if std::mem::take(&mut object) => {
                let module = library.interface.imports.iter().find(|import| import.name == STRING_NEW)?;
                lines.push(format!("o = `{}.{STRING_NEW}`(string, len)", module.module));
                "o"
            }
            Role::Object | Role::Other => "0",
        });
    }
    Some(arguments)
}

/// What a constructor's parameters are; one that returns its result through an address can fail.
fn roles_of_maker(library: &Library<'_>, maker: &str, ty: &FuncType) -> Vec<Role> {
    if library.glue.call(maker).is_some() {
        return roles(library, maker, ty);
    }
    let mut roles = vec![Role::Other; ty.params().len()];
    if let (true, Some(first)) = (ty.results().is_empty(), roles.first_mut()) {
        *first = Role::Return;
    }
    roles
}
