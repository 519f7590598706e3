import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import { serverSettings } from '../stack.ts';
import { requestSupervisor, runningSupervisor } from '../../../cli/stack/control-client.ts';
import { print } from '../../../cli/terminal.ts';
import { SERVICE_NAMES } from '../../../schemas/topology.ts';

/** Longer than any part may take to come up or to end. */
const SILENCE_MS = 180_000;

function partCommand(name: 'stop' | 'start', summary: string): Command {
  const usage = `${name} PART`;
  return {
    name,
    summary,
    usage,
    run: async (args, { home }) => {
      const { words } = parseLine({ args, options: {}, usage, words: { min: 1, max: 1 } });
      const part = words[0] ?? '';
      const names = [...Object.keys(serverSettings), ...SERVICE_NAMES];
      if (!names.includes(part))
        throw new CommandError(
          `there is no part ${JSON.stringify(part)}; the parts are ${names.join(', ')}`,
        );
      if (!runningSupervisor(home))
        throw new CommandError('no stack is running here: start it with ./ravand up');
      const { text } = await requestSupervisor({
        home,
        request: { command: name, part },
        silence: SILENCE_MS,
      });
      print(text);
      return 0;
    },
  };
}

export const stop = partCommand('stop', 'takes one part out; it stays out until it is started');
export const start = partCommand('start', 'brings one part back and returns when it is up');
