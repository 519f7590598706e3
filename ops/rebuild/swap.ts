import { CommandError } from '../../cli/command.ts';
import type { Connections } from '../jobs/connections.ts';
import type { GracefulStop } from '../graceful-stop.ts';
import { runningJob, type OwnedJob } from '../jobs/job-ledger.ts';
import { tableId } from '../jobs/shadow-table.ts';
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
  /**
   * Called when the rebuilt table is where the live part stands still, before it takes its place.
   */
  beforeExchange: () => Promise<void>;
}

/**
 * Puts the rebuilt table in the place of the live one. The live part stands still meanwhile: the
 * rebuilt table then ends exactly where the part goes on, so that no row is lost and none comes
 * twice. What it was writing when it stopped it reads back from the new table, as after any crash.
 * Asked to stop before the exchange, it leaves the live table as it is; the part is started again
 * in any case.
 */
export async function swap(
  connections: Connections,
  { line, fill, owned, gracefulStop, homeDir, name, beforeExchange }: Swap,
): Promise<void> {
  const { admin, clickhouse: client, database, settings } = connections;
  const { table: live, service: part, group } = PROJECTION[line.projection];
  if (line.projection === 'events' && (await runningJob(database, 'events')))
    throw new CommandError(
      'a replay to the live tables is not finished: continue or cancel it first',
    );
  const sink = liveService({ admin, part, group, homeDir });
  try {
    await gracefulStop.run(sink.stop());
    if (!(await fill.catchUp(true)))
      throw new CommandError(
        `${name} did not come to the end of the log although ${part} stands still: run the same command again. The live table was not changed`,
      );
    await gracefulStop.run(beforeExchange());
    gracefulStop.readSignal.throwIfAborted();
    const exchanging = (await tableId(connections, name)) ?? null;
    await owned.update({ counts: { ...fill.counts, exchanging } });
    const cluster = settings.CLICKHOUSE_CLUSTER;
    const [one, other] = cluster === '' ? [live, name] : [`${live}_local`, `${name}_local`];
    await client.command({
      query: `EXCHANGE TABLES ${one} AND ${other}${cluster === '' ? '' : ` ON CLUSTER '${cluster}'`}`,
    });
    await fill.identities?.repairStore({ cluster });
  } finally {
    await sink.start();
  }
}

/** The part that writes a live table, on this machine or elsewhere. */
export interface LiveService {
  /**
   * Stands still when this resolves: nobody reads for its group. Rejects with CommandError when somebody
   * elsewhere does.
   */
  stop(): Promise<void>;
  /** Starts it again, if `stop` has stopped it here. */
  start(): Promise<void>;
}

const CONTROL_TIMEOUT_MS = 180_000;
/** A member that was killed leaves its group after its session, 6 s. */
const MEMBERS_TIMEOUT_MS = 20_000;

export function liveService(options: {
  admin: Admin;
  part: string;
  group: string;
  homeDir: string;
}): LiveService {
  const { admin, part, group } = options;
  const home: Home = homeOf({ checkout: '', env: { RAVAND_HOME: options.homeDir } });
  let stopped = false;
  return {
    async stop() {
      if (runningSupervisor(home)) {
        // Also one that is no longer waited for has been asked to stop.
        stopped = true;
        await requestSupervisor({
          home,
          request: { command: 'stop', service: part },
          silence: CONTROL_TIMEOUT_MS,
        });
      }
      for (const deadline = performance.now() + MEMBERS_TIMEOUT_MS; ;) {
        const members = await membersOf(admin, group);
        if (members === 0) return;
        if (performance.now() > deadline)
          throw new CommandError(
            `${members} processes still read as ${group}: stop every ${part} (./ravand stop ${part} where one machine runs it), then run the same command again`,
          );
        await delay(500);
      }
    },
    async start() {
      if (stopped)
        await requestSupervisor({
          home,
          request: { command: 'start', service: part },
          silence: CONTROL_TIMEOUT_MS,
        });
      stopped = false;
    },
  };
}

async function membersOf(admin: Admin, group: string): Promise<number> {
  const { groups } = await admin.describeGroups([group]);
  return groups[0]?.members.length ?? 0;
}
