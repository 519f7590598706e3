import { relative } from 'node:path';
import type { OutsideError } from './outside-errors.ts';

/** The result of a test run. */
export interface Counts {
  passed: number;
  failed: number;
  /** A line for each test that failed, and for each that passed only the second time. */
  remarks: readonly string[];
}

/** The fields of vitest's JSON report that are read. */
export interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  testResults: readonly {
    name: string;
    status: string;
    message: string;
    assertionResults: readonly {
      status: string;
      fullName?: string;
      failureMessages?: readonly string[] | null;
    }[];
  }[];
}

export const NONE: Counts = { passed: 0, failed: 0, remarks: [] };

/** One failure, with the line that says what failed. */
export const failure = (what: string): Counts => ({
  ...{ passed: 0, failed: 1, remarks: [`FAILED: ${what}`] },
});

export function add(a: Counts, b: Counts): Counts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    remarks: [...a.remarks, ...b.remarks],
  };
}

/** What vitest leaves: its report, if it wrote one, and its exit code. */
export interface VitestRun {
  report: VitestReport | undefined;
  exitCode: number | null;
  errors: readonly OutsideError[];
}

/** What runs. */
interface RunOf {
  kind: string;
  checkout: string;
}

/**
 * Counts a run of vitest. One failure each: a file that could not be loaded, an error outside of
 * tests, a run that failed although every test passed, a run without a report, and a run without
 * tests.
 */
export function countRun({ report, exitCode, errors }: VitestRun, of: RunOf): Counts {
  const { kind, checkout } = of;
  const outside = errors.map((error) => remarkOutside(error, of));
  if (report === undefined)
    return add(failure(`${kind}: vitest wrote no report`), {
      ...{ passed: 0, failed: outside.length, remarks: outside },
    });
  const inside = report.testResults.flatMap((file) => {
    const path = `${kind} ${relative(checkout, file.name)}`;
    const failed = file.assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length > 0)
      return failed.map((one) => remark(path, one.fullName, one.failureMessages?.[0]));
    return file.status === 'failed' ? [remark(path, 'was not loaded', file.message)] : [];
  });
  const remarks = [...inside, ...outside];
  const passed = report.numPassedTests;
  if (remarks.length === 0 && (exitCode !== 0 || passed === 0))
    return { ...failure(`${kind}: vitest ended with ${exitCode}, ${passed} tests passed`), passed };
  return { passed, failed: remarks.length, remarks };
}

/** The files of a run in which something failed, when each failure belongs to a file. */
export function failedFiles({ report }: VitestRun): string[] {
  return (report?.testResults ?? [])
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name);
}

/**
 * The counts after failed files ran a second time: what failed first and passed now is counted as
 * passed, with a line that says so. So is an error outside of tests while one of these files ran;
 * any other stays. A second run that broke off changes nothing.
 */
export function countAgain(
  { first, counts, again }: { first: VitestRun; counts: Counts; again: Counts },
  of: RunOf,
): Counts {
  if (again.passed === 0) return counts;
  const failed = new Set(failedFiles(first));
  const passedBefore = (first.report?.testResults ?? [])
    .filter(({ name }) => failed.has(name))
    .flatMap((file) => file.assertionResults)
    .filter(({ status }) => status === 'passed').length;
  const lasting = first.errors
    .filter(({ file }) => !failed.has(file))
    .map((error) => remarkOutside(error, of));
  const unsteady = counts.remarks.filter(
    (line) =>
      !lasting.includes(line) && !again.remarks.some((other) => nameOf(other) === nameOf(line)),
  );
  return {
    passed: counts.passed - passedBefore + again.passed,
    failed: again.failed + lasting.length,
    remarks: [...[...again.remarks, ...lasting], ...unsteady.map(asUnsteady)],
  };
}

/**
 * The counts after a run with errors outside of tests ran once more, each file in a process of its
 * own. What is not there again was left by an earlier file of the same process: a line says so.
 */
export function countIsolated(first: Counts, again: Counts): Counts {
  if (again.failed > 0) return again;
  return { ...again, remarks: first.remarks.map(asUnsteady) };
}

const asUnsteady = (line: string) => line.replace('FAILED:', 'UNSTEADY:');

const SEPARATOR = ' -- ';
const LONGEST = 600;

function remark(path: string, test: string | undefined, message: string | undefined): string {
  const text = (message ?? '').replaceAll(/\s+/g, ' ').slice(0, LONGEST);
  return `FAILED: ${path} > ${test ?? ''}${SEPARATOR}${text}`;
}

function remarkOutside({ file, message }: OutsideError, { kind, checkout }: RunOf): string {
  const path = file === '' ? kind : `${kind} ${relative(checkout, file)}`;
  return remark(path, 'an error outside of tests', message);
}

const nameOf = (line: string) => line.split(SEPARATOR)[0];

/** The end of what `./ravand test` prints: what failed, then the counts. */
export function lastLines({ passed, failed, remarks }: Counts): string {
  return [...remarks, `${passed} passed, ${failed} failed`].join('\n');
}

/** What the last lines of a run say; a run without them is a failure of `what`. */
export function readLastLines(output: string, what: string): Counts {
  const [, passed, failed] = /(?:^|\n)(\d+) passed, (\d+) failed\s*$/.exec(output) ?? [];
  if (passed === undefined) return failure(`${what}: ended without counts`);
  const remarks = output.split('\n').filter((line) => /^(?:FAILED|UNSTEADY): /.test(line));
  return { passed: Number(passed), failed: Number(failed), remarks };
}
