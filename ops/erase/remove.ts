import { CommandError } from '../../cli/command.ts';
import { readErasuresById } from '../../platform/log/erasures.ts';
import { parseSettings } from '../../platform/settings.ts';
import { exportFiles, exportFileSettings } from '../../platform/files/export-files.ts';
import { mergeAgain } from '../../projections/identities/apply-aliases.ts';
import type { ExportFiles } from '../../platform/files/folder-files.ts';
import { publishPeople } from '../../projections/identities/flat-table.ts';
import { postgresIdentities } from '../../projections/identities/postgres-store.ts';
import { PROJECTIONS } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import { ClickhouseRows, type PersonRows } from './clickhouse-rows.ts';
import { eraseChannels } from './channels.ts';
import { markDeadLetters } from './dead-letters.ts';
import type { ErasureRow } from './erasure-row.ts';
import type { ErasureStore } from './erasure-store.ts';
import { eraseMessages } from './messages.ts';
import { removeInbox, removeShownCampaigns } from './inbox-rows.ts';
import { needleOf } from './needles.ts';
import {
  blankReasons,
  markExpired,
  openJobs,
  readyExports,
  removeDeliveries,
  removeIdentities,
  restartExports,
  stillNamed,
} from './postgres-rows.ts';
import { eraseProfiles } from './profiles.ts';
import type { Asker } from './until.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

interface Removal extends Asker {
  erasure: ErasureRow;
  store: ErasureStore;
  homeDir: string;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

/** The person whose rows are removed. Throws CommandError when the names are no longer stored. */
export function personOf({ id, accountId, names, cuts }: ErasureRow): PersonRows {
  if (!names || !cuts) throw new CommandError(`erasure ${id} holds no names any more`);
  return { accountId, names, cuts };
}

/**
 * Removes the person from every store but the log. Each part may be repeated; events go after the
 * parts that find what belongs to them by the events, exports after everything that they read.
 */
export async function removeFromStores(connections: Connections, removal: Removal): Promise<void> {
  const { clickhouse, database, settings } = connections;
  const { erasure, store, homeDir, signal, report, waits } = removal;
  const { id } = erasure;
  const jobs = await openJobs(database);
  if (jobs.length > 0)
    throw new CommandError(
      `${jobs.map((job) => `"${job}"`).join(' and ')} is not finished and may have read the person: complete or --cancel it, then run ./ravand erase --resume ${id}`,
    );
  const person = personOf(erasure);
  const own = onAccount(clickhouse, person.accountId);
  const rows = new ClickhouseRows(own, settings.CLICKHOUSE_CLUSTER);
  const where = await rows.eventsWhere(person);
  if (!erasure.counts) {
    const since = await store.clock();
    if (!(await store.counted(id, await rows.byMinute(where), since)))
      throw new CommandError(
        `retention or another erasure removes events of this person: complete it (./ravand erase status), then run ./ravand erase --resume ${id}`,
      );
  }
  const note = async (name: string, removed: number, sentence: string) => {
    if (removed > 0) await store.removedFrom(id, { [name]: removed });
    report(`${removed} ${sentence}`);
  };
  const deliveries = await removeDeliveries(database, person, await rows.positions(where));
  await note('deliveries', deliveries, 'deliveries of relays removed');
  await note('dead_letters', await markDeadLetters(connections, signal), 'dead letters discarded');
  const channels = await eraseChannels(connections, {
    person: { ...person, at: erasure.requestedAt },
    rows,
    record: (own) => store.hasAddresses(erasure, own),
  });
  await note('addresses', channels.addresses, 'devices, browsers and chats removed');
  await note('consents', channels.consents, 'entries of the log of consents removed');
  await note('suppressions', channels.suppressions, 'suppressed addresses removed');
  const needles = person.names.map((name) => needleOf(name, true));
  await note('reasons', await blankReasons(database, person.accountId, needles), 'reasons blanked');
  await note('aliases', await eraseIdentities(connections, { person, rows }), 'aliases removed');
  const since = erasure.since ?? {};
  const profiles = await eraseProfiles(connections, { person, rows, since, homeDir, signal });
  await note('profiles', profiles, 'profiles removed');
  await note('inbox', await removeInbox(database, person), 'entries of inboxes removed');
  const shown = await removeShownCampaigns(database, person);
  await note('onsite_shown', shown, 'on-site campaigns that the person has seen removed');
  let events = 0;
  for (const table of await rows.tables('events')) {
    const removed = await rows.delete(table, where);
    if (table === 'events' || table === 'events_local') events = removed;
  }
  await note('events', events, 'events removed');
  const messages = await eraseMessages(connections, {
    person: { ...person, erased: await readErasuresById(database, [id]) },
    end: () => store.endMessages(erasure),
    clock: () => store.clock(),
    ...{ rows, signal, report, waits },
  });
  await note('links', messages.links, 'short links of messages removed');
  await note(
    'recipients',
    channels.recipients + messages.recipients,
    'recipients of messages removed',
  );
  await note('outcomes', messages.outcomes, 'outcomes of messages removed');
  await note('audiences', messages.audiences, 'places in frozen audiences removed');
  await note('chunks', messages.chunks, 'places in queued chunks emptied');
  await note('transactional', messages.transactional, 'transactional messages removed');
  await note('caps', messages.caps + messages.merged, 'counters of messages removed');
  // An export that begins now finds nothing of the person any more.
  await note('exports', await removeExports(removal, connections), 'exports removed');
  const counted = await store.find(id);
  if (counted) await store.finishRemoval(counted);
}

/** The storage of export files that the settings name. */
export function storedExports(homeDir: string, env: NodeJS.ProcessEnv): ExportFiles {
  return exportFiles(
    parseSettings(exportFileSettings, { EXPORT_DIR: `${homeDir}/exports`, ...env }),
  );
}

/** Every ready file of the account goes: whom it holds depends on when it was written. */
async function removeExports(
  { erasure: { accountId }, homeDir, env }: Removal,
  { database }: Connections,
): Promise<number> {
  const files = storedExports(homeDir, env);
  const restarted = await restartExports(database, accountId);
  const ready = await readyExports(database, accountId);
  for (const one of ready) {
    await files.remove(one.file);
    await markExpired(database, one);
  }
  return ready.length + restarted;
}

async function eraseIdentities(
  { clickhouse, database, settings }: Connections,
  { person, rows }: { person: PersonRows; rows: ClickhouseRows },
): Promise<number> {
  const { accountId } = person;
  const { facts } = await removeIdentities(database, person);
  const where = await rows.namesWhere('identities', person);
  for (const table of await rows.tables('identities')) await rows.delete(table, where);
  const store = postgresIdentities(database);
  const named = await stillNamed(database, person);
  if (named.length > 0) await mergeAgain(store, accountId, named);
  const { table } = PROJECTIONS.identities;
  const cluster = settings.CLICKHOUSE_CLUSTER;
  await publishPeople({ store, client: clickhouse, table, cluster }, accountId);
  return facts;
}
