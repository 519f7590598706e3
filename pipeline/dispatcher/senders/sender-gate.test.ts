import { describe, expect, it } from 'vitest';
import { CallLimit } from '../../../platform/call-limit.ts';
import { RateLimiter } from './rate-limiter.ts';
import { SenderGate, type GateSender } from './sender-gate.ts';

const SENDER: GateSender = {
  ...{ identity: 'fcm:1', concurrency: 10, perSecond: undefined, accountPerSecond: undefined },
  isBroken: false,
};

function openGate(sender: Partial<GateSender> = {}) {
  let now = 10_000;
  const noRate = () =>
    new RateLimiter({
      ...{ grant: () => Promise.resolve(undefined), wake: () => undefined, now: () => now },
    });
  const phases: string[] = [];
  const gate = new SenderGate(1, {
    ...{ calls: new CallLimit({ calls: 1000 }), rate: noRate(), accountRate: noRate() },
    ...{ now: () => now, random: () => 0.5, onPhase: (phase) => phases.push(phase) },
  });
  gate.update({ ...SENDER, ...sender });
  const fail = (times: number, afterMs?: number) => {
    for (let call = 0; call < times; call++) gate.answered({ kind: 'failing', afterMs }, 5);
  };
  return { gate, phases, fail, wait: (ms: number) => (now += ms) };
}

describe('the gate of a sender', () => {
  it('gives as many permits as calls may be open', () => {
    const { gate } = openGate();
    expect([gate.take(7), gate.take(7), gate.take(7)]).toEqual([7, 3, 0]);
    gate.give(4);
    expect(gate.take(7)).toBe(4);
    expect(gate.openCalls).toBe(10);
  });

  it('gives none without a sender, or before a limit a second is granted', () => {
    const { gate } = openGate();
    gate.update(undefined);
    expect([gate.canSend, gate.take(5)]).toEqual([false, 0]);
    expect(openGate({ perSecond: 5 }).gate.take(5)).toBe(0);
    expect(openGate({ accountPerSecond: 5 }).gate.take(5)).toBe(0);
  });

  it('has room until somebody did not get all permits', () => {
    const { gate } = openGate();
    gate.take(9);
    expect(gate.hasRoom).toBe(true);
    gate.take(2);
    expect(gate.hasRoom).toBe(false);
  });

  it('is at its limits while it works and they leave no permit, but not when others leave none', () => {
    const { gate, fail, wait } = openGate();
    gate.take(10);
    expect(gate.isAtLimit).toBe(false);
    gate.take(1);
    expect(gate.isAtLimit).toBe(true);
    wait(10_000);
    expect(gate.isAtLimit).toBe(false);
    gate.take(1);
    fail(5);
    expect(gate.isAtLimit).toBe(false);
    for (const limit of [{ perSecond: 5 }, { accountPerSecond: 5 }]) {
      const limited = openGate(limit).gate;
      limited.take(5);
      expect(limited.isAtLimit).toBe(true);
    }
    const crowded = openGate({ concurrency: 5000 }).gate;
    crowded.take(3000);
    expect([crowded.hasRoom, crowded.isAtLimit]).toEqual([false, false]);
  });

  it('closes after failures in a row, tries one call later, and opens when it succeeds', () => {
    const { gate, phases, fail, wait } = openGate();
    fail(4);
    expect(gate.canSend).toBe(true);
    fail(1);
    expect([gate.canSend, gate.take(5)]).toEqual([false, 0]);
    wait(5000);
    expect([gate.canSend, gate.take(5), gate.take(5)]).toEqual([true, 1, 0]);
    gate.answered({ kind: 'working' }, 5);
    expect(gate.take(5)).toBe(5);
    expect(phases).toEqual(['open', 'closed']);
  });

  it('waits as long as the provider asked for, at most five minutes', () => {
    const { gate, fail, wait } = openGate();
    fail(5, 120_000);
    wait(119_000);
    expect(gate.canSend).toBe(false);
    wait(1000);
    expect(gate.canSend).toBe(true);
    const long = openGate();
    long.fail(5, 86_400_000);
    long.wait(300_000);
    expect(long.gate.canSend).toBe(true);
  });

  it('closes at once when the sender is refused, and a changed sender opens it', () => {
    const { gate } = openGate();
    gate.answered({ kind: 'broken' }, 5);
    expect(gate.canSend).toBe(false);
    gate.update({ ...SENDER, isBroken: true });
    expect(gate.canSend).toBe(false);
    gate.update({ ...SENDER, identity: 'fcm:2' });
    expect([gate.canSend, gate.take(5)]).toEqual([true, 5]);
  });

  it('tries a sender that is marked as broken with one message at a time, until it works', () => {
    const { gate } = openGate({ isBroken: true });
    expect([gate.take(5), gate.take(5)]).toEqual([1, 0]);
    gate.answered({ kind: 'working' }, 5);
    gate.give(1);
    expect(gate.take(5)).toBe(5);
  });

  it('wakes nobody when nothing is given back: they would ask and give back for ever', () => {
    const { gate } = openGate();
    let woken = 0;
    const stop = gate.onChange(() => woken++);
    gate.give(gate.take(0));
    expect(woken).toBe(0);
    gate.give(gate.take(3));
    expect(woken).toBe(1);
    stop();
    gate.wake();
    expect(woken).toBe(1);
  });

  it('knows how many messages it sends in a while, by its limits and its answers', () => {
    const { gate } = openGate();
    expect(gate.sendsWithin(4000)).toBe(10);
    gate.answered({ kind: 'working' }, 1000);
    expect(gate.sendsWithin(4000)).toBe(40);
    const limited = openGate({ perSecond: 2 });
    limited.gate.answered({ kind: 'working' }, 10);
    expect(limited.gate.sendsWithin(4000)).toBe(8);
    limited.fail(5);
    expect(limited.gate.sendsWithin(4000)).toBe(1);
  });
});
