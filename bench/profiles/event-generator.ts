import { partitionOf } from '../../events/partition.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { eventRowCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { joinRowBatch } from '../../schemas/row-batch.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { sampleRow } from '../sink/rows.ts';

/** Rows of a row batch, as the normaliser makes them. */
const BATCH_ROWS = 500;
const NOW = 1_790_000_000_000;

/**
 * Generates records of events.normalised, by partition. One event in ten sets traits, one in ten is
 * an order, one in fifty a refund.
 */
export class EventGenerator {
  readonly #people: number;
  readonly #partitions: number;
  readonly #offsets: number[];
  #newPeople = 0;
  #events = 0;

  constructor(options: { people: number; partitions: number }) {
    this.#people = options.people;
    this.#partitions = options.partitions;
    this.#offsets = Array.from({ length: options.partitions }, () => 0);
  }

  /** The next `count` people, one event each. */
  newPeople(count: number): ConsumedMessage[][] {
    return this.#records(count, () => this.#newPeople++);
  }

  /** `count` events of people chosen at random, `each` consecutive events of one person. */
  anyPeople(count: number, each = 1): ConsumedMessage[][] {
    let [person, left] = [0, 0];
    return this.#records(count, () => {
      if (left-- === 0) [person, left] = [Math.floor(Math.random() * this.#people), each - 1];
      return person;
    });
  }

  #records(count: number, person: () => number): ConsumedMessage[][] {
    const open: Buffer[][] = this.#offsets.map(() => []);
    const batches: ConsumedMessage[][] = this.#offsets.map(() => []);
    for (let n = 0; n < count; n++) {
      const distinctId = `user-${person()}`;
      const partition = partitionOf({
        accountId: 1,
        distinctId,
        partitions: this.#partitions,
      });
      const rows = open[partition] ?? [];
      rows.push(
        eventRowCodec.type.toBuffer(this.#row(distinctId, { partition, index: rows.length })),
      );
      if (rows.length === BATCH_ROWS) this.#close(partition, { open, batches });
    }
    for (const partition of this.#offsets.keys()) this.#close(partition, { open, batches });
    return batches;
  }

  #row(user_id: string, { partition, index }: { partition: number; index: number }): EventRow {
    const n = this.#events++;
    const row = {
      ...sampleRow({ partition, offset: this.#offsets[partition] ?? 0, index, now: NOW }),
      user_id,
      event: 'product_viewed',
      revenue: 0,
    };
    if (n % 10 === 0) {
      return {
        ...{
          ...row,
          event: 'identify',
          traits: { plan: 'gold', level: String(n % 50), phone_operator: 'mci' },
          trait_numbers: { level: n % 50 },
        },
        profile: { email: `${user_id}@example.ir`, phone: '+989121234567', city: 'تهران' },
      };
    }
    if (n % 10 === 1)
      return {
        ...row,
        event: n % 50 === 1 ? 'order_refunded' : 'order_completed',
        revenue: (n % 100_000) + 0.5,
      };
    return row;
  }

  #close(
    partition: number,
    { open, batches }: { open: Buffer[][]; batches: ConsumedMessage[][] },
  ): void {
    const rows = open[partition] ?? [];
    if (rows.length === 0) return;
    const offset = this.#offsets[partition] ?? 0;
    this.#offsets[partition] = offset + 1;
    open[partition] = [];
    const head = {
      epoch: 0,
      partition,
      first_offset: offset,
      first_index: 0,
      last_offset: offset,
      last_index: rows.length - 1,
      appended_at: NOW,
    };
    const value = joinRowBatch({
      ...{ version: NEWEST_ROW_VERSION, head },
      ...{ count: rows.length, rows: Buffer.concat(rows) },
    });
    batches[partition]?.push({
      topic: 'bench',
      partition,
      offset,
      timestamp: NOW,
      key: null,
      value,
      size: value.length,
    });
  }
}
