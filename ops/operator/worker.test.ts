import { expect, it } from 'vitest';
import type { Log } from '../../platform/log.ts';
import type { OwnedOperation } from './operation-queue.ts';
import type { CommandEnd, OperationEnd } from './result-of.ts';
import { work } from './worker.ts';

const OWNED: OwnedOperation = {
  ...{ id: 4, accountId: 7, epoch: 1 },
  operation: { kind: 'dead_letters.redrive', input: { group: 'ab12', dry_run: false } },
};
const END: CommandEnd = { code: 0, stdout: '{"events":1}', stderr: '', isStopped: false };
const log = { info: () => undefined, warn: () => undefined } as unknown as Log;

/** A queue with one operation, and what a worker did with it. */
function queueOfOne() {
  const left = [OWNED];
  const done: { ended: OperationEnd[]; released: number } = { ended: [], released: 0 };
  const queue = {
    claim: () => Promise.resolve(left.pop()),
    renew: () => Promise.resolve('go_on' as const),
    end(_: OwnedOperation, end: OperationEnd) {
      done.ended.push(end);
      return Promise.resolve();
    },
    release() {
      done.released++;
      return Promise.resolve();
    },
  };
  return { queue, done };
}

it('an operation ends with what its command printed', async () => {
  const { queue, done } = queueOfOne();
  const end = new AbortController();
  const lines: (readonly string[])[] = [];
  const run = (line: readonly string[]) => {
    lines.push(line);
    end.abort();
    return Promise.resolve(END);
  };
  await work({ queue, run, log }, { isLong: false, most: 1, signal: end.signal });
  expect(lines).toEqual([['dlq', 'redrive', 'ab12', '--account=7', '--json']]);
  expect(done).toEqual({
    ...{ released: 0, ended: [{ state: 'succeeded', result: { events: 1 }, error: '' }] },
  });
});

it('a process that ends stops its command and gives the operation back', async () => {
  const { queue, done } = queueOfOne();
  const end = new AbortController();
  const run = (_: readonly string[], { stop }: { stop: AbortSignal }) =>
    new Promise<CommandEnd>((resolve) => {
      stop.addEventListener('abort', () => resolve({ ...END, code: 1, stdout: '' }));
      end.abort();
    });
  await work({ queue, run, log }, { isLong: false, most: 1, signal: end.signal });
  expect(done).toEqual({ released: 1, ended: [] });
});
