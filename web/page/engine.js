// The schemes of the core, compiled to WebAssembly, with requests and answers in JSON.

/** Loads the module from the page's folder. */
export async function load(url = new URL("ameles_web.wasm", import.meta.url)) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url.pathname.split("/").pop()} cannot be loaded (${answer.status})`);
  // Streaming needs the module's MIME type, which some file servers do not send.
  const { instance } = await WebAssembly.instantiate(await answer.arrayBuffer(), {});
  return new Engine(instance.exports);
}

/** Simulations of schemes over memory that shows its requests. */
class Engine {
  #exports;

  constructor(exports) {
    this.#exports = exports;
  }

  /** Executes a request. Throws the error that the module returns. */
  ask(request) {
    const { memory, ameles_room, ameles_answer, ameles_text } = this.#exports;
    const text = new TextEncoder().encode(JSON.stringify(request));
    const at = ameles_room(text.length);
    new Uint8Array(memory.buffer, at, text.length).set(text);
    const bytes = ameles_answer();
    const reply = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, ameles_text(), bytes)));
    if (reply.error !== undefined) throw new Error(reply.error);
    return reply.ok;
  }
}
