import { expect, it } from 'vitest';
import { NEWEST_WRITTEN } from '../log/written-schemas.ts';
import { clientIdOf, versionReadBy } from './reader-versions.ts';

it('The client id of a member says up to which version it reads rows and outcomes', () => {
  const clientId = clientIdOf('ravand-events-sink');
  expect(versionReadBy(clientId, 'event-row')).toBe(NEWEST_WRITTEN['event-row']);
  expect(versionReadBy(clientId, 'ingest-outcome')).toBe(NEWEST_WRITTEN['ingest-outcome']);
  expect(clientId).toMatch(/^ravand-events-sink\.[\w.-]+\.rows-\d+$/);
  expect(versionReadBy('ravand-events-sink', 'event-row')).toBe(1);
  expect(versionReadBy('ravand-quality-sink.0.2.0.rows-2', 'ingest-outcome')).toBe(1);
});
