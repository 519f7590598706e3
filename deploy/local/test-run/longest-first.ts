import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Contract tests that wait for a minute: begun last, they would keep the whole run waiting. Vitest
 * knows durations of earlier runs only.
 */
const LONGEST = [
  'test/contract/management/usage.test.ts',
  'test/contract/management/route-table.test.ts',
  'test/contract/management/messages.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((path) => moduleId.endsWith(path));
      return at < 0 ? LONGEST.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => place(one) - place(other));
  }
}
