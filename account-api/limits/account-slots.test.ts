import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AccountBusy, AccountSlots, type SlotLimits } from './account-slots.ts';

const never = new AbortController().signal;

/** Slots whose work ends when the test says so. */
function observed(limits: SlotLimits) {
  const slots = new AccountSlots(limits);
  const running: { accountId: number; rank: number; end: () => void }[] = [];
  const started: number[] = [];
  const ask = (accountId: number, signal = never) =>
    slots.run({ accountId, signal }, (rank) => {
      started.push(accountId);
      return new Promise<void>((end) => running.push({ accountId, rank, end }));
    });
  /** Lets everything that can start do so. */
  const letStart = async () => {
    for (let step = 0; step < 10; step++) await Promise.resolve();
  };
  const end = async (at = 0) => {
    running.splice(at, 1)[0]?.end();
    await letStart();
  };
  return { slots, running, started, ask, end, letStart };
}

describe('AccountSlots', () => {
  it('runs at most perAccount of an account and total of all', async () => {
    const { running, ask, letStart, slots } = observed({ total: 3, perAccount: 2, waiting: 5 });
    for (const account of [1, 1, 1, 2, 2]) void ask(account);
    await letStart();
    expect(running.map(({ accountId }) => accountId)).toEqual([1, 1, 2]);
    expect(slots.counts).toEqual({ running: 3, waiting: 2 });
  });

  it('gives work the lowest free rank of its account', async () => {
    const { running, ask, end, letStart } = observed({ total: 5, perAccount: 3, waiting: 5 });
    for (const account of [1, 1, 1, 2]) void ask(account);
    await letStart();
    expect(running.map(({ rank }) => rank)).toEqual([1, 2, 3, 1]);
    await end(1);
    void ask(1);
    await letStart();
    expect(running.at(-1)?.rank).toBe(2);
  });

  it('rejects work beyond the queue of its account, and only of that account', async () => {
    const { ask, letStart } = observed({ total: 1, perAccount: 1, waiting: 2 });
    for (const account of [1, 1, 1]) void ask(account);
    await expect(ask(1)).rejects.toBeInstanceOf(AccountBusy);
    void ask(2);
    await letStart();
  });

  it('leaves the queue when the signal aborts, and passes its turn on', async () => {
    const { started, ask, end, letStart, slots } = observed({
      total: 1,
      perAccount: 1,
      waiting: 2,
    });
    void ask(1);
    const gone = new AbortController();
    const abandoned = ask(2, gone.signal);
    void ask(3);
    await letStart();
    gone.abort(new Error('the client left'));
    await expect(abandoned).rejects.toThrow('the client left');
    await end();
    expect(started).toEqual([1, 3]);
    expect(slots.counts).toEqual({ running: 1, waiting: 0 });
    await expect(ask(4, gone.signal)).rejects.toThrow('the client left');
  });

  it('frees the slot of work that fails', async () => {
    const slots = new AccountSlots({ total: 1, perAccount: 1, waiting: 1 });
    const failing = () => Promise.reject(new Error('no'));
    for (let at = 0; at < 3; at++)
      await expect(slots.run({ accountId: 1, signal: never }, failing)).rejects.toThrow('no');
    expect(slots.counts).toEqual({ running: 0, waiting: 0 });
  });

  it('differs by at most one turn between two accounts that wait, in every window', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('ask' as const), account: fc.constantFrom(1, 1, 1, 2, 3) }),
      fc.record({ kind: fc.constant('end' as const), at: fc.nat(5) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 80 }), async (steps) => {
        // per account no limit below the total: an account at its own limit has no turn to take
        const { running, started, ask, end, letStart } = observed({
          ...{ total: 2, perAccount: 2, waiting: 100 },
        });
        const asked = new Map<number, number>();
        /** Turns of each account, and who was waiting all the time, since a window began. */
        let windows: { turns: Map<number, number>; waiting: Set<number> }[] = [];
        const isWaiting = (account: number) =>
          (asked.get(account) ?? 0) > started.filter((one) => one === account).length;
        for (const one of steps) {
          const before = started.length;
          if (one.kind === 'ask') {
            asked.set(one.account, (asked.get(one.account) ?? 0) + 1);
            void ask(one.account);
            await letStart();
          } else if (running.length > 0) await end(one.at % running.length);
          for (const account of started.slice(before))
            for (const { turns } of windows) turns.set(account, (turns.get(account) ?? 0) + 1);
          const waiting = new Set([1, 2, 3].filter(isWaiting));
          windows = windows.map((window) => ({
            ...window,
            waiting: new Set([...window.waiting].filter((one) => waiting.has(one))),
          }));
          windows.push({ turns: new Map(), waiting });
          for (const window of windows) {
            const turns = [...window.waiting].map((account) => window.turns.get(account) ?? 0);
            if (turns.length > 1)
              expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(1);
          }
        }
      }),
      { seed: 13, numRuns: 300 },
    );
  });
});
