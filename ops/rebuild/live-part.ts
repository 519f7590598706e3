import type { Admin } from 'kafkajs';
import { delay } from '../../platform/backoff.ts';
import { CommandError } from '../../cli/command.ts';
import { homeOf, type Home } from '../../cli/stack/home.ts';
import { requestSupervisor, runningSupervisor } from '../../cli/stack/control-client.ts';

/** The part that writes a live table, on this machine or elsewhere. */
export interface LivePart {
  /**
   * Stands still when this resolves: nobody reads for its group. Rejects with Refusal when somebody
   * elsewhere does.
   */
  stop(): Promise<void>;
  /** Starts it again, if `stop` has stopped it here. */
  start(): Promise<void>;
}

const SILENCE_MS = 180_000;
/** A member that was killed leaves its group after its session, 6 s. */
const PATIENCE_MS = 20_000;

export function livePart(options: {
  admin: Admin;
  part: string;
  group: string;
  homeDir: string;
}): LivePart {
  const { admin, part, group } = options;
  const home: Home = homeOf({ checkout: '', env: { RAVAND_HOME: options.homeDir } });
  let stopped = false;
  return {
    async stop() {
      if (runningSupervisor(home)) {
        // Also one that is no longer waited for has been asked to stop.
        stopped = true;
        await requestSupervisor({
          home,
          request: { command: 'stop', service: part },
          silence: SILENCE_MS,
        });
      }
      for (const deadline = performance.now() + PATIENCE_MS; ;) {
        const members = await membersOf(admin, group);
        if (members === 0) return;
        if (performance.now() > deadline)
          throw new CommandError(
            `${members} processes still read as ${group}: stop every ${part} (./ravand stop ${part} where one machine runs it), then run the same command again`,
          );
        await delay(500);
      }
    },
    async start() {
      if (stopped)
        await requestSupervisor({
          home,
          request: { command: 'start', service: part },
          silence: SILENCE_MS,
        });
      stopped = false;
    },
  };
}

async function membersOf(admin: Admin, group: string): Promise<number> {
  const { groups } = await admin.describeGroups([group]);
  return groups[0]?.members.length ?? 0;
}
