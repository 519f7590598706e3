import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command, type CommandContext } from '../../../cli/command.ts';
import { readJsonFile } from '../../../cli/json-file.ts';
import { orphanedProcesses } from '../orphaned-processes.ts';
import { stackServices } from '../stack.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';
import { requestSupervisor, runningSupervisor } from '../../../cli/stack/control-client.ts';
import { probe } from '../supervisor/probe.ts';
import type { ServiceStatus } from '../../../cli/stack/control-protocol.ts';
import { printError, paint, print, table } from '../../../cli/terminal.ts';
import { diedSupervisor } from './down.ts';
import { sections } from './status-sections.ts';

const usage = 'status [--json] [--account ID]';
const SILENCE_MS = 4000;
const PROBE_MS = 1500;

export const status: Command = {
  name: 'status',
  summary: 'each part: up or not, process, address, restarts, lag',
  usage,
  run: async (args, context) => {
    const { values } = parseLine({
      args,
      options: { json: { type: 'boolean' }, account: { type: 'string' } },
      usage,
    });
    if (values.account !== undefined && sections.length === 0)
      throw new CommandError('nothing in the status is told by account: leave --account out', 2);
    const plan = readJsonFile<StackPlan>(context.home.planFile);
    const running = runningSupervisor(context.home) !== undefined;
    const died = diedSupervisor(context.home);
    if (plan === undefined || (!running && !died && values.json !== true))
      throw new CommandError(
        `no stack is running in ${context.home.dir}: start it with ./ravand up`,
      );
    const parts = await readParts(context, plan, running);
    const broker = parts.find((part) => part.name === 'kafka');
    // Loaded here: the Kafka client is most of what this command weighs.
    const { lagOf } = await import('../lag.ts');
    const lags =
      broker?.up === true
        ? await lagOf({ ...context, plan, parts: stackServices({ ...context, plan }) })
        : new Map<string, number>();
    const rows = parts.map((part) => ({ ...part, lag: lags.get(part.name) ?? null }));
    if (died)
      printError(
        'the supervisor has died: what is shown was looked up without it, and nothing is started again; ./ravand up or ./ravand down cleans up',
      );
    const ready = context.ready();
    const read = async (section: (typeof sections)[number]) => ({
      section,
      value: await section.read({ context, ready, account: values.account }),
    });
    const told = await Promise.all(sections.map(read));
    if (values.json === true) {
      const more = Object.fromEntries(
        told.map(({ section, value }) => [section.name, value ?? null]),
      );
      print(JSON.stringify({ parts: rows, ...more }, null, 2));
    } else {
      show(rows);
      for (const { section, value } of told)
        if (value !== undefined) for (const line of section.show(value)) print(line);
    }
    return running ? 0 : 1;
  },
};

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
  for (const line of table(['part', 'up', 'state', 'pid', 'address', 'restarts', 'lag'], cells))
    print(line);
}

/**
 * From the supervisor; when it does not answer or has died, from the processes it recorded and from
 * the parts themselves.
 */
async function readParts(
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
  const left = orphanedProcesses(context.home);
  return await Promise.all(
    stackServices({ ...context, plan }).map(async (part) => {
      const pid = left[part.name]?.pid ?? null;
      const own = part.launch !== undefined;
      const up = (!own || pid !== null) && (await probe(part.readiness, PROBE_MS));
      const state = own ? (pid === null ? 'stopped' : 'unattended') : 'external';
      return {
        name: part.name,
        pid,
        up,
        address: part.address,
        admin_url: part.adminUrl ?? null,
        restarts: 0,
        state,
      };
    }),
  );
}
