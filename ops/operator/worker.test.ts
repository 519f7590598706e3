import { describe, expect, it } from 'vitest';
import type { Log } from '../../platform/log.ts';
import type { CommandReport, OperationWait } from '../../platform/operations/operation-wait.ts';
import type { Operation } from '../../platform/operations/operation.ts';
import { WakeSignal } from '../../platform/wake-signal.ts';
import type { OwnedOperation } from './operation-queue.ts';
import type { CommandEnd, OperationEnd } from './result-of.ts';
import { work, type WorkerPorts } from './worker.ts';

const OWNED: OwnedOperation = {
  ...{ id: 4, accountId: 7, epoch: 1 },
  operation: { kind: 'dead_letters.redrive', input: { group: 'ab12', dry_run: false } },
  ...{ erasure: undefined, hasWaited: false },
};
const END: CommandEnd = { code: 0, stdout: '{"events":1}', stderr: '', isStopped: false };
const log = { info: () => undefined, warn: () => undefined } as unknown as Log;

interface Done {
  ended: OperationEnd[];
  released: number;
  /** With what the command reported. */
  givenBack: CommandReport[];
  lines: (readonly string[])[];
}

/** Works on one operation until `end` aborts; what the worker did with it. */
async function workOn(
  owned: OwnedOperation,
  {
    run,
    renew = () => Promise.resolve('go_on'),
  }: Partial<WorkerPorts['queue']> & { run: WorkerPorts['run'] },
  end: AbortController,
): Promise<Done> {
  const left = [owned];
  const done: Done = { ended: [], released: 0, givenBack: [], lines: [] };
  const queue: WorkerPorts['queue'] = {
    sweep: () => Promise.resolve(left.length > 0 ? 0 : undefined),
    forget: () => Promise.resolve(),
    claim: ({ isLong }) => Promise.resolve(isLong ? undefined : left.pop()),
    renew,
    end(_, ended) {
      done.ended.push(ended);
      end.abort();
      return Promise.resolve();
    },
    giveBack(_, report) {
      done.givenBack.push(report);
      end.abort();
      return Promise.resolve();
    },
    release() {
      done.released++;
      return Promise.resolve();
    },
  };
  const noted: WorkerPorts['run'] = (line, options) => {
    done.lines.push(line);
    return run(line, options);
  };
  await work({ queue, run: noted, log }, { wake: new WakeSignal(), signal: end.signal });
  return done;
}

/** A command that runs until it is stopped. */
const untilStopped = (_: readonly string[], { stop }: { stop: AbortSignal }) =>
  new Promise<CommandEnd>((resolve) => {
    stop.addEventListener('abort', () =>
      resolve({ ...END, code: undefined, stdout: '', isStopped: true }),
    );
  });

it('an operation ends with what its command printed', async () => {
  const done = await workOn(OWNED, { run: () => Promise.resolve(END) }, new AbortController());
  expect(done).toEqual({
    lines: [['dlq', 'redrive', 'ab12', '--account=7', '--json']],
    ...{
      released: 0,
      givenBack: [],
      ended: [{ state: 'succeeded', result: { events: 1 }, error: '' }],
    },
  });
});

it('a process that ends stops its command and gives the operation back', async () => {
  const end = new AbortController();
  const run: WorkerPorts['run'] = (line, options) => {
    queueMicrotask(() => end.abort());
    return untilStopped(line, options);
  };
  expect(await workOn(OWNED, { run }, end)).toMatchObject({ released: 1, ended: [] });
});

it('a process that has lost an operation stops its command and says nothing about its end', async () => {
  const end = new AbortController();
  const run: WorkerPorts['run'] = async (line, options) => {
    const ended = await untilStopped(line, options);
    queueMicrotask(() => end.abort());
    return ended;
  };
  const lost = () => Promise.resolve('lost' as const);
  expect(await workOn(OWNED, { run, renew: lost }, end)).toMatchObject({ released: 0, ended: [] });
});

it('a command that a member stops ends, and its operation is stopped', async () => {
  const renew = () => Promise.resolve('stop' as const);
  const done = await workOn(OWNED, { run: untilStopped, renew }, new AbortController());
  expect(done.ended).toEqual([{ state: 'stopped', result: undefined, error: '' }]);
});

it('what a killed process left is done again only when that changes nothing twice', async () => {
  const restore: Operation = {
    kind: 'dead_letters.restore',
    input: { group: 'ab12', dry_run: false },
  };
  const run = () => Promise.resolve(END);
  const again = { ...OWNED, epoch: 2 };
  const done = await workOn({ ...again, operation: restore }, { run }, new AbortController());
  expect(done.lines).toEqual([]);
  expect(done.ended).toMatchObject([{ state: 'failed' }]);
  expect((await workOn(again, { run }, new AbortController())).lines).toHaveLength(1);
});

describe('an erasure that waits', () => {
  const ERASURE: OwnedOperation = {
    ...{ ...OWNED, epoch: 2, hasWaited: true },
    operation: { kind: 'person.erase', input: { user_id: 'sara', dry_run: false } },
  };
  const WAIT: OperationWait = { key: 'spool_unknown', service: 'ingest-gateway', instance: 'i' };

  it('is given back with its reason and its number', async () => {
    const run: WorkerPorts['run'] = (line, options) => {
      options.onReport({ erasure: 3 });
      options.onReport({ waits: [WAIT] });
      return untilStopped(line, options);
    };
    const done = await workOn(ERASURE, { run }, new AbortController());
    expect(done).toMatchObject({ ended: [], givenBack: [{ erasure: 3, waits: [WAIT] }] });
  });

  it('keeps its process when it goes on', async () => {
    const end = new AbortController();
    const run: WorkerPorts['run'] = async (_, { stop, onReport }) => {
      onReport({ waits: [WAIT] });
      onReport({ waits: [] });
      await new Promise((resolve) => setTimeout(resolve, 2500));
      return { ...END, isStopped: stop.aborted };
    };
    const done = await workOn(ERASURE, { run }, end);
    expect(done).toMatchObject({ givenBack: [], ended: [{ state: 'succeeded' }] });
  });

  it('says in the queue for what it waits while it has its process', async () => {
    const end = new AbortController();
    const renewed: CommandReport[] = [];
    const renew: WorkerPorts['queue']['renew'] = (_, report) => {
      renewed.push(report);
      return Promise.resolve('stop');
    };
    const run: WorkerPorts['run'] = (line, options) => {
      options.onReport({ erasure: 3, waits: [WAIT] });
      return untilStopped(line, options);
    };
    await workOn({ ...ERASURE, hasWaited: false }, { run, renew }, end);
    expect(renewed[0]).toEqual({ erasure: 3, waits: [WAIT] });
  });

  it('is continued by its number', async () => {
    const run = () => Promise.resolve(END);
    const done = await workOn({ ...ERASURE, erasure: 3 }, { run }, new AbortController());
    expect(done.lines).toEqual([['erase', '--resume=3', '--json']]);
  });
});
