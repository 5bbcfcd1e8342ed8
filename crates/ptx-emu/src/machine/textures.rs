//! Textures and surfaces: made, bound to references, destroyed.

use super::Machine;
use crate::image::{Image, Object, Sampler};

impl Machine {
    /// Makes a texture of these elements, and gives the number that kernels name it by. The memory
    /// need not be there until a kernel fetches from it.
    ///
    /// ```
    /// use ptx_emu::{Channel, Image, ImageKind, Machine, Sampler};
    /// let mut machine = Machine::default();
    /// let address = machine.allocate(64, "row")?;
    /// let row = Image {
    ///     address,
    ///     kind: ImageKind::Linear,
    ///     channel: Channel::F32,
    ///     channels: 1,
    ///     extent: [16, 1, 1],
    ///     pitch: 64,
    ///     layer: 64,
    /// };
    /// let texture = machine.add_texture(row, Sampler::default());
    /// assert!(machine.remove_texture(texture));
    /// assert!(!machine.remove_texture(texture));
    /// # Ok::<(), ptx_emu::OutOfMemory>(())
    /// ```
    pub fn add_texture(&mut self, image: Image, sampler: Sampler) -> u64 {
        self.add_mipmap([image].into(), sampler)
    }

    /// Makes a texture of the levels of a mipmap, the largest first, as [`Machine::add_texture`]
    /// does of one. Their elements are of one kind.
    ///
    /// # Panics
    /// Without a level.
    pub fn add_mipmap(&mut self, levels: Box<[Image]>, sampler: Sampler) -> u64 {
        assert!(!levels.is_empty(), "a mipmap has a level");
        self.images.add(Object {
            levels,
            sampler: Some(sampler),
        })
    }

    /// Makes a surface of these elements, as [`Machine::add_texture`] does a texture.
    pub fn add_surface(&mut self, image: Image) -> u64 {
        self.images.add(Object {
            levels: [image].into(),
            sampler: None,
        })
    }

    /// Destroys a texture; false if there is none of this number. Its memory stays, and a kernel
    /// that fetches from it is told that it has been destroyed.
    pub fn remove_texture(&mut self, texture: u64) -> bool {
        self.images.remove(texture, true)
    }

    /// Binds the texture reference whose variable is at this address to the levels of a mipmap, as
    /// [`Machine::add_mipmap`] makes an object of them; to nothing, if there are none.
    pub fn bind_texture(&mut self, reference: u64, levels: Box<[Image]>, sampler: Sampler) {
        let object = Object {
            levels,
            sampler: Some(sampler),
        };
        let object = (!object.levels.is_empty()).then_some(object);
        self.images.bind(reference, object);
    }

    /// Binds the surface reference whose variable is at this address, as
    /// [`Machine::bind_texture`] does a texture's.
    pub fn bind_surface(&mut self, reference: u64, image: Option<Image>) {
        let object = image.map(|image| Object {
            levels: [image].into(),
            sampler: None,
        });
        self.images.bind(reference, object);
    }

    /// Destroys a surface, as [`Machine::remove_texture`] does a texture.
    pub fn remove_surface(&mut self, surface: u64) -> bool {
        self.images.remove(surface, false)
    }
}
