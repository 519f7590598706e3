import { expect, it } from 'vitest';
import { runLines, runWarnings } from './campaign-runs.ts';

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
