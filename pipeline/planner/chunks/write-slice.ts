import { isNobody, withoutErasedKeys } from '../../../events/erasure/message-records.ts';
import type { MessageChunk, ChunkRecipient } from '../../../schemas/records.ts';
import type { FrozenAudience, LeasedRun, SliceSizes } from '../run.ts';
import type { RunStore } from '../run-store.ts';

/** Where the rows of a slice are. */
export interface SliceQuery {
  accountId: number;
  runId: number;
  attempt: number;
  /** Rows that the attempt has. */
  people: number;
  /** Recipients behind this key, '' for the first ones. */
  after: string;
  limit: number;
}

export interface SlicePorts {
  store: Pick<RunStore, 'checkpoint'>;
  /**
   * Recipients of a frozen audience in the order of their keys, some at a time; none unless all of
   * its rows are there: a chunk that lacks one is never published.
   */
  readRecipients: (query: SliceQuery, signal: AbortSignal) => AsyncIterable<ChunkRecipient[]>;
  /** Resolves when the chunk is durable in messages.planned. */
  publish: (chunk: MessageChunk) => Promise<void>;
  sizes: SliceSizes;
}

/** The rows of a frozen audience are not those that were counted. */
export class FrozenRowsDiffer extends Error {
  override readonly name = 'FrozenRowsDiffer';
}

/** What became of a slice. `lost`: another process has the run. */
export type SliceOutcome = 'written' | 'planned' | 'lost';

/** Chunks of a slice that wait for their acknowledgement. */
const MAX_IN_FLIGHT = 64;

/**
 * Writes the next chunks of a run and records them. A chunk is the same whoever writes it: the rows
 * of a frozen audience never change, and a chunk's place in their order follows from its number.
 */
export async function writeSlice(
  run: LeasedRun & { frozen: FrozenAudience },
  { store, readRecipients, publish, sizes }: SlicePorts,
  signal: AbortSignal,
): Promise<SliceOutcome> {
  const { accountId, campaignId, id: runId, freezeAttempt: attempt, frozen } = run;
  const left = frozen.people - run.chunks * sizes.chunk;
  const limit = Math.min(left, sizes.slice * sizes.chunk);
  const sending = new PublishWindow(publish);
  let { chunks, lastKey } = run;
  let read = 0;
  let open: ChunkRecipient[] = [];
  const close = async () => {
    const [first] = open;
    if (!first) return;
    const chunk = {
      ...{ account_id: accountId, campaign_id: campaignId, run_id: runId, chunk: chunks++ },
      ...{ planned_at: frozen.at, first_key: first.key, recipients: open },
    };
    await sending.add(open.some(isNobody) ? withoutErasedKeys(chunk) : chunk);
    open = [];
  };
  const people = frozen.people;
  const query = { accountId, runId, attempt, people, after: run.lastKey, limit };
  for await (const recipients of readRecipients(query, signal)) {
    for (const recipient of recipients) {
      if (recipient.key <= lastKey) throw differs(run, `the key ${recipient.key} is out of order`);
      lastKey = recipient.key;
      read++;
      if (open.push(recipient) === sizes.chunk) await close();
    }
  }
  if (read !== limit) throw differs(run, `${read} recipients were found instead of ${limit}`);
  await close();
  await sending.done();
  signal.throwIfAborted();
  const isPlanned = limit === left;
  const isRecorded = await store.checkpoint(run, { chunks, lastKey, isPlanned });
  if (!isRecorded) return 'lost';
  return isPlanned ? 'planned' : 'written';
}

function differs({ id, lastKey }: LeasedRun, what: string): FrozenRowsDiffer {
  return new FrozenRowsDiffer(
    `of run ${id} behind ${lastKey === '' ? 'the start' : lastKey} ${what}`,
  );
}

/** Publishes chunks, a bounded number of them at a time. */
class PublishWindow {
  readonly #publish: SlicePorts['publish'];
  readonly #inFlight = new Set<Promise<void>>();
  #failure: { error: unknown } | undefined;

  constructor(publish: SlicePorts['publish']) {
    this.#publish = publish;
  }

  async add(chunk: MessageChunk): Promise<void> {
    const sent = this.#publish(chunk)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#inFlight.delete(sent));
    this.#inFlight.add(sent);
    if (this.#inFlight.size >= MAX_IN_FLIGHT) await Promise.race(this.#inFlight);
    if (this.#failure) throw this.#failure.error;
  }

  async done(): Promise<void> {
    await Promise.all(this.#inFlight);
    if (this.#failure) throw this.#failure.error;
  }
}
