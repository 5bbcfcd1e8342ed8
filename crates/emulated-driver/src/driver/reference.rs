//! Texture and surface references: what they are bound to.

use super::Driver;
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::reference::{SurfaceReference, TextureReference};
use crate::objects::texture::Resource;

impl Driver {
    /// The reference of this name, one for all calls.
    pub(crate) fn texture_reference(&mut self, module: Handle, name: &str) -> Outcome<Handle> {
        let (variable, _) = self.variable(module, name)?;
        let mut known = self.texture_references.iter();
        if let Some((handle, _)) = known.find(|(_, one)| one.variable == variable) {
            return Ok(*handle);
        }
        let (handle, made) = (self.new_handle(), TextureReference::new(module, variable));
        self.texture_references.insert(handle, made);
        Ok(handle)
    }

    /// As [`Driver::texture_reference`].
    pub(crate) fn surface_reference(&mut self, module: Handle, name: &str) -> Outcome<Handle> {
        let (variable, _) = self.variable(module, name)?;
        let mut known = self.surface_references.iter();
        if let Some((handle, _)) = known.find(|(_, one)| one.variable == variable) {
            return Ok(*handle);
        }
        let made = SurfaceReference {
            module,
            variable,
            array: None,
        };
        let handle = self.new_handle();
        self.surface_references.insert(handle, made);
        Ok(handle)
    }

    pub(crate) fn reference(&self, handle: Handle) -> Outcome<TextureReference> {
        let found = self.texture_references.get(&handle);
        found.cloned().ok_or(Code::INVALID_HANDLE)
    }

    /// Changes a reference, and how its next fetches are done. A change that is refused leaves it
    /// as it was.
    pub(crate) fn change_reference(
        &mut self,
        handle: Handle,
        change: impl FnOnce(&mut TextureReference) -> Outcome,
    ) -> Outcome {
        let mut changed = self.reference(handle)?;
        let before = changed.resource;
        change(&mut changed)?;
        let sampler = changed.sampling.sampler()?;
        if let Some(resource) = changed.resource.filter(|_| changed.resource != before) {
            changed.levels = self.levels(&resource)?;
        }
        let levels = changed.levels.clone();
        self.note_anisotropy(&levels, &changed.sampling);
        self.machine.bind_texture(changed.variable, levels, sampler);
        self.texture_references.insert(handle, changed);
        Ok(())
    }

    pub(crate) fn bind_surface(&mut self, handle: Handle, array: Handle) -> Outcome {
        let image = self.levels(&Resource::of_array(array))?[0];
        let known = self.surface_references.get_mut(&handle);
        let known = known.ok_or(Code::INVALID_HANDLE)?;
        known.array = Some(array);
        self.machine.bind_surface(known.variable, Some(image));
        Ok(())
    }

    /// Forgets the references of a module that is unloaded.
    pub(super) fn forget_references(&mut self, module: Handle) {
        let textures = self.texture_references.values();
        let textures = textures.filter(|one| one.module == module);
        let surfaces = self.surface_references.values();
        let surfaces = surfaces.filter(|one| one.module == module);
        let gone: Vec<u64> = { textures.map(|one| one.variable) }
            .chain(surfaces.map(|one| one.variable))
            .collect();
        for variable in gone {
            self.machine.bind_surface(variable, None);
        }
        self.texture_references
            .retain(|_, one| one.module != module);
        self.surface_references
            .retain(|_, one| one.module != module);
    }
}
