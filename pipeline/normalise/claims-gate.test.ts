import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ClaimsGate } from './claims-gate.ts';

const never = new AbortController().signal;

function gateWith() {
  const loads: (() => void)[] = [];
  const failures: unknown[] = [];
  let fail: Error | undefined;
  const gate = new ClaimsGate({
    load: () =>
      fail === undefined
        ? new Promise<void>((resolve) => loads.push(resolve))
        : Promise.reject(fail),
    failed: (error) => failures.push(error),
  });
  return { gate, loads, failures, failWith: (error: Error) => (fail = error) };
}

async function opened() {
  const all = gateWith();
  all.gate.start();
  all.loads.shift()?.();
  await nextTurn();
  return all;
}

describe('the claims gate', () => {
  it('admits nobody before the first load', async () => {
    const { gate, loads } = gateWith();
    const entered = gate.enter(never);
    gate.start();
    await nextTurn();
    expect(gate.isOpen).toBe(false);
    expect(loads).toHaveLength(1);
    loads[0]?.();
    expect(await entered).toBe(1);
  });

  it('loads only after everybody inside has left', async () => {
    const { gate, loads } = await opened();
    const [first, second] = [await gate.enter(never), await gate.enter(never)];
    gate.claimsLost(first);
    gate.leave();
    expect(loads).toHaveLength(0);
    gate.claimsLost(second);
    gate.leave();
    expect(loads).toHaveLength(1);
    const waiting = gate.enter(never);
    loads[0]?.();
    expect(await waiting).toBe(first + 1);
  });

  it('ignores a loss that is reported for an earlier round', async () => {
    const { gate, loads } = await opened();
    const round = await gate.enter(never);
    gate.leave();
    gate.claimsLost();
    loads.shift()?.();
    await nextTurn();
    gate.claimsLost(round);
    expect(gate.isOpen).toBe(true);
    expect(loads).toHaveLength(0);
  });

  it('stops waiting when the signal aborts', async () => {
    const { gate, loads } = gateWith();
    const controller = new AbortController();
    gate.start();
    const entered = gate.enter(controller.signal);
    controller.abort(new Error('fenced'));
    await expect(entered).rejects.toThrow('fenced');
    await expect(gate.enter(controller.signal)).rejects.toThrow('fenced');
    loads[0]?.();
    await nextTurn();
    expect(gate.isOpen).toBe(true);
    gate.claimsLost();
    expect(loads).toHaveLength(2);
  });

  it('stays closed and reports the error when the load fails', async () => {
    const { gate, failures, failWith } = gateWith();
    failWith(new Error('no'));
    gate.start();
    await nextTurn();
    expect(failures).toEqual([new Error('no')]);
    expect(gate.isOpen).toBe(false);
  });
});
