import { rawRecordCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { table } from '../../cli/terminal.ts';
import { countText, timeText } from '../../cli/format.ts';
import type { DeadLetterGroup } from './groups.ts';
import type { DeadLetterRow } from './dead-letter-store.ts';

/** Bytes of the client's own that are shown of a letter. */
const SHOWN_BODY = 2000;

/** How letters of a stage are given another try, for the person who decides. */
const REDRIVE_EFFECTS: Record<string, string> = {
  normalise: 'redrive puts them into events.raw again, as new records that name their old places',
  project:
    'redrive stores their rows in ClickHouse under their old places; profiles and the catalogue have them already',
};

export function groupLines(groups: readonly DeadLetterGroup[]): string[] {
  if (groups.length === 0) return ['there are no dead letters'];
  const cells = groups.map(({ group, stage, reason, events, states, first, last, sample }) => [
    group,
    stage,
    reason,
    ...[states.dead, states.redriving, states.redriven, states.discarded, events].map(countText),
    timeText(first),
    timeText(last),
    sample,
  ]);
  return table(
    [
      'group',
      'stage',
      'reason',
      'dead',
      'redriving',
      'redriven',
      'discarded',
      'events',
      'first',
      'last',
      'sample',
    ],
    cells,
  );
}

/** A group with its newest letters. */
export function groupDetailLines(
  group: DeadLetterGroup,
  options: { letters: readonly DeadLetterRow[]; sample: DeadLetter | undefined },
): string[] {
  const { letters, sample } = options;
  const cells = letters.map((one) => [
    one.letter,
    one.state,
    String(one.events),
    one.account_id === null ? '-' : String(one.account_id),
    one.message_id === '' ? '-' : one.message_id,
    timeText(one.failed_at),
    one.redriven_to === null ? (one.note ?? '') : `events.raw/${one.partition}/${one.redriven_to}`,
  ]);
  return [
    `group ${group.group}: ${group.reason} at ${group.stage}, ${countText(group.letters)} letters with ${countText(group.events)} events, ${timeText(group.first)} to ${timeText(group.last)}`,
    `why: ${sample?.detail ?? 'events.dead does not keep the sample any more'}`,
    REDRIVE_EFFECTS[group.stage] ?? '',
    '',
    ...table(['letter', 'state', 'events', 'account', 'message id', 'failed', 'now at'], cells),
    ...(letters.length < group.letters
      ? [`the newest ${letters.length} of ${countText(group.letters)}`]
      : []),
  ];
}

/**
 * One letter with the beginning of what the client sent. It is the account's data: it goes to the
 * operator's terminal and nowhere else.
 */
export function deadLetterLines(known: DeadLetterRow, letter: DeadLetter | undefined): string[] {
  const facts = [
    ['letter', known.letter],
    ['group', known.fingerprint],
    ['state', known.note === null ? known.state : `${known.state}: ${known.note}`],
    ...(known.redriven_to === null
      ? []
      : [['redriven to', `events.raw/${known.partition}/${known.redriven_to}`]]),
    ['stage', known.stage],
    ['reason', known.reason],
    ['why', letter?.detail ?? 'events.dead does not keep the letter any more'],
    ['failed', timeText(known.failed_at)],
    ['account', known.account_id === null ? 'unknown' : String(known.account_id)],
    ['message id', known.message_id === '' ? 'of a whole record' : known.message_id],
    ['events', String(known.events)],
    ['stands at', `events.dead/${known.dead_partition}/${known.dead_offset}`],
  ];
  return [
    ...facts.map(([name = '', value = '']) => `${name.padEnd(12)}${value}`),
    ...(letter ? ['', ...bodyLines(letter)] : []),
  ];
}

function bodyLines(letter: DeadLetter): string[] {
  try {
    const { body, items, path, received_at, source } = rawRecordCodec.decode(letter.value);
    const text = body.subarray(0, SHOWN_BODY).toString('utf8');
    const more = body.length > SHOWN_BODY ? [`… ${countText(body.length)} bytes in all`] : [];
    return [
      `received ${timeText(received_at)} by ${source} ${path}, ${items.length} events: ${items
        .map(({ message_id }) => message_id)
        .slice(0, 5)
        .join(', ')}`,
      text,
      ...more,
    ];
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    return [
      `${countText(letter.value.length)} bytes that are no raw record, beginning ${letter.value.subarray(0, 32).toString('hex')}`,
    ];
  }
}
