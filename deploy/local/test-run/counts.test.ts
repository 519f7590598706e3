import { describe, expect, it } from 'vitest';
import {
  add,
  countAgain,
  countIsolated,
  countRun,
  failedFiles,
  lastLines,
  readLastLines,
  type Counts,
  type VitestReport,
  type VitestRun,
} from './counts.ts';

const report = (
  passed: number,
  failed: number,
  testResults: VitestReport['testResults'] = [],
): VitestReport => ({
  numPassedTests: passed,
  numFailedTests: failed,
  testResults,
});
const file = (status: string, ...results: string[]) => ({
  ...{ name: '/checkout/a.test.ts', status, message: 'no such module' },
  assertionResults: results.map((one, index) => ({
    ...{ status: one, fullName: `test ${index}`, failureMessages: ['expected 1\n  to be 2'] },
  })),
});
const OF = { kind: 'unit', checkout: '/checkout' };
type Finished = Omit<VitestRun, 'errors'> & Partial<Pick<VitestRun, 'errors'>>;
const count = (run: Finished) => countRun({ errors: [], ...run }, OF);
const again = (first: Finished, second: Counts) =>
  countAgain({ first: { errors: [], ...first }, counts: count(first), again: second }, OF);
const SECOND_FAILED = 'FAILED: unit a.test.ts > test 1 -- expected 1 to be 2';
const NOT_LOADED = 'FAILED: unit a.test.ts > was not loaded -- no such module';

describe('the counts of a test run', () => {
  it('are those of the report, with a line for each test that failed', () => {
    expect(count({ report: report(5, 0), exitCode: 0 })).toEqual({
      ...{ passed: 5, failed: 0, remarks: [] },
    });
    expect(
      count({ report: report(5, 1, [file('failed', 'passed', 'failed')]), exitCode: 1 }),
    ).toEqual({ passed: 5, failed: 1, remarks: [SECOND_FAILED] });
  });

  it('include a file that could not be loaded as a failure', () => {
    const results = [file('failed'), file('failed', 'passed', 'failed')];
    expect(count({ report: report(5, 1, results), exitCode: 1 })).toEqual({
      ...{ passed: 5, failed: 2, remarks: [NOT_LOADED, SECOND_FAILED] },
    });
  });

  it('include an error outside of tests as a failure, whatever failed beside it', () => {
    const errors = [{ file: '/checkout/b.test.ts', message: 'nobody caught this' }];
    const outside = 'FAILED: unit b.test.ts > an error outside of tests -- nobody caught this';
    expect(count({ report: report(5, 0), exitCode: 1, errors })).toEqual({
      ...{ passed: 5, failed: 1, remarks: [outside] },
    });
    const both = {
      report: report(5, 1, [file('failed', 'passed', 'failed')]),
      exitCode: 1,
      errors,
    };
    expect(count(both)).toMatchObject({ failed: 2, remarks: [SECOND_FAILED, outside] });
    expect(count({ report: undefined, exitCode: 1, errors })).toMatchObject({ failed: 2 });
    // The files that failed passed the second time; nobody knows whether this one would.
    const passedNow = count({
      ...{ report: report(2, 0, [file('passed', 'passed', 'passed')]), exitCode: 0 },
    });
    expect(again(both, passedNow)).toEqual({
      ...{ passed: 6, failed: 1 },
      remarks: [outside, SECOND_FAILED.replace('FAILED', 'UNSTEADY')],
    });
    const unknown = [{ file: '', message: 'a worker died' }];
    expect(again({ ...both, errors: unknown }, passedNow)).toMatchObject({ failed: 1 });
  });

  it('name an error outside of tests as unsteady when its file failed, and passed without it', () => {
    const errors = [{ file: '/checkout/a.test.ts', message: 'too late' }];
    const first = {
      report: report(5, 1, [file('failed', 'passed', 'failed')]),
      exitCode: 1,
      errors,
    };
    const passedNow = { report: report(2, 0, [file('passed', 'passed', 'passed')]), exitCode: 0 };
    expect(again(first, count(passedNow))).toMatchObject({
      failed: 0,
      remarks: [expect.stringContaining('UNSTEADY'), expect.stringContaining('too late')],
    });
    expect(again(first, count({ ...passedNow, exitCode: 1, errors }))).toMatchObject({ failed: 1 });
  });

  it('include a crash of the runner, an error that nobody noted and an empty run as failures', () => {
    for (const [run, passed] of [
      [{ report: undefined, exitCode: null }, 0],
      [{ report: report(5, 0), exitCode: 1 }, 5],
      [{ report: report(5, 0), exitCode: null }, 5],
      [{ report: report(0, 0), exitCode: 0 }, 0],
    ] as const)
      expect(count(run)).toMatchObject({ passed, failed: 1, remarks: [expect.any(String)] });
  });

  it('of files that ran once more are those of the second run, and name what is unsteady', () => {
    const first = { report: report(7, 2, [file('failed', 'passed', 'failed')]), exitCode: 1 };
    expect(failedFiles({ ...first, errors: [] })).toEqual(['/checkout/a.test.ts']);
    const passedNow = { report: report(2, 0, [file('passed', 'passed', 'passed')]), exitCode: 0 };
    expect(again(first, count(passedNow))).toEqual({
      ...{ passed: 8, failed: 0, remarks: [SECOND_FAILED.replace('FAILED', 'UNSTEADY')] },
    });
    const failedAgain = { report: report(1, 1, [file('failed', 'passed', 'failed')]), exitCode: 1 };
    expect(again(first, count(failedAgain))).toEqual({
      ...{ passed: 7, failed: 1, remarks: [SECOND_FAILED] },
    });
    const broken = count({ report: undefined, exitCode: null });
    expect(again(first, broken)).toEqual(count(first));
  });

  it('of files in processes of their own replace those with errors outside of tests', () => {
    const errors = [{ file: '/checkout/a.test.ts', message: 'late' }];
    const first = count({ report: report(1, 0, [file('passed', 'passed')]), exitCode: 1, errors });
    const clean = { passed: 1, failed: 0, remarks: [] };
    expect(countIsolated(first, clean)).toEqual({
      ...{ passed: 1, failed: 0 },
      remarks: ['UNSTEADY: unit a.test.ts > an error outside of tests -- late'],
    });
    expect(countIsolated(first, first)).toEqual(first);
  });

  it('are summed and printed in the last line, after the lines of what failed', () => {
    const sum = add(
      { passed: 5, failed: 0, remarks: [] },
      { passed: 7, failed: 1, remarks: [SECOND_FAILED] },
    );
    expect(lastLines(sum)).toBe(`${SECOND_FAILED}\n12 passed, 1 failed`);
  });

  it('of another process are in its last lines; without them it failed', () => {
    const counts = { passed: 31, failed: 2, remarks: [SECOND_FAILED, NOT_LOADED] };
    const read = (output: string) => readLastLines(output, 'others');
    expect(read(`5 passed, 0 failed\nmore\n${lastLines(counts)}\n`)).toEqual(counts);
    for (const output of ['', '5 passed, 0 failed\nkilled', 'passed'])
      expect(read(output)).toMatchObject({ passed: 0, failed: 1 });
  });
});
