//! Textures and surfaces.

use ptx_emu::Image;

use super::Driver;
use crate::code::{Code, Outcome};
use crate::objects::texture::{Made, Resource, TextureDescriptor, View};
use crate::report;

impl Driver {
    fn elements(&self, resource: &Resource) -> Outcome<Image> {
        let array = resource
            .array()
            .map(|array| self.array(array))
            .transpose()?;
        let image = resource.image(array)?;
        // The array's memory is its own, and arrays were checked when they were made.
        let row = u64::from(image.extent[0]) * u64::from(image.element_bytes());
        let before = image.pitch.saturating_mul(u64::from(image.extent[1]) - 1);
        let bytes = before.saturating_add(row);
        if array.is_none() && !self.has(image.address, bytes) {
            return Err(report::refused(&format!(
                "a texture of {bytes} bytes at address {:#x} is not of memory that kernels may access",
                image.address
            )));
        }
        Ok(image)
    }

    /// The levels of a texture's elements; one, if it is not of a mipmap.
    pub(super) fn levels(&self, resource: &Resource) -> Outcome<Box<[Image]>> {
        let Some(mipmap) = resource.mipmap() else {
            return Ok([self.elements(resource)?].into());
        };
        let levels = self.mipmap(mipmap)?.iter();
        levels.map(|level| self.array(*level)?.image()).collect()
    }

    /// Says once that fetches with gradients are filtered in another way than a GPU does. It
    /// matters to these alone: others have no direction in which to take more elements.
    pub(super) fn note_anisotropy(&mut self, levels: &[Image], sampling: &TextureDescriptor) {
        if levels.len() > 1 && sampling.max_anisotropy > 1 && !self.has_noted_anisotropy {
            self.has_noted_anisotropy = true;
            report::note(
                "a texture of a mipmap asks for an anisotropic filter: fetches with gradients \
                 take the level of the longer one here, where a GPU takes several elements of a finer one",
            );
        }
    }

    pub(crate) fn new_texture(
        &mut self,
        resource: Resource,
        sampling: TextureDescriptor,
        view: Option<View>,
    ) -> Outcome<u64> {
        let (mut levels, sampler) = (self.levels(&resource)?, sampling.sampler()?);
        if let Some(view) = &view {
            // Only arrays have views.
            if resource.address().is_some() {
                return Err(Code::INVALID_VALUE);
            }
            levels = view.of(&levels)?;
        }
        self.note_anisotropy(&levels, &sampling);
        let object = self.machine.add_mipmap(levels, sampler);
        let made = Made {
            resource,
            sampling: Some(sampling),
            view,
        };
        self.images.insert(object, made);
        Ok(object)
    }

    /// A surface is of an array.
    pub(crate) fn new_surface(&mut self, resource: Resource) -> Outcome<u64> {
        if resource.array().is_none() {
            return Err(Code::INVALID_VALUE);
        }
        let image = self.elements(&resource)?;
        let object = self.machine.add_surface(image);
        let made = Made {
            resource,
            sampling: None,
            view: None,
        };
        self.images.insert(object, made);
        Ok(object)
    }

    pub(crate) fn destroy_texture(&mut self, object: u64) -> Outcome {
        if !self.machine.remove_texture(object) {
            return Err(Code::INVALID_VALUE);
        }
        self.images.remove(&object);
        Ok(())
    }

    pub(crate) fn destroy_surface(&mut self, object: u64) -> Outcome {
        if !self.machine.remove_surface(object) {
            return Err(Code::INVALID_VALUE);
        }
        self.images.remove(&object);
        Ok(())
    }
}
