// Asks the emulator beside the page, so that a long launch does not hold up what the reader does.
import { fetched } from "./emulator.js";

const ready = fetched(new URL("live.wasm", import.meta.url));

onmessage = async ({ data: { number, question } }) => {
  try {
    const ask = await ready, begun = performance.now();
    const answer = JSON.parse(ask(question));
    postMessage({ number, answer, milliseconds: performance.now() - begun });
  } catch (error) {
    postMessage({ number, failed: String(error.message ?? error) });
  }
};
