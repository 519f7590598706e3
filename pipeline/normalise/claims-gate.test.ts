import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ClaimsGate } from './claims-gate.ts';

const never = new AbortController().signal;

function gateWith() {
  const fills: (() => void)[] = [];
  const failures: unknown[] = [];
  let fail: Error | undefined;
  const gate = new ClaimsGate({
    fill: () =>
      fail === undefined
        ? new Promise<void>((resolve) => fills.push(resolve))
        : Promise.reject(fail),
    failed: (error) => failures.push(error),
  });
  return { gate, fills, failures, failWith: (error: Error) => (fail = error) };
}

async function opened() {
  const all = gateWith();
  all.gate.start();
  all.fills.shift()?.();
  await turn();
  return all;
}

describe('FillGate', () => {
  it('lets nobody in before the first filling', async () => {
    const { gate, fills } = gateWith();
    const entered = gate.enter(never);
    gate.start();
    await turn();
    expect(gate.isOpen).toBe(false);
    expect(fills).toHaveLength(1);
    fills[0]?.();
    expect(await entered).toBe(1);
  });

  it('fills only after everybody inside has left', async () => {
    const { gate, fills } = await opened();
    const [first, second] = [await gate.enter(never), await gate.enter(never)];
    gate.claimsLost(first);
    gate.leave();
    expect(fills).toHaveLength(0);
    gate.claimsLost(second);
    gate.leave();
    expect(fills).toHaveLength(1);
    const waiting = gate.enter(never);
    fills[0]?.();
    expect(await waiting).toBe(first + 1);
  });

  it('takes news of an earlier round for old', async () => {
    const { gate, fills } = await opened();
    const round = await gate.enter(never);
    gate.leave();
    gate.claimsLost();
    fills.shift()?.();
    await turn();
    gate.claimsLost(round);
    expect(gate.isOpen).toBe(true);
    expect(fills).toHaveLength(0);
  });

  it('gives up waiting when told to', async () => {
    const { gate, fills } = gateWith();
    const controller = new AbortController();
    gate.start();
    const entered = gate.enter(controller.signal);
    controller.abort(new Error('fenced'));
    await expect(entered).rejects.toThrow('fenced');
    await expect(gate.enter(controller.signal)).rejects.toThrow('fenced');
    fills[0]?.();
    await turn();
    expect(gate.isOpen).toBe(true);
    gate.claimsLost();
    expect(fills).toHaveLength(2);
  });

  it('stays shut and says so when the filling fails', async () => {
    const { gate, failures, failWith } = gateWith();
    failWith(new Error('no'));
    gate.start();
    await turn();
    expect(failures).toEqual([new Error('no')]);
    expect(gate.isOpen).toBe(false);
  });
});
