import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type CommandContext } from '../../../cli/command.ts';
import { countText } from '../../../cli/format.ts';
import { print } from '../../../cli/terminal.ts';
import { recordAudit } from '../../../platform/audit.ts';
import { readEpochs } from '../../../platform/log/epochs.ts';
import { clickhouseEventsTable } from '../../../projections/events/events-table.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { withStopSignal } from '../../graceful-stop.ts';
import { withConnections, type Connections } from '../../jobs/connections.ts';
import { recoverDeadLetters, type RecoveredDeadLetters } from './dead-letters.ts';
import { requireStoppedServices } from '../stopped-services.ts';
import { holdCampaigns, type HeldCampaigns } from './hold-campaigns.ts';
import { copyPlannedChunks, storedOutcomes, takeKnownOutcomes } from './known-outcomes.ts';
import { requireKnownTopics } from './known-topics.ts';
import { markUnsure } from './sink-ranges.ts';

interface Report {
  dry_run: boolean;
  /** Partitions whose rows events-sink reads back before it inserts. */
  partitions: number;
  dead_letters: RecoveredDeadLetters;
  /** Campaigns that may have sent since the restored state. */
  paused: HeldCampaigns;
  /** Their outcomes since then that were published. */
  known_outcomes: number;
}

/**
 * `./ravand log after-restore`: makes PostgreSQL agree with Kafka and ClickHouse after it was lost
 * or restored to an earlier point (docs/on-call.md). Idempotent. Refuses while a service reads the
 * log.
 */
export async function runAfterRestore(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: { 'dry-run': { type: 'boolean' }, json: { type: 'boolean' } },
  });
  const dryRun = values['dry-run'] === true;
  return withStopSignal((stop) =>
    withConnections({ context, stop }, async (connections) => {
      const { database, clickhouse: client, settings } = connections;
      await requireKnownTopics(connections);
      await requireStoppedServices(connections);
      await requireKnownEpochs(connections);
      if (!dryRun) {
        await recordAudit(database, {
          ...{ accountId: null, actor: 'operator', action: 'log.after_restore', details: {} },
        });
        const cluster = settings.CLICKHOUSE_CLUSTER;
        await clickhouseEventsTable({ client, cluster }).endQueries(`${TOPIC.normalised}-`);
      }
      const paused = await holdCampaigns(connections, { dryRun });
      if (!dryRun) await copyPlannedChunks(connections, stop);
      const report: Report = {
        ...{ dry_run: dryRun, paused },
        known_outcomes: dryRun
          ? 0
          : await takeKnownOutcomes(
              { database, find: (chunk) => storedOutcomes(client, chunk) },
              stop,
            ),
        partitions: await markUnsure(connections, { dryRun, signal: stop }),
        dead_letters: await recoverDeadLetters(connections, { dryRun, signal: stop }),
      };
      if (values.json === true) print(JSON.stringify(report));
      else for (const line of lines(report)) print(line);
      return 0;
    }),
  );
}

/** Rows of an epoch that PostgreSQL does not know: it is older than the last change of the log. */
async function requireKnownEpochs({ clickhouse, database }: Connections): Promise<void> {
  const epochs = await readEpochs(database, TOPIC.raw);
  const answer = await clickhouse.query({
    query: 'SELECT _partition AS partition, max(_epoch) AS epoch FROM events GROUP BY _partition',
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 600 },
  });
  for (const { partition, epoch } of await answer.json<{ partition: number; epoch: number }>())
    if (epoch > epochs.newest(partition))
      throw new CommandError(
        `events.raw ${partition} has rows of epoch ${epoch}, and this PostgreSQL knows ${epochs.newest(partition)}: it is from before ./ravand log advance-epoch or grow. Restore a later one`,
      );
}

function lines(report: Report): string[] {
  const { dry_run: isDry, partitions, dead_letters: found, paused } = report;
  return [
    `${isDry ? 'would read' : 'reads'} rows of ${countText(partitions)} partitions back before events-sink inserts what it may have stored`,
    `${countText(found.redriven)} dead letters ${isDry ? 'seem to be' : 'are'} redriven since the restored state, and ${countText(found.stored)} rows of dead letters are stored`,
    ...(found.uncertain > 0
      ? [`${countText(found.uncertain)} dead letters cannot be decided: run the same command again`]
      : []),
    ...(paused.campaigns + paused.runs > 0
      ? [
          `${isDry ? 'would pause' : 'paused'} ${countText(paused.campaigns)} campaigns with ${countText(paused.runs)} runs that may have sent since the restored state; ${countText(report.known_outcomes)} of their outcomes since then are known. ./ravand admin campaign resume sends the rest, cancel does not`,
        ]
      : []),
    'next: ./ravand rebuild identities --swap, then start the services; addresses-sink applies the commands since the restored state again',
  ];
}
