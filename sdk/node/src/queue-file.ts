import {
  closeSync,
  fdatasync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  write,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { lock } from './lock.ts';
import { linesOf, readLines, textOf, type Line } from './queue-lines.ts';
import type { QueueStore, Waiting } from './queue.ts';
import { RavandError } from './types.ts';

const writeTo = promisify(write);
const sync = promisify(fdatasync);

/** Lines are written together after so long, ms. */
const WRITE_AFTER_MS = 50;
/** The file is written anew when it has so many bytes more than twice those of what waits. */
const SPARE_BYTES = 4 * 1024 * 1024;

/**
 * Opens the file, or makes it, and reads what waits in it.
 * @param failed of what goes wrong later
 * @throws RavandError `queue_file` when another process uses it, or it cannot be read
 */
export function openQueueFile(
  path: string,
  failed: (error: RavandError) => void,
): { store: QueueStore; found: Waiting[] } {
  const unlock = lock(`${path}.lock`);
  try {
    const { events, damaged } = readLines(textIn(path));
    const store = new QueueFile(path, events, { failed, unlock });
    if (damaged > 0) {
      const message = `${path}: ${damaged} damaged lines were left out`;
      setImmediate(() => failed(new RavandError('queue_file', message)));
    }
    return { store, found: [...events.values()].map((event) => ({ ...event })) };
  } catch (cause) {
    unlock();
    throw new RavandError('queue_file', `${path}: the queue cannot be opened`, { cause });
  }
}

class QueueFile implements QueueStore {
  readonly #path: string;
  readonly #failed: (error: RavandError) => void;
  readonly #unlock: () => void;
  /** As the file has them, when all that was given is written. */
  readonly #events: Map<string, Waiting>;
  #file: number;
  #bytes: number;
  /** Of the items of `#events`. */
  #needed: number;
  #lines: Line[] = [];
  /** Being written. */
  #inProgress: Line[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    path: string,
    events: Map<string, Waiting>,
    { failed, unlock }: { failed: (error: RavandError) => void; unlock: () => void },
  ) {
    this.#path = path;
    this.#failed = failed;
    this.#unlock = unlock;
    this.#events = events;
    this.#needed = [...events.values()].reduce((sum, { json }) => sum + json.length, 0);
    [this.#file, this.#bytes] = rewrite(path, events.values());
  }

  append(event: Waiting): void {
    this.#events.set(event.id, { ...event });
    this.#needed += event.json.length;
    this.#add(['e', event.id, event.json]);
  }

  async attempted(events: readonly Waiting[], at: number): Promise<void> {
    const ids = events.map(({ id }) => id);
    for (const id of ids) {
      const event = this.#events.get(id);
      if (event) event.attemptedAt = at;
    }
    if (ids.length > 0) this.#add(['a', at, ids]);
    await this.#flush();
  }

  remove(events: readonly Waiting[]): void {
    const ids = events.map(({ id }) => id);
    for (const id of ids) {
      this.#needed -= this.#events.get(id)?.json.length ?? 0;
      this.#events.delete(id);
    }
    if (ids.length > 0) this.#add(['r', ids]);
  }

  async close(): Promise<void> {
    try {
      await this.#flush();
    } finally {
      closeSync(this.#file);
      this.#unlock();
    }
  }

  exit(): void {
    const data = Buffer.from(textOf([...this.#inProgress, ...this.#lines]));
    for (let at = 0; at < data.length;)
      at += writeSync(this.#file, data, at, data.length - at, this.#bytes + at);
    fsyncSync(this.#file);
    this.#unlock();
  }

  #add(line: Line): void {
    this.#lines.push(line);
    this.#timer ??= setTimeout(() => {
      this.#flush().catch((error: unknown) => this.#failed(error as RavandError));
    }, WRITE_AFTER_MS);
  }

  /** Rejects when the file cannot be written; what was given is written at the next attempt. */
  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const writing = this.#writing.then(() => this.#write());
    this.#writing = writing.catch(() => {});
    return writing;
  }

  async #write(): Promise<void> {
    if (this.#lines.length === 0) return;
    const lines = (this.#inProgress = this.#lines);
    this.#lines = [];
    try {
      if (this.#bytes > 2 * this.#needed + SPARE_BYTES) {
        const former = this.#file;
        [this.#file, this.#bytes] = rewrite(this.#path, this.#events.values());
        closeSync(former);
      } else this.#bytes += await append(this.#file, this.#bytes, textOf(lines));
    } catch (cause) {
      // They are written with the next ones, over what was written of them.
      this.#lines = [...lines, ...this.#lines];
      throw new RavandError('queue_file', `${this.#path} cannot be written`, { cause });
    } finally {
      this.#inProgress = [];
    }
  }
}

/** @returns how many bytes it wrote, durably */
async function append(file: number, position: number, text: string): Promise<number> {
  const data = Buffer.from(text);
  for (let at = 0; at < data.length;) {
    const written = await writeTo(file, data, at, data.length - at, position + at);
    at += written.bytesWritten;
  }
  await sync(file);
  return data.length;
}

/** Writes the file anew; the old one is there until the new one is whole. */
function rewrite(path: string, events: Iterable<Waiting>): [file: number, bytes: number] {
  const data = Buffer.from(textOf(linesOf(events)));
  writeFileSync(`${path}.new`, data, { flush: true });
  renameSync(`${path}.new`, path);
  syncFolder(dirname(path));
  return [openSync(path, 'r+'), data.length];
}

/** Makes the name of a new file durable; not every system can. */
function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch {
    // Windows keeps names by itself.
  }
}

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
