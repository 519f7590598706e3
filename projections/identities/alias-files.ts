import { createReadStream } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { AliasFact } from './alias-fact.ts';

/** Lines in memory before they are written, about 200 bytes each. */
const MAX_LINES = 100_000;

type Line = [
  ...[previousId: string, userId: string, receivedAt: number],
  ...[epoch: number, partition: number, offset: number, index: number],
];

/**
 * Aliases by account in temporary files, so that their number does not matter to the memory: one
 * account at a time is read again. The folder is readable by this user only and is deleted by
 * `remove`.
 */
export class AliasFiles {
  readonly #lines = new Map<number, string[]>();
  readonly #accounts = new Set<number>();
  #count = 0;
  #folder: string | undefined;

  /** Accounts with aliases. */
  get accounts(): readonly number[] {
    return [...this.#accounts];
  }

  async add(accountId: number, { previousId, userId, order }: AliasFact): Promise<void> {
    const { receivedAt, epoch, partition, offset, index } = order;
    const line: Line = [previousId, userId, receivedAt, epoch, partition, offset, index];
    const lines = this.#lines.get(accountId);
    if (lines) lines.push(JSON.stringify(line));
    else this.#lines.set(accountId, [JSON.stringify(line)]);
    this.#accounts.add(accountId);
    if (++this.#count >= MAX_LINES) await this.#write();
  }

  /** The aliases of an account, in the order in which they were added. */
  async *of(accountId: number): AsyncGenerator<AliasFact, void, void> {
    await this.#write();
    if (!this.#accounts.has(accountId)) return;
    const input = createReadStream(await this.#file(accountId), 'utf8');
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      const [previousId, userId, receivedAt, epoch, partition, offset, index] = JSON.parse(
        text,
      ) as Line;
      yield { previousId, userId, order: { receivedAt, epoch, partition, offset, index } };
    }
  }

  async remove(): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  async #write(): Promise<void> {
    for (const [accountId, lines] of this.#lines)
      await appendFile(await this.#file(accountId), `${lines.join('\n')}\n`, { mode: 0o600 });
    this.#lines.clear();
    this.#count = 0;
  }

  async #file(accountId: number): Promise<string> {
    this.#folder ??= await mkdtemp(join(tmpdir(), 'ravand-aliases-'));
    return join(this.#folder, `${accountId}.ndjson`);
  }
}
