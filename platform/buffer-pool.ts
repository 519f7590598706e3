interface BufferPoolOptions {
  /** Of the buffers that are free; more are left to the collector. */
  maxFreeBytes: number;
  /** A shorter buffer is left to the collector: it costs little. */
  minBytes?: number;
  /** What is given back is filled with it: tests notice a use after that. */
  fill?: number;
}

const MIN_BYTES = 4096;
/** A longer one is rare. */
const MAX_BYTES = 256 * 1024;
/** Sizes between a power of two and the next one: at most an eighth of a buffer is unused. */
const STEPS = 8;

/**
 * Buffers that are used again. Memory outside of V8's heap makes it mark the whole heap each time
 * 64 MB of it were allocated and not found unused yet; buffers of requests in progress are, because
 * they live long enough to be promoted.
 *
 * Who gives a buffer back is sure that nobody reads it any more. What is not given back is left to
 * the collector, so whoever is not sure does nothing.
 */
export class BufferPool {
  readonly #options: BufferPoolOptions;
  readonly #free = new Map<number, ArrayBufferLike[]>();
  /** By the view: its memory may be lent again while an old view is still known to somebody. */
  readonly #lent = new WeakSet<Buffer>();
  /** Of the buffers that are free. */
  freeBytes = 0;

  constructor(options: BufferPoolOptions) {
    this.#options = options;
  }

  /** A buffer with anything in it. */
  take(bytes: number): Buffer {
    const { minBytes = MIN_BYTES } = this.#options;
    if (bytes < minBytes || bytes > MAX_BYTES) return Buffer.allocUnsafe(bytes);
    const size = sizeFor(bytes);
    let memory = this.#free.get(size)?.pop();
    if (memory) this.freeBytes -= size;
    else memory = Buffer.allocUnsafeSlow(size).buffer;
    const buffer = Buffer.from(memory, 0, bytes);
    this.#lent.add(buffer);
    return buffer;
  }

  /** Gives a buffer back, if it is one of this pool and was not given back before. */
  release(buffer: Buffer): void {
    if (!this.#lent.delete(buffer)) return;
    const memory = buffer.buffer;
    const { fill, maxFreeBytes } = this.#options;
    if (fill !== undefined) new Uint8Array(memory).fill(fill);
    const size = memory.byteLength;
    if (this.freeBytes + size > maxFreeBytes) this.#forget();
    if (this.freeBytes + size > maxFreeBytes) return;
    let free = this.#free.get(size);
    if (!free) this.#free.set(size, (free = []));
    free.push(memory);
    this.freeBytes += size;
  }

  /** Other sizes are in use now than those that are free. */
  #forget(): void {
    this.#free.clear();
    this.freeBytes = 0;
  }
}

/** The next size of the pool. */
function sizeFor(bytes: number): number {
  const step = 2 ** Math.floor(Math.log2(bytes)) / STEPS;
  return Math.ceil(bytes / step) * step;
}
