// The emulator in WebAssembly: a question goes in as JSON, an answer comes out as JSON. `crates/live` says what both have in them.

/** Compiles the emulator, whose file comes from the same place as this one. */
export async function fetched(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  return asking(await response.arrayBuffer());
}

/** The function that asks the emulator in these bytes. It has a memory of its own, which grows as launches need it. */
export async function asking(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, live_alloc: lend, live_free: giveBack, live_run: run, live_panic: panic } = instance.exports;
  const text = (place) => {
    const start = Number(place & 0xffffffffn), length = Number(BigInt.asUintN(64, place) >> 32n);
    // A copy: the memory may be another one after it has grown.
    const copy = new TextDecoder().decode(new Uint8Array(memory.buffer, start, length).slice());
    giveBack(start, length);
    return copy;
  };
  return (question) => {
    const written = new TextEncoder().encode(JSON.stringify(question)), at = lend(written.length) >>> 0;
    new Uint8Array(memory.buffer, at, written.length).set(written);
    let answer;
    try {
      answer = run(at, written.length);
    } catch (error) {
      throw new Error(text(panic()) || error.message);
    }
    giveBack(at, written.length);
    return text(answer);
  };
}
