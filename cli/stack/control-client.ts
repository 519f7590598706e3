import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Home } from './home.ts';
import { readJsonFile } from '../json-file.ts';
import { isAlive, type ProcessIdentity } from './process-identity.ts';
import { CommandError } from '../command.ts';
import type { ControlReply, ControlRequest } from './control-protocol.ts';

/** The supervisor of a home, if it runs. */
export function runningSupervisor(home: Home): ProcessIdentity | undefined {
  const recorded = readJsonFile<ProcessIdentity>(home.supervisorFile);
  return isAlive(recorded) ? recorded : undefined;
}

interface Exchange {
  home: Home;
  request: ControlRequest;
  /** After so long without a reply the supervisor counts as hung, ms; 0: no limit. */
  silence: number;
  /** Returns true to end the exchange before the closing reply. */
  onReply?: (reply: ControlReply) => boolean;
}

/**
 * Sends one request and returns the closing reply. Throws CommandError when the supervisor refuses
 * it, hangs, or exits before the closing reply.
 */
export async function requestSupervisor({
  home,
  request,
  silence,
  onReply,
}: Exchange): Promise<Extract<ControlReply, { event: 'end' }>> {
  return await new Promise((resolve, reject) => {
    const socket = connect(home.socket);
    socket.setTimeout(silence);
    const fail = (why: string) => {
      socket.destroy();
      reject(new CommandError(why));
    };
    socket.on('connect', () => socket.write(`${JSON.stringify(request)}\n`));
    socket.on('timeout', () =>
      fail(
        `the supervisor has not answered for ${silence / 1000} s; its log: ./ravand logs supervisor; to stop everything: ./ravand down`,
      ),
    );
    socket.on('error', (error) =>
      fail(
        `the supervisor cannot be reached (${error.message}); its log: ./ravand logs supervisor`,
      ),
    );
    socket.on('close', () =>
      fail(
        'the supervisor exited before it replied; its log: ./ravand logs supervisor; to clean up: ./ravand down',
      ),
    );
    createInterface({ input: socket })
      .on('line', (line) => {
        const reply = JSON.parse(line) as ControlReply;
        const done = onReply?.(reply) ?? false;
        if (reply.event !== 'end' && !done) return;
        if (reply.event === 'end' && reply.error !== undefined)
          reject(new CommandError(reply.error));
        else resolve(reply.event === 'end' ? reply : { event: 'end' });
        socket.destroy();
      })
      .on('error', () => undefined);
  });
}
