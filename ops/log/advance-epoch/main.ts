import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type CommandContext } from '../../../cli/command.ts';
import { print, table } from '../../../cli/terminal.ts';
import { LogProbe } from '../../../platform/kafka/log-probe.ts';
import { RangeReader } from '../../../platform/kafka/read-range.ts';
import { CONSUMER_GROUPS } from '../../../schemas/topology.ts';
import { withStopSignal } from '../../graceful-stop.ts';
import { withConnections, type Connections } from '../../jobs/connections.ts';
import { liveService, type LiveService } from '../../rebuild/swap.ts';
import { requireSteadyLog } from '../steady-log.ts';
import { applyAdvance, beginAdvance, unfinishedAdvance } from './apply.ts';
import { makePlan } from './make-plan.ts';
import type { AdvancePlan } from './plan.ts';

/**
 * `./ravand log advance-epoch`: makes every reader go on after the log went back (docs/on-call.md).
 * A new epoch begins where the records are not those that were read before; the groups continue
 * there. Run again after any end, it continues.
 */
export async function runAdvanceEpoch(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: { 'dry-run': { type: 'boolean' }, json: { type: 'boolean' } },
  });
  const options = { isDryRun: values['dry-run'] === true, json: values.json === true };
  return withStopSignal((stop) =>
    withConnections({ context, stop }, async (connections) => {
      const settings = connections.settings;
      const probe = new LogProbe(settings);
      const reader = new RangeReader({ settings, clientId: 'ravand-advance-epoch' });
      try {
        const plan = () => makePlan(connections, { probe, reader });
        return await advance(connections, { ...options, plan, homeDir: context.home.dir });
      } finally {
        await Promise.allSettled([probe.close(), reader.close()]);
      }
    }),
  );
}

interface AdvanceOptions {
  isDryRun: boolean;
  json: boolean;
  plan: () => Promise<AdvancePlan>;
  homeDir: string;
}

async function advance(
  connections: Connections,
  { isDryRun, json, plan, homeDir }: AdvanceOptions,
): Promise<number> {
  const { database } = connections;
  // A change in progress counts on the offsets that it has recorded.
  if (!isDryRun) await requireSteadyLog(database);
  const begun = await unfinishedAdvance(database);
  const first = begun?.plan ?? (await plan());
  const isNeeded = first.epochs.length > 0;
  if (isDryRun || !isNeeded) {
    report(first, { json, state: isNeeded ? 'planned' : 'nothing to do' });
    return 0;
  }
  await refuseRunningJobs(connections);
  const services = servicesOf(connections, homeDir);
  try {
    await forAll(services, (service) => service.stop());
    // Readers of the other partitions, and the normaliser, went on until they were stopped.
    const advance = begun ?? (await beginAdvance(database, await plan()));
    await applyAdvance(connections, advance);
    report(advance.plan, { json, state: 'advanced' });
  } finally {
    await forAll(services, (service) => service.start());
  }
  return 0;
}

/** Every service that reads the log. */
function servicesOf({ admin, settings }: Connections, homeDir: string): LiveService[] {
  return CONSUMER_GROUPS.map(({ service, group }) =>
    liveService({ admin, settings, service, group, homeDir }),
  );
}

/** Every service is asked, also when one fails; then throws the first error. */
async function forAll(
  services: readonly LiveService[],
  ask: (service: LiveService) => Promise<void>,
): Promise<void> {
  const results = await Promise.allSettled(services.map(ask));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/** The positions of a replay or rebuild refer to the former records. */
async function refuseRunningJobs({ database }: Connections): Promise<void> {
  const { rows } = await database.query<{ kind: string; command: string }>(
    "SELECT kind, command FROM log_jobs WHERE state = 'running' ORDER BY id LIMIT 1",
  );
  const [job] = rows;
  if (job)
    throw new CommandError(
      `a ${job.kind} is not finished (${job.command}): end it with ./ravand ${job.kind} --cancel first, and begin it again afterwards`,
    );
}

function report(
  plan: AdvancePlan,
  { json, state }: { json: boolean; state: 'planned' | 'nothing to do' | 'advanced' },
): void {
  if (json) {
    const epochs = plan.epochs.map(({ topic, partition, epoch, firstOffset, end, reason }) => ({
      ...{ topic, partition, epoch, first_offset: firstOffset, end, reason },
    }));
    print(JSON.stringify({ state, epochs, moves: plan.moves, removes_claims: plan.removesClaims }));
    return;
  }
  if (plan.epochs.length === 0) {
    print('the log agrees with everything that was read of it: nothing to do');
    return;
  }
  const rows = plan.epochs.map(({ topic, partition, epoch, firstOffset, end, reason }) => [
    ...[topic, String(partition), String(epoch), String(firstOffset), String(end)],
    reason === 'went_back' ? 'went back' : 'follows',
  ]);
  for (const line of table(['topic', 'partition', 'epoch', 'from', 'end', ''], rows)) print(line);
  for (const { group, topic, partition, from, to } of plan.moves)
    print(`${group} continues ${topic} ${partition} at ${to} instead of ${from}`);
  if (plan.removesClaims)
    print('the claims are removed: the normaliser loads those of the stored events');
  print(
    state === 'planned'
      ? 'nothing was changed'
      : 'every reader goes on; ./ravand status shows what was lost once it is known',
  );
}
