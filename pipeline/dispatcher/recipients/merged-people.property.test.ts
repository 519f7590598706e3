import { afterAll, beforeAll, expect, it } from 'vitest';
import { personKey } from '../../../events/messages/message-id.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import { withBits } from '../chunk/bits.ts';
import { newChunk } from '../chunk/chunk-state.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { RESOLVED_FRESH_MS } from '../worker/ready-messages.ts';
import { decideMerged } from './merged-people.ts';

const PEOPLE = ['a', 'b', 'c'];
const RUN = 7;

let store: MigratedDatabase;

beforeAll(async () => {
  store = await migratedDatabase(['0001', '0060']);
}, 30_000);
afterAll(() => store.close());

const sql = (text: string, values: unknown[] = []) => store.database.query(text, values);

const CHUNK = (() => {
  const recipients = PEOPLE.map((name) => ({
    ...{ key: personKey(name), person_id: name, user_id: name, is_control: false },
  })).sort((a, b) => (a.key < b.key ? -1 : 1));
  return {
    ...{ account_id: 1, campaign_id: 5, run_id: RUN, chunk: 0, planned_at: 0, recipients },
    first_key: recipients[0]?.key ?? '',
  };
})();

/** Three recipients, of whom some are merged while their messages are looked up and opened. */
class World {
  /** ms */
  now = 0;
  /** By when each two were merged. */
  readonly mergedAt = new Map<string, number>();
  readonly opened = new Map<string, { resolvedAt: number }>();
  readonly skipped = new Set<string>();
  /** Messages that are ready. */
  readonly ready = new Map<string, number>();
  readonly #groups = new Map(PEOPLE.map((name) => [name, [name]]));

  static async begin(): Promise<World> {
    const { opened, finished } = newChunk(PEOPLE.length);
    await sql('DELETE FROM campaign_run_merged');
    await sql('DELETE FROM message_chunks');
    await sql(
      `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished)
       VALUES ($1, 0, 1, 5, 'email', $2, $3, $4, $5, $6)`,
      [RUN, messageChunkCodec.encode(CHUNK), PEOPLE.length, CHUNK.first_key, opened, finished],
    );
    return new World();
  }

  get isDone(): boolean {
    return this.opened.size + this.skipped.size === PEOPLE.length;
  }

  merge(one: string, other: string): void {
    const [first = [], second = []] = [this.#groups.get(one), this.#groups.get(other)];
    if (first === second) return;
    for (const a of first) for (const b of second) this.mergedAt.set(pair(a, b), this.now);
    const group = [...first, ...second].sort();
    for (const name of group) this.#groups.set(name, group);
  }

  async pass(ms: number): Promise<void> {
    this.now += ms;
    await sql(
      `UPDATE campaign_run_merged SET decided_at = decided_at - $1 * interval '1 millisecond'`,
      [ms],
    );
  }

  /** Looks a recipient up; what was known counts, although time passes until it is decided. */
  async prepare(name: string, delay: () => Promise<void>): Promise<void> {
    const [resolvedAt, names] = [this.now, this.#groups.get(name) ?? []];
    await delay();
    const recipient = {
      ...{ key: personKey(name), person: personKey(names[0] ?? '') },
      others: names.map(personKey),
    };
    const isMerged = names.length > 1;
    const decided = isMerged ? await decideMerged(store.database, RUN, [recipient]) : [];
    const kind = decided[0]?.kind ?? 'sends';
    if (kind === 'sends') this.ready.set(name, resolvedAt);
    else if (kind === 'other_sends') this.skipped.add(name);
  }

  /** Records the attempt of a message, unless it was looked up too long ago. */
  async open(name: string): Promise<void> {
    const resolvedAt = this.ready.get(name) ?? 0;
    this.ready.delete(name);
    if (this.now - resolvedAt > RESOLVED_FRESH_MS) return;
    this.opened.set(name, { resolvedAt });
    const set = CHUNK.recipients.flatMap(({ person_id }, at) =>
      this.opened.has(person_id) ? [at] : [],
    );
    await sql('UPDATE message_chunks SET opened = $1', [
      withBits(newChunk(PEOPLE.length).opened, { set }),
    ]);
  }
}

const pair = (...names: string[]) => names.sort().join(' ');

it.each(Array.from({ length: 40 }, (_, seed) => seed + 1))(
  'of people who are known to be merged one gets the message, whenever they are merged (%i)',
  async (seed) => {
    const random = seededRandom(seed);
    const pick = () => PEOPLE[Math.floor(random() * PEOPLE.length)] ?? 'a';
    const world = await World.begin();
    const delay = () => world.pass(random() * 3000);
    for (let step = 0; !world.isDone && step < 400; step++) {
      const name = pick();
      if (step < 12 && random() < 0.35) world.merge(pick(), name);
      if (random() < 0.5) await world.pass(random() * 2500);
      if (world.opened.has(name) || world.skipped.has(name)) continue;
      if (world.ready.has(name)) await world.open(name);
      else await world.prepare(name, delay);
    }
    expect(world.isDone).toBe(true);
    for (const [one, first] of world.opened)
      for (const [other, second] of world.opened) {
        const mergedAt = one < other ? world.mergedAt.get(pair(one, other)) : undefined;
        // Nobody could know of it.
        const latest = Math.max(first.resolvedAt, second.resolvedAt);
        expect(mergedAt ?? Infinity).toBeGreaterThanOrEqual(latest);
      }
    // Somebody of each group got it.
    for (const name of world.skipped) {
      const others = [...world.opened.keys()];
      expect(others.some((other) => world.mergedAt.has(pair(name, other)))).toBe(true);
    }
  },
);
