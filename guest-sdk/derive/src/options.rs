//! `#[generate(...)]`.

use syn::{Attribute, Expr, LitInt, Result};

/// What an attribute says of a field or a variant.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) with: Option<Expr>,
    pub(crate) weight: Option<u32>,
    pub(crate) skip: bool,
}

/// Reads them; `permitted` are those that make sense here.
pub(crate) fn options(attributes: &[Attribute], permitted: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("generate")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if !permitted.contains(&name.as_str()) {
                let known = if permitted.is_empty() { "nothing".into() } else { permitted.join(" and ") };
                return Err(meta.error(format!("`{name}` is not known here, only {known}")));
            }
            match name.as_str() {
                "with" => options.with = Some(meta.value()?.parse()?),
                "weight" => options.weight = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?),
                _ => options.skip = true,
            }
            Ok(())
        })?;
    }
    Ok(options)
}
