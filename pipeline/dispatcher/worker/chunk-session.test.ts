import { describe, expect, it } from 'vitest';
import { withBits } from '../chunk/bits.ts';
import { newChunk } from '../chunk/chunk-state.ts';
import { ChunkSession } from './chunk-session.ts';
import type { PreparedMessage } from './ports.ts';

const NOW = 1_000_000;
const MESSAGE: PreparedMessage = {
  messages: [
    {
      messageId: 'm',
      to: { kind: 'phone', number: '09150000000' },
      content: { subject: '', title: '', text: 'سلام', html: '', url: '', data: {} },
      expiresAt: 0,
    },
  ],
  ...{ userId: 'u', resolvedAt: NOW + 5000, addressHash: 'h', capOf: '' },
};

/** Of a chunk with one recipient: an idempotent provider was called, and its answer is lost. */
function lostAnswer() {
  const chunk = newChunk(1);
  const session = new ChunkSession({
    state: { ...chunk, opened: withBits(chunk.opened, { set: [0] }) },
    ...{ provider: 'kavenegar', isRepeatable: true, isIdempotent: true },
    ...{ isCancelled: false, isHeld: false, isControl: () => false, now: NOW },
  });
  expect(session.takeToPrepare(1)).toEqual([0]);
  session.prepared(0, { kind: 'wait', until: NOW + 5000 });
  expect(session.plan({ permits: 1, now: NOW }).planned).toBeUndefined();
  expect(session.waitsUntil).toBe(NOW + 5000);
  return session;
}

describe('an attempt that is repeated, and may not be sent at the moment', () => {
  it('waits like others, and is repeated then', () => {
    const session = lostAnswer();
    session.endWaits(NOW + 5000);
    expect(session.takeToPrepare(1)).toEqual([0]);
    session.prepared(0, { kind: 'send', message: MESSAGE });
    const { calls } = session.plan({ permits: 1, now: NOW + 5000 });
    expect(calls).toEqual([{ index: 0, message: MESSAGE }]);
    session.answered(
      0,
      { kind: 'sent', providerMessageId: 'p' },
      { now: NOW + 5000, random: 0, deadlineAt: Infinity },
    );
    const { planned } = session.plan({ permits: 1, now: NOW + 5000 });
    expect(planned?.outcomes).toMatchObject([{ index: 0, status: 'sent' }]);
  });

  it('is unknown when the deadline of the run passes before', () => {
    const session = lostAnswer();
    session.expire();
    const { planned } = session.plan({ permits: 1, now: NOW });
    expect(planned?.outcomes).toMatchObject([
      { index: 0, status: 'failed', reason: 'outcome_unknown' },
    ]);
  });

  it('is unknown when nobody may be sent to any more', () => {
    const session = lostAnswer();
    session.endWaits(NOW + 5000);
    session.takeToPrepare(1);
    const skipped = { status: 'skipped', reason: 'unsubscribed', addressHash: '' } as const;
    session.prepared(0, { kind: 'finish', ...skipped });
    const { planned } = session.plan({ permits: 1, now: NOW + 5000 });
    expect(planned?.outcomes).toMatchObject([
      { index: 0, status: 'failed', reason: 'outcome_unknown' },
    ]);
  });
});

describe('a message that cannot be rendered now', () => {
  /** Of a chunk with one recipient, whose place under the frequency cap is to be released. */
  function released() {
    const session = new ChunkSession({
      ...{ state: newChunk(1), provider: 'smtp', isRepeatable: false, isIdempotent: false },
      ...{ isCancelled: false, isHeld: false, isControl: () => false, now: NOW },
    });
    expect(session.takeToPrepare(1)).toEqual([0]);
    session.prepared(0, { kind: 'wait', until: NOW + 5000, capOf: 'p' });
    const { planned } = session.plan({ permits: 1, now: NOW });
    expect(planned).toMatchObject({ capReleases: [{ index: 0, capOf: 'p' }], outcomes: [] });
    session.endWaits(NOW + 5000);
    expect(session.toPrepareCount).toBe(0);
    return session;
  }

  it('gets a new place under the cap only after its former one was released', () => {
    const session = released();
    session.written({ mayOpen: true, isCancelled: false, now: NOW + 4999 });
    session.endWaits(NOW + 4999);
    expect(session.toPrepareCount).toBe(0);
    session.endWaits(NOW + 5000);
    expect(session.takeToPrepare(1)).toEqual([0]);
  });

  it('is skipped when its run is cancelled meanwhile', () => {
    const session = released();
    session.written({ mayOpen: false, isCancelled: true, now: NOW });
    const { planned } = session.plan({ permits: 1, now: NOW });
    expect(planned?.outcomes).toMatchObject([{ status: 'skipped', reason: 'cancelled' }]);
    expect(session.isDone).toBe(false);
  });
});
