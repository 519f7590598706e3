/** What is used of WebAssembly: the types of Node lack it, and those of browsers have too much. */
declare namespace WebAssembly {
  interface Module {
    readonly [Symbol.toStringTag]: string;
  }
  const Module: {
    new (bytes: Uint8Array<ArrayBuffer>): Module;
    imports(module: Module): readonly { readonly name: string }[];
  };
  interface Memory {
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  /** Memory that threads share. */
  interface SharedMemory {
    readonly buffer: SharedArrayBuffer;
  }
  const Memory: {
    /** Pages of 64 KiB. @throws RangeError where the system does not give them */
    new (size: { initial: number; maximum: number; shared: true }): SharedMemory;
  };
  interface Instance {
    readonly exports: object;
  }
  const Instance: new (module: Module, imports?: { env: { memory: SharedMemory } }) => Instance;
}
