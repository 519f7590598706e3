import { describe, expect, test } from 'vitest';
import { QueueBounds, type RelayQueue } from './queue-bounds.ts';

const NONE = { rows: 0, bytes: 0 };
const [A, B, OTHER] = [
  { relayId: 1, accountId: 1 },
  { relayId: 2, accountId: 1 },
  { relayId: 3, accountId: 2 },
];

function queue(owner: typeof A, sizes: Partial<RelayQueue>): RelayQueue {
  return { ...owner, pending: NONE, dead: NONE, ...sizes };
}

describe('the bounds of stored deliveries', () => {
  test('give a relay half of the rows of its account, and leave the other accounts alone', () => {
    const bounds = new QueueBounds({ rows: 4, bytes: 1000 });
    bounds.update([queue(A, { pending: { rows: 2, bytes: 2 } })]);
    const rooms = () => [A, B, OTHER].map((owner) => bounds.hasRoom(owner, 'pending'));
    expect(rooms()).toEqual([false, true, true]);
    bounds.add(B, 'pending', 1);
    expect(rooms()).toEqual([false, true, true]);
    bounds.add(B, 'pending', 1);
    expect(rooms()).toEqual([false, false, true]);
    expect(bounds.hasRoom(A, 'dead')).toBe(true);
  });

  test('bound the bytes in the same way', () => {
    const bounds = new QueueBounds({ rows: 100, bytes: 1000 });
    bounds.update([queue(A, { dead: { rows: 1, bytes: 499 } })]);
    expect(bounds.hasRoom(A, 'dead')).toBe(true);
    bounds.add(A, 'dead', 1);
    expect([bounds.hasRoom(A, 'dead'), bounds.hasRoom(B, 'dead')]).toEqual([false, true]);
    bounds.add(B, 'dead', 500);
    expect([bounds.hasRoom(B, 'dead'), bounds.hasRoom(OTHER, 'dead')]).toEqual([false, true]);
  });

  test('never miss what is stored while the counts are read', () => {
    const bounds = new QueueBounds({ rows: 4, bytes: 1000 });
    bounds.add(A, 'pending', 1);
    bounds.startReading();
    bounds.add(A, 'pending', 1);
    bounds.update([]);
    expect(bounds.hasRoom(A, 'pending')).toBe(false);
    bounds.startReading();
    bounds.update([queue(A, { pending: { rows: 0, bytes: 0 } })]);
    expect(bounds.hasRoom(A, 'pending')).toBe(true);
  });
});
