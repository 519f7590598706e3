import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { groupMembers } from '../../platform/kafka/group-members.ts';
import { CommandError } from '../../cli/command.ts';
import type { Connections } from '../jobs/connections.ts';
import type { GracefulStop } from '../graceful-stop.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { OwnedJob } from '../jobs/job-ledger.ts';
import { exchangeOnShards, exchangeState, tableId } from '../jobs/table-ids.ts';
import { deleteBookedRows } from './deleted-rows.ts';
import { mergeParts } from './merge-parts.ts';
import type { Fill } from './fill.ts';
import { PROJECTION } from './projections.ts';
import type { RebuildLine } from './request.ts';
import type { Admin } from 'kafkajs';
import { delay } from '../../platform/backoff.ts';
import { homeOf, type Home } from '../../cli/stack/home.ts';
import { requestSupervisor, runningSupervisor } from '../../cli/stack/control-client.ts';

interface Swap {
  line: RebuildLine;
  fill: Fill;
  owned: OwnedJob;
  gracefulStop: GracefulStop;
  homeDir: string;
  /** Name of the rebuilt table. */
  name: string;
  /** Why the tables must not be exchanged; asked again when the service has stopped. */
  obstacle: () => Promise<string | undefined>;
  /** When the fill began, ms since the epoch. */
  since: number;
}

/**
 * Exchanges the rebuilt table with the live one. The service that writes it is stopped meanwhile:
 * the rebuilt table then ends exactly where the service resumes, so that no row is lost or stored
 * twice. What the service was writing it recovers from the new table, as after a crash. A stop
 * request before the exchange leaves the live table unchanged; the service is started in any case.
 */
export async function swap(
  connections: Connections,
  { line, fill, owned, gracefulStop, homeDir, name, obstacle, since }: Swap,
): Promise<void> {
  const { admin, clickhouse: client, database, settings } = connections;
  const { table: live, service, group } = PROJECTION[line.projection];
  const sink = liveService({ admin, settings, service, group, homeDir });
  // Of a cluster each replica merges its own parts, by age.
  if (line.projection === 'profiles' && settings.CLICKHOUSE_CLUSTER === '' && !line.undo)
    await gracefulStop.run(mergeParts(client, { table: name, signal: gracefulStop.readSignal }));
  try {
    await gracefulStop.run(sink.stop());
    if (!(await fill.catchUp(true)))
      throw new CommandError(
        `${name} did not catch up although ${service} is stopped: run the same command again. The live table is unchanged`,
      );
    const cluster = settings.CLICKHOUSE_CLUSTER;
    const deleteBooked = (table: string) =>
      line.projection === 'events'
        ? deleteBookedRows({ client, database, cluster, table, since })
        : Promise.resolve(0);
    await gracefulStop.run(deleteBooked(name));
    const why = await gracefulStop.run(obstacle());
    if (why !== undefined) throw new CommandError(`${why}. The live table is unchanged`);
    gracefulStop.readSignal.throwIfAborted();
    const former = await tableId(connections, live);
    // An exchange that was interrupted between two shards is completed under the ids of its begin.
    if (exchangeState(former, fill.counts) !== 'partly')
      fill.exchanges({
        exchanging: (await tableId(connections, name)) ?? null,
        former: former ?? null,
      });
    await owned.update({ counts: fill.counts });
    const { exchanging } = fill.counts;
    if (cluster !== '')
      await client.command({
        query: `EXCHANGE TABLES ${live}_local AND ${name}_local ON CLUSTER '${cluster}'`,
      });
    else await exchangeOnShards(connections, { live, name, exchanging: exchanging ?? '' });
    // A run of retention that began after the last look deleted from the table that was live then.
    await deleteBooked(live);
    if (line.projection === 'profiles') await forgetRefolds(database);
    if (line.projection === 'identities' && line.undo) await publishAgain(database);
    await fill.identities?.repairStore({ cluster });
  } finally {
    await sink.start();
  }
}

/** What replays of earlier releases wanted to fold again is in the rebuilt profiles. */
async function forgetRefolds(database: Database): Promise<void> {
  await database.query('DELETE FROM profile_refolds');
  await database.query('DELETE FROM replay_names');
  await database.query('DELETE FROM profile_differences');
}

/** identities-sink writes every row of PostgreSQL again at its start. */
async function publishAgain(database: Database): Promise<void> {
  await database.query('UPDATE identity_accounts SET published = 0');
}

/** The service that writes a live table, on this machine or elsewhere. */
export interface LiveService {
  /** Resolves when the group is empty; throws CommandError when members stay. */
  stop(): Promise<void>;
  /** Starts it again if `stop` stopped it here. */
  start(): Promise<void>;
}

const CONTROL_TIMEOUT_MS = 180_000;
/** A killed member leaves its group after the session timeout, 6 s. */
const MEMBERS_TIMEOUT_MS = 20_000;

export function liveService(options: {
  admin: Admin;
  settings: KafkaSettings;
  service: string;
  group: string;
  homeDir: string;
}): LiveService {
  const { admin, settings, service, group } = options;
  const home: Home = homeOf({ checkout: '', env: { RAVAND_HOME: options.homeDir } });
  let stopped = false;
  return {
    async stop() {
      if (runningSupervisor(home)) {
        // A stop request that times out may still stop it.
        stopped = true;
        await requestSupervisor({
          home,
          request: { command: 'stop', service },
          silence: CONTROL_TIMEOUT_MS,
        });
      }
      for (const deadline = performance.now() + MEMBERS_TIMEOUT_MS; ;) {
        const members = (await groupMembers(admin, settings, [group])).get(group)?.length ?? 0;
        if (members === 0) return;
        if (performance.now() > deadline)
          throw new CommandError(
            `${members} processes are still members of ${group}: stop every ${service} (./ravand stop ${service} on a single machine), then run the same command again`,
          );
        await delay(500);
      }
    },
    async start() {
      if (stopped)
        await requestSupervisor({
          home,
          request: { command: 'start', service },
          silence: CONTROL_TIMEOUT_MS,
        });
      stopped = false;
    },
  };
}
