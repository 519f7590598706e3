import { CommandError } from '../../cli/command.ts';
import type { Connections } from '../replay/connections.ts';
import type { GracefulStop } from '../graceful-stop.ts';
import { runningJob, type OwnedJob } from '../replay/job-ledger.ts';
import { tableId } from '../replay/table-id.ts';
import type { Fill } from './fill.ts';
import { livePart } from './live-part.ts';
import { PROJECTION } from './projections.ts';
import type { RebuildLine } from './request.ts';

interface Swap {
  line: RebuildLine;
  fill: Fill;
  owned: OwnedJob;
  halt: GracefulStop;
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
  { line, fill, owned, halt, homeDir, name, beforeExchange }: Swap,
): Promise<void> {
  const { admin, clickhouse: client, database, settings } = connections;
  const { table: live, part, group } = PROJECTION[line.projection];
  if (line.projection === 'events' && (await runningJob(database, 'events')))
    throw new CommandError(
      'a replay to the live tables is not finished: continue or cancel it first',
    );
  const sink = livePart({ admin, part, group, homeDir });
  try {
    await halt.run(sink.stop());
    if (!(await fill.catchUp(true)))
      throw new CommandError(
        `${name} did not come to the end of the log although ${part} stands still: run the same command again. The live table was not changed`,
      );
    await halt.run(beforeExchange());
    halt.readSignal.throwIfAborted();
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
