import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command, type CommandContext } from '../../../cli/command.ts';
import { readJsonFile } from '../../../cli/json-file.ts';
import { orphanedProcesses } from '../orphaned-processes.ts';
import { BROKER_NAMES } from '../services/brokers.ts';
import { stackServices } from '../stack.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';
import { requestSupervisor, runningSupervisor } from '../../../cli/stack/control-client.ts';
import { probe } from '../supervisor/probe.ts';
import type { ServiceStatus } from '../../../cli/stack/control-protocol.ts';
import { printError, paint, print, table } from '../../../cli/terminal.ts';
import { runLines } from '../../../ops/lag/campaign-runs.ts';
import { supervisorDied } from './down.ts';
import {
  commandLines,
  messageLines,
  readCommandBooks,
  readMessages,
  readReconciliation,
  readWaitingRuns,
  reconciliationLines,
} from './reconciliation.ts';

const SILENCE_MS = 4000;
const PROBE_MS = 1500;

export const status: Command = {
  name: 'status',
  summary: 'shows each service: up or not, process, address, restarts, lag',
  usage: 'status [--json] [--account ID]',
  run: async (args, context) => {
    const { values } = parseLine({
      args,
      options: { json: { type: 'boolean' }, account: { type: 'string' } },
    });
    const plan = readJsonFile<StackPlan>(context.home.planFile);
    const running = runningSupervisor(context.home) !== undefined;
    const died = supervisorDied(context.home);
    if (plan === undefined || (!running && !died && values.json !== true))
      throw new CommandError(
        `no stack is running in ${context.home.dir}: start it with ./ravand up`,
      );
    const asked = {
      services: readServices(context, plan, running),
      lags: readLags(context, plan),
      reconciliation: readReconciliation(plan, values.account),
      commands: readCommandBooks(plan, values.account),
      runs: readWaitingRuns(plan),
      messages: readMessages(plan, values.account),
    };
    const services = await asked.services;
    const hasBroker = services.some(({ name, up }) => BROKER_NAMES.includes(name) && up);
    // Brokers that are down cost the client its whole timeout: its answer is not waited for.
    const lags = hasBroker ? await asked.lags : new Map<string, number>();
    const rows = services.map((service) => ({ ...service, lag: lags.get(service.name) ?? null }));
    if (died)
      printError(
        'the supervisor has died: this status was probed without it, and nothing is restarted; ./ravand up or ./ravand down cleans up',
      );
    const reconciliation = await asked.reconciliation;
    const commands = await asked.commands;
    const runs = await asked.runs;
    const messages = await asked.messages;
    if (values.json === true)
      print(
        JSON.stringify(
          {
            ...{ parts: rows, books: reconciliation ?? null, commands: commands ?? null },
            ...{ campaign_runs: runs ?? null, messages: messages?.totals ?? null },
          },
          null,
          2,
        ),
      );
    else {
      show(rows);
      if (reconciliation) for (const line of reconciliationLines(reconciliation)) print(line);
      if (commands) for (const line of commandLines(commands)) print(line);
      if (messages) for (const line of messageLines(messages)) print(line);
      if (runs) for (const line of runLines(runs)) print(line);
    }
    return running ? 0 : 1;
  },
};

async function readLags(context: CommandContext, plan: StackPlan): Promise<Map<string, number>> {
  // Loaded here: the Kafka client is most of the load time of this command.
  const { lagOf } = await import('../lag.ts');
  return await lagOf({ ...context, plan, services: stackServices({ ...context, plan }) });
}

type Row = ServiceStatus & { lag: number | null };

function show(rows: Row[]): void {
  const cells = rows.map((row) => [
    row.name,
    row.up ? paint('green', 'up') : paint('red', 'down'),
    row.state,
    String(row.pid ?? '-'),
    row.address,
    String(row.restarts),
    String(row.lag ?? '-'),
  ]);
  for (const line of table(['service', 'up', 'state', 'pid', 'address', 'restarts', 'lag'], cells))
    print(line);
}

/** From the supervisor; if it does not answer, from the recorded processes and probes. */
async function readServices(
  context: CommandContext,
  plan: StackPlan,
  running: boolean,
): Promise<ServiceStatus[]> {
  if (running) {
    let services: ServiceStatus[] | undefined;
    try {
      await requestSupervisor({
        home: context.home,
        request: { command: 'status' },
        silence: SILENCE_MS,
        onReply: (reply) => {
          if (reply.event === 'status') services = reply.services;
          return reply.event === 'status';
        },
      });
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      printError(error.message);
    }
    if (services) return services;
  }
  const orphans = orphanedProcesses(context.home);
  return await Promise.all(
    stackServices({ ...context, plan }).map(async (service) => {
      const pid = orphans[service.name]?.pid ?? null;
      const own = service.launch !== undefined;
      const up = (!own || pid !== null) && (await probe(service.readiness, PROBE_MS));
      const state = own ? (pid === null ? 'stopped' : 'unattended') : 'external';
      return {
        name: service.name,
        pid,
        up,
        address: service.address,
        admin_url: service.adminUrl ?? null,
        restarts: 0,
        state,
      };
    }),
  );
}
