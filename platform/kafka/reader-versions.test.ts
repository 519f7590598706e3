import { expect, it } from 'vitest';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { clientIdOf, rowsReadBy } from './reader-versions.ts';

it('The client id of a member says up to which version it reads rows', () => {
  expect(rowsReadBy(clientIdOf('ravand-events-sink'))).toBe(NEWEST_ROW_VERSION);
  expect(clientIdOf('ravand-events-sink')).toMatch(/^ravand-events-sink\.[\w.-]+$/);
  expect(rowsReadBy('ravand-events-sink')).toBe(1);
});
