import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Total size of the kept pieces; beyond it they are only counted. */
const MAX_BYTES = 64 * 1024 * 1024;

/** A folder for operators: damaged frames, and records that Kafka will always refuse. */
export class Quarantine {
  readonly #folder: string;
  readonly #names = new Set<string>();
  #bytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Creates the folder and measures its files. */
  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    for (const name of await readdir(this.#folder))
      this.#bytes += (await stat(join(this.#folder, name))).size;
  }

  /** Pieces found by this process. */
  get found(): number {
    return this.#names.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps a piece. The same piece has the same name when it is found again. */
  async keep({ name, bytes }: { name: string; bytes: Buffer }): Promise<void> {
    if (this.#names.has(name)) return;
    this.#names.add(name);
    if (this.#bytes + bytes.length > MAX_BYTES) return;
    const path = join(this.#folder, name);
    const known = await stat(path).catch(() => undefined);
    await writeFile(path, bytes, { flush: true });
    this.#bytes += bytes.length - (known?.size ?? 0);
  }
}
