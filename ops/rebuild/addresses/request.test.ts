import { expect, it } from 'vitest';
import { CommandError } from '../../../cli/command.ts';
import { parseAddressesLine } from './request.ts';

it('rebuild addresses compares, swaps or both', () => {
  expect(parseAddressesLine(['addresses', '--compare', '--json'])).toMatchObject({
    ...{ compare: true, swap: false, json: true, maxDiffering: 0 },
  });
  const both = ['addresses', '--compare', '--swap', '--max-differing', '3'];
  expect(parseAddressesLine(both)).toMatchObject({ swap: true, maxDiffering: 3 });
});

it.each([
  [[]],
  [['--compare', '--into', 'x']],
  [['--compare', '--source', 'raw']],
  [['--undo']],
  [['--cancel', '--compare']],
  [['--swap', '--max-differing', '3']],
  [['--compare', '--swap', '--max-differing', 'many']],
])('rebuild addresses %j is refused', (more) => {
  expect(() => parseAddressesLine(['addresses', ...more])).toThrow(CommandError);
});
