import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '../../platform/log.ts';
import type { AudienceStore, ClaimedAudience } from './audience-store.ts';
import { runAudienceWorker } from './worker.ts';

const claimed = (audience: string, accountId = 1): ClaimedAudience => ({
  ...{ accountId, audience, definition: { trait: 'vip', op: 'is_set' } },
  ...{ bits: 0, otherNames: 0, attempt: '1' },
});

let due: ClaimedAudience[];
let steps: string[];
let isDown: boolean;
let areThere: boolean;
let readMembers: (signal: AbortSignal) => Promise<Readable>;
let ending: AbortController;
let worker: Promise<void>;

const step = <T>(name: string, value: T): Promise<T> => {
  steps.push(name);
  return isDown ? Promise.reject(new Error('down')) : Promise.resolve(value);
};

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  due = [];
  steps = [];
  [isDown, areThere] = [false, true];
  readMembers = () => Promise.resolve(Readable.from([Buffer.alloc(8)]));
  ending = new AbortController();
});
afterEach(async () => {
  ending.abort();
  await worker;
  vi.useRealTimers();
});

function start(): void {
  const store = {
    synchronise: () => step('synchronise', areThere),
    claim: (except: readonly number[]) => {
      const at = due.findIndex(({ accountId }) => !except.includes(accountId));
      return step('claim', at < 0 ? undefined : due.splice(at, 1)[0]);
    },
    digests: () => step('digests', new Map<number, string>()),
    writeChunk: () => step('write', undefined),
    finish: ({ audience }: ClaimedAudience) => step(`finish ${audience}`, true),
    release: ({ audience }: ClaimedAudience, after: number) =>
      step(`release ${audience} ${after}`, undefined),
  } as unknown as AudienceStore;
  worker = runAudienceWorker({
    store,
    readMembers: ({ signal }) => readMembers(signal),
    sweepShown: () => step('sweep', 0),
    measure: () => step('measure', undefined),
    log: createLog({ part: 'test', level: 'silent' }),
    now: Date.now,
    signal: ending.signal,
  });
}
const count = (name: string) => steps.filter((one) => one === name).length;

it('The worker computes what is due, one audience of an account after the other', async () => {
  due = [claimed('a'), claimed('b')];
  start();
  await vi.advanceTimersByTimeAsync(500);
  const finished = steps.filter((one) => one.startsWith('finish'));
  expect(finished).toEqual(['finish a', 'finish b']);
});

it('A slow audience delays those of its account only', async () => {
  let slow = () => {};
  const waits = new Promise<void>((resolve) => (slow = resolve));
  let reads = 0;
  readMembers = async () => {
    if (reads++ === 0) await waits;
    return Readable.from([Buffer.alloc(8)]);
  };
  due = [claimed('slow'), claimed('next'), ...[2, 3, 4, 5].map((id) => claimed(`of ${id}`, id))];
  start();
  await vi.advanceTimersByTimeAsync(3000);
  const finished = () => steps.filter((one) => one.startsWith('finish')).toSorted();
  expect(finished()).toEqual([2, 3, 4, 5].map((id) => `finish of ${id}`));
  slow();
  await vi.advanceTimersByTimeAsync(3000);
  expect(finished()).toContain('finish slow');
  expect(finished()).toContain('finish next');
});

it('No more than four audiences are read at once', async () => {
  let reading = 0;
  readMembers = (signal) => {
    reading++;
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('ended'))),
    );
  };
  due = [1, 2, 3, 4, 5, 6].map((id) => claimed(`of ${id}`, id));
  start();
  await vi.advanceTimersByTimeAsync(3000);
  expect(reading).toBe(4);
});

it('It looks for campaigns, measures and sweeps also while audiences are always due', async () => {
  start();
  for (let second = 0; second < 121; second++) {
    due.push(claimed('a'), claimed('b'));
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(count('synchronise')).toBeGreaterThan(50);
  expect(count('measure')).toBeGreaterThan(7);
  expect(count('sweep')).toBe(3);
});

it('It claims nothing while there are no audiences, and what is added within two seconds', async () => {
  areThere = false;
  start();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(count('claim')).toBe(0);
  areThere = true;
  due = [claimed('a')];
  await vi.advanceTimersByTimeAsync(2000);
  expect(steps).toContain('finish a');
});

it('An audience that cannot be read is due again later, and the others are computed', async () => {
  let reads = 0;
  readMembers = () =>
    reads++ === 0
      ? Promise.reject(new Error('ClickHouse is down'))
      : Promise.resolve(Readable.from([Buffer.alloc(0)]));
  due = [claimed('a'), claimed('b')];
  start();
  await vi.advanceTimersByTimeAsync(500);
  expect(steps).toEqual(expect.arrayContaining(['release a 10', 'finish b']));
});

it('It goes on after PostgreSQL was unreachable', async () => {
  isDown = true;
  start();
  await vi.advanceTimersByTimeAsync(5000);
  expect(count('claim')).toBe(0);
  isDown = false;
  due = [claimed('a')];
  await vi.advanceTimersByTimeAsync(2000);
  expect(steps).toContain('finish a');
});

it('It gives its audience back when the process ends', async () => {
  readMembers = (signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
  due = [claimed('a')];
  start();
  await vi.advanceTimersByTimeAsync(100);
  ending.abort();
  await worker;
  expect(steps.at(-1)).toBe('release a 0');
});
