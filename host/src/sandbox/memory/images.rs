//! What all memories of an instance hold when it is ready.

use super::image::Image;
use std::io;
use std::sync::Arc;

/// By memory, and of an annex right after its memory: what it holds when an instance is ready. Instances are equal, so
/// one copy serves all workers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images {
    images: Vec<Arc<Image>>,
    /// Those of another variant: what is equal is had once.
    of_variant: Vec<Arc<Image>>,
}

impl Images {
    /// What another variant of the module begins with.
    pub(crate) fn for_variant(&self) -> Self {
        Self { images: Vec::new(), of_variant: self.images.clone() }
    }

    /// How many are known.
    pub(crate) fn len(&self) -> usize {
        self.images.len()
    }

    /// Image number `index`, of a memory or an annex whose bytes in a new instance are `bytes`.
    pub(crate) fn image(&mut self, index: usize, bytes: &[u8]) -> io::Result<Arc<Image>> {
        if index == self.images.len() {
            let equal = self.of_variant.get(index).filter(|image| *image.bytes() == *bytes);
            self.images.push(equal.map_or_else(|| Image::of(bytes).map(Arc::new), |image| Ok(image.clone()))?);
        }
        let image = self.images[index].clone();
        debug_assert!(*image.bytes() == *bytes, "two instances of a module differ before they are given input");
        Ok(image)
    }
}
