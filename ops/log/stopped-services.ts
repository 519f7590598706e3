import { CommandError } from '../../cli/command.ts';
import { delay } from '../../platform/backoff.ts';
import { groupMembers } from '../../platform/kafka/group-members.ts';
import { CONSUMER_GROUPS } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';

/** A killed member leaves its group after the session timeout, ms. */
const MEMBERS_TIMEOUT_MS = 20_000;

/** Throws CommandError while a service reads the log. */
export async function requireStoppedServices({
  admin,
  settings,
}: Pick<Connections, 'admin' | 'settings'>): Promise<void> {
  const services = new Map(CONSUMER_GROUPS.map(({ group, service }) => [group, service]));
  for (const deadline = performance.now() + MEMBERS_TIMEOUT_MS; ;) {
    const members = await groupMembers(admin, settings, [...services.keys()]);
    const running = [...members]
      .filter(([, found]) => found.length > 0)
      .map(([group]) => services.get(group) ?? group);
    if (running.length === 0) return;
    if (performance.now() > deadline)
      throw new CommandError(
        `stop the services that read the log first: ${[...new Set(running)].join(', ')}`,
      );
    await delay(500);
  }
}
