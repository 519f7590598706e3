import { expect, it } from 'vitest';
import { changeInProgress } from './steady-log.ts';

const growth = { change: { kind: 'grow' }, nextPartitions: 6 };
const rewrite = { change: { kind: 'rewrite', topic: 'events.raw' }, nextPartitions: undefined };

it('A change of the log that can be cancelled is completed or cancelled before another command', () => {
  for (const phase of ['preparing', 'holding'] as const)
    expect(changeInProgress({ ...growth, phase })).toBe(
      'the log grows to 6 partitions: complete it first with ./ravand log grow --partitions 6, or go back with ./ravand log grow --cancel',
    );
});

it('A growth that has written its marks can only be completed', () => {
  for (const phase of ['switching', 'draining'] as const)
    expect(changeInProgress({ ...growth, phase })).toBe(
      'the log grows to 6 partitions: complete it first with ./ravand log grow --partitions 6',
    );
});

it('The rewriting of a topic names the command that completes it, in every phase', () => {
  for (const phase of ['preparing', 'holding', 'switching', 'draining'] as const)
    expect(changeInProgress({ ...rewrite, phase })).toBe(
      'events.raw is being rewritten: complete it first with ./ravand erase rewrite',
    );
});

it('A steady log has no change in progress', () => {
  const steady = { phase: 'steady', change: undefined, nextPartitions: undefined } as const;
  expect(changeInProgress(steady)).toBeUndefined();
});
