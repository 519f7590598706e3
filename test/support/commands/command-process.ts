/**
 * Runs lines of `./ravand` for all tests of a run, each beside the others: a process for each of
 * the thousands of lines costs half a second of work. Listens at the socket of its argument.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { commands } from '../../../cli/commands.ts';
import { runLine } from '../../../cli/run-line.ts';
import type { CommandOutput, CommandRequest } from './run-command.ts';

interface Running {
  output: CommandOutput;
  input: Readable;
}

const running = new AsyncLocalStorage<Running>();

/** What a line prints is its answer. */
function keepOutput(name: 'stdout' | 'stderr'): void {
  const stream = process[name];
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (...args: unknown[]): boolean => {
    const output = running.getStore()?.output;
    if (!output) return write(...args);
    const [chunk, done] = [args[0] as string | Uint8Array, args.at(-1)];
    output[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    if (typeof done === 'function') (done as () => void)();
    return true;
  };
}

keepOutput('stdout');
keepOutput('stderr');
Object.defineProperty(process, 'stdin', {
  get: () => running.getStore()?.input ?? Readable.from([]),
});
// It would have ended one line; others go on, and its test waits until its time is over.
process.on('uncaughtException', (error) => console.error(error));
process.once('disconnect', () => process.exit(0));

async function answer(asked: CommandRequest): Promise<CommandOutput> {
  const output: CommandOutput = { code: 1, stdout: '', stderr: '' };
  const input = Readable.from(asked.input === undefined ? [] : [asked.input]);
  await running.run({ output, input }, async () => {
    output.code = await runLine({ args: asked.args, commands, env: asked.env });
  });
  return output;
}

createServer((request, response) => {
  json(request)
    .then((asked) => answer(asked as CommandRequest))
    .then((output) => response.end(JSON.stringify(output)))
    .catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
}).listen(process.argv[2], () => process.send?.('ready'));
