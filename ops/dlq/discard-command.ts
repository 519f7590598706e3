import { CommandError } from '../../cli/command.ts';
import { countText } from '../../cli/format.ts';
import { print } from '../../cli/terminal.ts';
import { audit, requireGroup, type DlqContext } from './dlq-context.ts';

/** `./ravand dlq discard`: the reason is kept with the dead letters. */
export async function discard(
  dlq: DlqContext,
  options: { group: string; reason: string; isDry: boolean },
): Promise<number> {
  if (options.reason === '' && !options.isDry)
    throw new CommandError(
      'dlq discard needs --reason TEXT: it is kept with the dead letters and in the audit log',
      2,
    );
  if (options.reason.length > 500)
    throw new CommandError('--reason is longer than 500 characters', 2);
  const group = await requireGroup(dlq, options.group);
  const about = {
    group: group.group,
    stage: group.stage,
    reason: group.reason,
    note: options.reason,
  };
  if (options.isDry) {
    const { dead } = group.states;
    const events = await dlq.store.deadEvents(group.group);
    if (dlq.json) print(JSON.stringify({ ...about, letters: dead, events, dry_run: true }));
    else
      print(
        `would discard ${countText(dead)} dead letters with ${countText(events)} events of group ${group.group} (${group.reason})`,
      );
    return 0;
  }
  if (group.states.dead > 0)
    await audit(dlq, {
      action: 'dead_letters.discarded',
      details: { ...about, dead: group.states.dead },
    });
  const { deadLetters, events } = await dlq.store.discard(group.group, options.reason);
  if (dlq.json) print(JSON.stringify({ ...about, letters: deadLetters, events }));
  else
    print(
      `discarded ${countText(deadLetters)} dead letters with ${countText(events)} events of group ${group.group}: the reconciliation still counts them as dead, and events.dead retains them; ./ravand dlq restore ${group.group} reverses it`,
    );
  return 0;
}

/** `./ravand dlq restore`: reverses the last discard of a group; again: the one before. */
export async function restore(
  dlq: DlqContext,
  options: { group: string; isDry: boolean },
): Promise<number> {
  const { store, json } = dlq;
  const { group, stage, reason } = await requireGroup(dlq, options.group);
  const last = await store.lastDiscard(group);
  if (!last) throw new CommandError(`no dead letter of group ${group} is discarded`);
  const about = { group, stage, reason, note: last.note };
  if (!options.isDry)
    await audit(dlq, {
      action: 'dead_letters.restored',
      details: { ...about, discarded: last.deadLetters },
    });
  const { deadLetters, events } = options.isDry ? last : await store.restore(group);
  if (json)
    print(JSON.stringify({ ...about, letters: deadLetters, events, dry_run: options.isDry }));
  else
    print(
      `${options.isDry ? 'would restore' : 'restored'} ${countText(deadLetters)} dead letters with ${countText(events)} events of group ${group}, discarded for: ${last.note}`,
    );
  return 0;
}
