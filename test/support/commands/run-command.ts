import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { testTimeout } from '../test-timeout.ts';

/** The setting that tells tests where the process of their commands listens. */
export const COMMANDS_SOCKET = 'RAVAND_TEST_COMMANDS';

export interface CommandRequest {
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** For standard input. */
  input?: string;
}

export interface CommandOutput {
  code: number;
  stdout: string;
  stderr: string;
}

const TIMEOUT_MS = testTimeout(120_000);

/**
 * The output of a line that the process of this run's commands ran; undefined when there is none.
 * Rejects on a non-zero exit, as execFile does.
 */
export async function runCommand(
  args: readonly string[],
  input?: string,
): Promise<CommandOutput | undefined> {
  const socketPath = process.env[COMMANDS_SOCKET];
  if (socketPath === undefined) return undefined;
  const asked: CommandRequest = {
    ...{ args, env: process.env },
    ...(input === undefined ? {} : { input }),
  };
  const output = await new Promise<CommandOutput>((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const options = { socketPath, method: 'POST', signal, agent: false };
    request(options, (response) => {
      json(response).then((answer) => resolve(answer as CommandOutput), reject);
    })
      .on('error', reject)
      .end(JSON.stringify(asked));
  });
  if (output.code === 0) return output;
  const message = `Command failed: ./ravand ${args.join(' ')}\n${output.stderr}`;
  throw Object.assign(new Error(message), output);
}
