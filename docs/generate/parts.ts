import { shortLinkSettings } from '../../ops/admin/link.ts';
import { settings as controlPlane } from '../../control-plane/config.ts';
import { settings as ingestGateway } from '../../ingest-gateway/config.ts';
import { settings as managementApi } from '../../management-api/config.ts';
import { settings as metering } from '../../pipeline/metering/config.ts';
import { settings as normaliser } from '../../pipeline/normalise/config.ts';
import { settings as relays } from '../../pipeline/relays/config.ts';
import { sealingSettings } from '../../platform/sealing-settings.ts';
import { topicSettings } from '../../platform/settings-common.ts';
import { settings as eventsSink } from '../../projections/events/config.ts';
import { settings as identitiesSink } from '../../projections/identities/config.ts';
import { settings as profilesSink } from '../../projections/profiles/config.ts';
import { settings as qualitySink } from '../../projections/quality/config.ts';
import { settings as retention } from '../../projections/retention/config.ts';
import { settings as local } from '../../deploy/local/config.ts';
import type { PartSettings } from './settings-table.ts';

/** Everything that reads settings. A new part is a row. */
export const PARTS: readonly PartSettings[] = [
  { part: './ravand', table: local },
  { part: './ravand admin', table: { ...sealingSettings, ...shortLinkSettings } },
  { part: 'topics', table: topicSettings },
  { part: 'ingest-gateway', table: ingestGateway },
  { part: 'normaliser', table: normaliser },
  { part: 'events-sink', table: eventsSink },
  { part: 'profiles-sink', table: profilesSink },
  { part: 'identities-sink', table: identitiesSink },
  { part: 'quality-sink', table: qualitySink },
  { part: 'retention', table: retention },
  { part: 'metering', table: metering },
  { part: 'relays', table: relays },
  { part: 'management-api', table: managementApi },
  { part: 'control-plane', table: controlPlane },
];
