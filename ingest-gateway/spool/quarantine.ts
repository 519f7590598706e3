import { mkdir, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFile, syncFolder } from './segment.ts';

/** A piece cannot be kept: what it was taken from must stay where it is. */
export class QuarantineFailed extends Error {
  readonly reason: 'quarantine_full' | 'quarantine_unwritable';
  constructor(reason: QuarantineFailed['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'QuarantineFailed';
    this.reason = reason;
  }
}

const REFUSED = '.refused';
const DRAFT = '.new';

/** A folder for operators: damaged bytes, and records that Kafka refuses for their size. */
export class Quarantine {
  readonly #folder: string;
  readonly #maxBytes: number;
  /** Pieces that are durable in the folder. */
  readonly #names = new Set<string>();
  #bytes = 0;
  #refused = 0;

  constructor(options: { folder: string; maxBytes: number }) {
    this.#folder = options.folder;
    this.#maxBytes = options.maxBytes;
  }

  /** Pieces kept by this process. */
  get found(): number {
    return this.#names.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sums up the files of the folder; a folder that cannot be read counts as empty. */
  async measure(): Promise<void> {
    let bytes = 0;
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names)
      bytes += (await stat(join(this.#folder, name)).catch(() => undefined))?.size ?? 0;
    this.#bytes = bytes;
    this.#refused = names.filter(isRefused).length;
  }

  /**
   * Resolves when the piece is durable. The same piece has the same name when it is found again.
   * Rejects with QuarantineFailed.
   */
  async keep({ name, bytes }: { name: string; bytes: Buffer }): Promise<void> {
    if (this.#names.has(name)) return;
    // An operator may have made room.
    if (this.#bytes + bytes.length > this.#maxBytes) await this.measure();
    if (this.#bytes + bytes.length > this.#maxBytes)
      throw new QuarantineFailed(
        'quarantine_full',
        `the quarantine ${this.#folder} is full (${this.#bytes} of ${this.#maxBytes} bytes): move its files elsewhere, or raise SPOOL_MAX_BYTES`,
      );
    try {
      await this.#write(name, bytes);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new QuarantineFailed(
        'quarantine_unwritable',
        `the quarantine ${this.#folder} cannot be written (${why}): free the disk, or make the folder writable`,
        { cause },
      );
    }
    this.#names.add(name);
  }

  /** Names of the kept records, oldest segments first. */
  async refused(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    return names.filter(isRefused).sort();
  }

  /** How many they are now; an operator may have removed some. */
  async countRefused(): Promise<number> {
    if (this.#refused > 0) this.#refused = (await this.refused()).length;
    return this.#refused;
  }

  async read(name: string): Promise<Buffer> {
    return readFile(join(this.#folder, name));
  }

  async remove(name: string): Promise<void> {
    await removeFile(join(this.#folder, name));
    await this.measure();
  }

  /** A file has its name once it is complete, so a crash leaves no half record. */
  async #write(name: string, bytes: Buffer): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const path = join(this.#folder, name);
    const known = await stat(path).catch(() => undefined);
    const file = await open(`${path}${DRAFT}`, 'w');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}${DRAFT}`, path);
    await syncFolder(this.#folder);
    this.#bytes += bytes.length - (known?.size ?? 0);
    if (isRefused(name)) this.#refused++;
  }
}

function isRefused(name: string): boolean {
  return name.endsWith(REFUSED);
}

/** The name of a record's frame that Kafka refuses. */
export function refusedName(segmentName: string, start: number): string {
  return `${segmentName}-${start}${REFUSED}`;
}
