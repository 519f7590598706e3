import { expect, it } from 'vitest';
import { messageLines, messageWarnings, runLines, runWarnings } from './campaign-runs.ts';

const NONE = { due: 0, planning: 0, confirm: 0, late_seconds: 0 };

it('runs of campaigns have a line while some wait', () => {
  expect(runLines(NONE)).toEqual([]);
  expect(runLines({ due: 2, planning: 1, confirm: 1200, late_seconds: 40 })).toEqual([
    'runs of campaigns: 2 due, 1 being planned (late 40 s), 1,200 waiting for a person to confirm them',
  ]);
});

it('a run that has been due for five minutes and is not planned is a warning', () => {
  expect(runWarnings({ ...NONE, planning: 1, late_seconds: 299 })).toEqual([]);
  expect(runWarnings({ ...NONE, planning: 1, late_seconds: 300 })).toEqual([
    'planner: a run of a campaign has been due for 5 min and is not planned; ./ravand logs planner shows why',
  ]);
});

const NO_MESSAGES = { due_chunks: 0, due_seconds: 0, outbox_rows: 0, outbox_seconds: 0 };

it('chunks that are due and outcomes that are not published have a line each', () => {
  expect(messageLines(NO_MESSAGES)).toEqual([]);
  const waiting = { due_chunks: 1200, due_seconds: 40, outbox_rows: 3, outbox_seconds: 20 };
  expect(messageLines(waiting)).toEqual([
    'messages: 1,200 chunks are due, for 40 s at most',
    'messages: 3 rows of outcomes are not published, for 20 s at most',
  ]);
});

it('outcomes that are not published for a minute are a warning, and due chunks are none', () => {
  const due = { ...NO_MESSAGES, due_chunks: 9, due_seconds: 9999 };
  expect(messageWarnings({ ...due, outbox_rows: 1, outbox_seconds: 59 })).toEqual([]);
  expect(messageWarnings({ ...NO_MESSAGES, outbox_rows: 1, outbox_seconds: 60 })).toEqual([
    'dispatcher: outcomes of messages have not been published for 60 s; ./ravand logs dispatcher shows why',
  ]);
});
