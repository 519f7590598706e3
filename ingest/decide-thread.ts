import { Worker } from 'node:worker_threads';
import type { Skipped } from '../events/webhooks/mapping.ts';
import type { BodyToDecide, DecidedBody } from './decide-body.ts';
import type { JsonObject } from '../events/json.ts';
import type { DeliveryToMap, MappedBodies } from './map-body.ts';
import type { FieldsToRead } from './read-fields.ts';

/** What the thread does with a body. */
export type ThreadJob =
  | { kind: 'decide'; input: BodyToDecide }
  | { kind: 'map'; input: DeliveryToMap }
  | { kind: 'read'; input: FieldsToRead };

export interface ThreadAnswer {
  result: unknown;
  /** For how long the thread had no core, ms. */
  waitedMs: number;
}

/** One body of 14 MiB takes about 2 s of a free core; the thread has a low priority. */
const TIMEOUT_MS = 20_000;
const MIB = 1024 * 1024;
/** Heap of the thread: a constant, and for each byte of a body (a body of distinct keys: 8). */
const BASE_HEAP_MIB = 32;
const HEAP_PER_BYTE = 12;

export interface DecideThreadOptions {
  /** Limit of one body: the heap is a multiple of it. */
  maxBodyBytes: number;
  /** A body that takes longer ends the thread, ms. */
  timeoutMs?: number;
}

/** The thread that decides large bodies: starts with the first one, and again after a failure. */
export class DecideThread {
  readonly #heapMib: number;
  readonly #timeoutMs: number;
  #worker: Worker | undefined;
  /** For how long it had no core during the last job, ms: others of the machine needed it. */
  waitedMs = 0;

  constructor({ maxBodyBytes, timeoutMs = TIMEOUT_MS }: DecideThreadOptions) {
    this.#timeoutMs = timeoutMs;
    this.#heapMib = BASE_HEAP_MIB + Math.ceil((HEAP_PER_BYTE * maxBodyBytes) / MIB);
  }

  /** One job at a time. Rejects when the thread ends, or takes too long and is ended. */
  async decide(input: BodyToDecide): Promise<DecidedBody> {
    return withBuffers((await this.#run({ kind: 'decide', input })) as DecidedBody);
  }

  /** As `decide`. */
  async map(input: DeliveryToMap): Promise<MappedBodies | Skipped> {
    const mapped = (await this.#run({ kind: 'map', input })) as MappedBodies | Skipped;
    return mapped.outcome === 'bodies'
      ? { ...mapped, bodies: mapped.bodies.map(bufferOf) }
      : mapped;
  }

  /** As `decide`. */
  async read(input: FieldsToRead): Promise<JsonObject | 'malformed'> {
    return (await this.#run({ kind: 'read', input })) as JsonObject | 'malformed';
  }

  async #run(job: ThreadJob): Promise<unknown> {
    const worker = (this.#worker ??= this.#start());
    this.waitedMs = 0;
    return await new Promise<unknown>((resolve, reject) => {
      const complete = () => {
        clearTimeout(timer);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      };
      const onMessage = ({ result, waitedMs }: ThreadAnswer) => {
        complete();
        this.waitedMs = waitedMs;
        resolve(result);
      };
      const onError = (error: Error) => {
        complete();
        this.#worker = undefined;
        void worker.terminate();
        reject(error);
      };
      const onExit = () => onError(new Error('the thread that decides large bodies has ended'));
      const timer = setTimeout(
        () => onError(new Error(`a body was not decided within ${this.#timeoutMs} ms`)),
        this.#timeoutMs,
      );
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      worker.postMessage(job);
    });
  }

  async end(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): Worker {
    const worker = new Worker(new URL('decide-worker.ts', import.meta.url), {
      name: 'decide-bodies',
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMib, maxYoungGenerationSizeMb: 8 },
    });
    worker.unref();
    // Between two bodies nobody listens; without a listener an error would end the process.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}

/** Buffers arrive as Uint8Array. */
function withBuffers({ decision, body, parts }: DecidedBody): DecidedBody {
  const decided: DecidedBody = { decision };
  if (body) decided.body = bufferOf(body);
  if (!parts) return decided;
  const { reducedContext, ...slices } = parts;
  decided.parts = reducedContext ? { ...slices, reducedContext: bufferOf(reducedContext) } : slices;
  return decided;
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
