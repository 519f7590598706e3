import { readFileSync } from 'node:fs';
import { layoutOf, type Layout } from './memory-layout.ts';

/** Of a page of WebAssembly. */
const PAGE_BYTES = 2 ** 16;

/**
 * Memory for the events of one report, which threads share, and the compiled loops over them
 * (wasm/count-events.as.ts). The system gives pages of it when they are first written. It goes to
 * threads without a copy.
 */
export interface EventMemory {
  module: WebAssembly.Module;
  memory: WebAssembly.SharedMemory;
  layout: Layout;
}

/**
 * Memory that has to be cleared.
 * @param eventBytes for events; half as much is added for the rows of partitions
 * @throws RangeError where the system does not give so much address space
 */
export function newMemory(eventBytes: number, threads: number): EventMemory {
  const layout = layoutOf(eventBytes, threads);
  const pages = Math.ceil(layout.bytes / PAGE_BYTES);
  return {
    module: new WebAssembly.Module(
      readFileSync(new URL('wasm/count-events.wasm', import.meta.url)),
    ),
    memory: new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }),
    layout,
  };
}

/** Nothing is read: all pages are free again. */
export function clearMemory({ memory, layout }: EventMemory): void {
  new Uint8Array(memory.buffer, 0, layout.clearedBytes).fill(0);
  new Uint32Array(memory.buffer, layout.pool, 1)[0] = layout.pages.from;
}
