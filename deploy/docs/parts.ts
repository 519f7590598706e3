import { settings as ingestGateway } from '../../ingest-gateway/config.ts';
import { settings as managementApi } from '../../management-api/config.ts';
import { settings as metering } from '../../pipeline/metering/config.ts';
import { settings as normaliser } from '../../pipeline/normalise/config.ts';
import { topicSettings } from '../../platform/settings-common.ts';
import { settings as eventsSink } from '../../projections/events/config.ts';
import { settings as identitiesSink } from '../../projections/identities/config.ts';
import { settings as profilesSink } from '../../projections/profiles/config.ts';
import { settings as qualitySink } from '../../projections/quality/config.ts';
import { settings as local } from '../local/config.ts';
import type { PartSettings } from './settings-table.ts';

/** Everything that reads settings. A new part is a row. */
export const PARTS: readonly PartSettings[] = [
  { part: './ravand', table: local },
  { part: 'topics', table: topicSettings },
  { part: 'ingest-gateway', table: ingestGateway },
  { part: 'normaliser', table: normaliser },
  { part: 'events-sink', table: eventsSink },
  { part: 'profiles-sink', table: profilesSink },
  { part: 'identities-sink', table: identitiesSink },
  { part: 'quality-sink', table: qualitySink },
  { part: 'metering', table: metering },
  { part: 'management-api', table: managementApi },
];
