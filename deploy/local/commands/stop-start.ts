import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import { requestSupervisor, runningSupervisor } from '../../../cli/stack/control-client.ts';
import { print } from '../../../cli/terminal.ts';
import { SERVICE_NAMES } from '../../../schemas/topology.ts';
import { readJsonFile } from '../../../cli/json-file.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';
import { auditStack } from '../audit-stack.ts';
import { BROKER_NAMES, ownBrokers } from '../services/brokers.ts';
import { serverSettings } from '../services/service.ts';

/** Longer than any service may take to start or to end, ms. */
const SILENCE_MS = 180_000;
const DONE = { stop: 'stopped', start: 'started' };

function serviceCommand(name: 'stop' | 'start', summary: string): Command {
  return {
    name,
    summary,
    usage: `${name} SERVICE`,
    run: async (args, { home }) => {
      const { words } = parseLine({ args, options: {}, words: { min: 1, max: 1 } });
      const [service = ''] = words;
      const plan = readJsonFile<StackPlan>(home.planFile);
      const peers = plan ? BROKER_NAMES.slice(1, ownBrokers(plan.own).length) : [];
      const names = [...Object.keys(serverSettings), ...peers, ...SERVICE_NAMES];
      if (!names.includes(service))
        throw new CommandError(
          `there is no service ${JSON.stringify(service)}; the services are ${names.join(', ')}`,
        );
      if (!runningSupervisor(home))
        throw new CommandError('no stack is running here: start it with ./ravand up');
      const request = { command: name, service };
      const line = { action: `service.${DONE[name]}`, details: { service } };
      if (name === 'stop') await auditStack(home, line);
      const { text } = await requestSupervisor({ home, request, silence: SILENCE_MS });
      print(text);
      if (name === 'start') await auditStack(home, line);
      return 0;
    },
  };
}

export const stop = serviceCommand('stop', 'stops one service; it stays down until it is started');
export const start = serviceCommand('start', 'starts one service and returns when it is up');
