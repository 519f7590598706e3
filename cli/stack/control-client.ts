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

interface Ask {
  home: Home;
  request: ControlRequest;
  /** Without a word for so long, the supervisor counts as hung, ms. 0: as long as it takes. */
  silence: number;
  /** Answers true when enough was heard: the exchange ends there. */
  onReply?: (reply: ControlReply) => boolean;
}

/**
 * Sends one request and answers the closing reply. Throws Refusal when the supervisor refuses,
 * hangs, or goes away before its closing reply.
 */
export async function requestSupervisor({
  home,
  request,
  silence,
  onReply,
}: Ask): Promise<Extract<ControlReply, { event: 'end' }>> {
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
        `the supervisor has not answered for ${silence / 1000} s; its log: ./ravand logs supervisor; to end it all: ./ravand down`,
      ),
    );
    socket.on('error', (error) =>
      fail(
        `the supervisor cannot be reached (${error.message}); its log: ./ravand logs supervisor`,
      ),
    );
    socket.on('close', () =>
      fail(
        'the supervisor ended in the middle of it; its log: ./ravand logs supervisor; to clean up: ./ravand down',
      ),
    );
    createInterface({ input: socket })
      .on('line', (line) => {
        const reply = JSON.parse(line) as ControlReply;
        const enough = onReply?.(reply) ?? false;
        if (reply.event !== 'end' && !enough) return;
        if (reply.event === 'end' && reply.error !== undefined)
          reject(new CommandError(reply.error));
        else resolve(reply.event === 'end' ? reply : { event: 'end' });
        socket.destroy();
      })
      .on('error', () => undefined);
  });
}
