import { describe, expect, it } from 'vitest';
import { add, countRun, lastLine, readLastLine, type VitestReport } from './counts.ts';

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
  name: 'a.test.ts',
  status,
  message: '',
  assertionResults: results.map((one) => ({ status: one })),
});

describe('the counts of a test run', () => {
  it('are those of the report', () => {
    expect(countRun({ report: report(5, 0), exitCode: 0 })).toEqual({ passed: 5, failed: 0 });
    expect(
      countRun({ report: report(5, 2, [file('failed', 'passed', 'failed')]), exitCode: 1 }),
    ).toEqual({ passed: 5, failed: 2 });
  });

  it('include a file that could not be loaded as a failure', () => {
    expect(
      countRun({ report: report(5, 1, [file('failed'), file('failed', 'failed')]), exitCode: 1 }),
    ).toEqual({ passed: 5, failed: 2 });
  });

  it('include a crash of the runner, an error outside of tests and an empty run as failures', () => {
    expect(countRun({ report: undefined, exitCode: null })).toEqual({ passed: 0, failed: 1 });
    expect(countRun({ report: report(5, 0), exitCode: 1 })).toEqual({ passed: 5, failed: 1 });
    expect(countRun({ report: report(5, 0), exitCode: null })).toEqual({ passed: 5, failed: 1 });
    expect(countRun({ report: report(0, 0), exitCode: 0 })).toEqual({ passed: 0, failed: 1 });
  });

  it('are summed and printed in one line', () => {
    expect(lastLine(add({ passed: 5, failed: 0 }, { passed: 7, failed: 1 }))).toBe(
      '12 passed, 1 failed',
    );
  });

  it('of another process are in its last line; without one it failed', () => {
    const counts = { passed: 31, failed: 2 };
    expect(readLastLine(`5 passed, 0 failed\nmore\n${lastLine(counts)}\n`)).toEqual(counts);
    for (const output of ['', '5 passed, 0 failed\nkilled', 'passed'])
      expect(readLastLine(output)).toEqual({ passed: 0, failed: 1 });
  });
});
