/** The result of a test run. */
export interface Counts {
  passed: number;
  failed: number;
}

/** The fields of vitest's JSON report that are read. */
export interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  testResults: readonly {
    name: string;
    status: string;
    message: string;
    assertionResults: readonly { status: string }[];
  }[];
}

export const NONE: Counts = { passed: 0, failed: 0 };

export function add(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed };
}

/**
 * Counts a run of vitest. One failure each: a file that could not be loaded, a run that failed
 * although every test passed (a crash, an error outside of tests), a run without a report, and a
 * run without tests.
 */
export function countRun({
  report,
  exitCode,
}: {
  report: VitestReport | undefined;
  exitCode: number | null;
}): Counts {
  if (report === undefined) return { passed: 0, failed: 1 };
  const brokenFiles = report.testResults.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some((one) => one.status === 'failed'),
  ).length;
  const passed = report.numPassedTests;
  const failed = report.numFailedTests + brokenFiles;
  const unexplained = failed === 0 && (exitCode !== 0 || passed === 0);
  return { passed, failed: unexplained ? 1 : failed };
}

/** The last line of `./ravand test`. */
export function lastLine({ passed, failed }: Counts): string {
  return `${passed} passed, ${failed} failed`;
}

/** What the last line of a run says; a run without one is a failure. */
export function readLastLine(output: string): Counts {
  const [, passed, failed] = /(?:^|\n)(\d+) passed, (\d+) failed\s*$/.exec(output) ?? [];
  return passed === undefined
    ? { passed: 0, failed: 1 }
    : { passed: Number(passed), failed: Number(failed) };
}
