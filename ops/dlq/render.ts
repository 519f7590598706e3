import { decodeIfReadable, hasUnknownSchema, rawRecordCodec } from '../../schemas/codec.ts';
import { rawRecordOf } from '../../schemas/raw-batch.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { table } from '../../cli/terminal.ts';
import { countText, timeText } from '../../cli/format.ts';
import type { DeadLetterGroup } from './groups.ts';
import type { DeadLetterRow } from './dead-letter-store.ts';

/** Bytes of the client's body that `dlq show` prints. */
const SHOWN_BODY = 2000;

/** What a redrive does, by stage. */
const REDRIVE_EFFECTS: Record<string, string> = {
  normalise:
    'redrive publishes them to events.raw again, as new records that contain their original positions',
  project:
    'redrive stores their rows in ClickHouse at their original positions; profiles and the catalogue have processed them',
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
    'group,stage,reason,dead,redriving,redriven,discarded,events,first,last,sample'.split(','),
    cells,
  );
}

/** A group with its newest dead letters. */
export function groupDetailLines(
  group: DeadLetterGroup,
  { newest, sample }: { newest: readonly DeadLetterRow[]; sample: DeadLetter | undefined },
): string[] {
  const cells = newest.map((one) => [
    one.key,
    one.state,
    String(one.events),
    one.account_id === null ? '-' : String(one.account_id),
    one.message_id === '' ? '-' : one.message_id,
    timeText(one.failed_at),
    one.redriven_to === null ? (one.note ?? '') : `events.raw/${one.partition}/${one.redriven_to}`,
  ]);
  return [
    `group ${group.group}: ${group.reason} at ${group.stage}, ${countText(group.deadLetters)} dead letters with ${countText(group.events)} events, ${timeText(group.first)} to ${timeText(group.last)}`,
    `why: ${sample?.detail ?? 'events.dead does not retain the sample'}`,
    REDRIVE_EFFECTS[group.stage] ?? '',
    '',
    ...table(
      ['dead letter', 'state', 'events', 'account', 'message id', 'failed', 'now at'],
      cells,
    ),
    ...(newest.length < group.deadLetters
      ? [`the newest ${newest.length} of ${countText(group.deadLetters)}`]
      : []),
  ];
}

/**
 * A dead letter with the beginning of its body: personal data, for the operator's terminal only.
 */
export function deadLetterLines(
  known: DeadLetterRow,
  deadLetter: DeadLetter | undefined,
): string[] {
  const facts = [
    ['dead letter', known.key],
    ['group', known.fingerprint],
    ['state', known.note === null ? known.state : `${known.state}: ${known.note}`],
    ...(known.redriven_to === null
      ? []
      : [['redriven to', `events.raw/${known.partition}/${known.redriven_to}`]]),
    ['stage', known.stage],
    ['reason', known.reason],
    ['why', deadLetter?.detail ?? 'events.dead does not retain it'],
    ['failed', timeText(known.failed_at)],
    ['account', known.account_id === null ? 'unknown' : String(known.account_id)],
    ['message id', known.message_id === '' ? 'of a whole record' : known.message_id],
    ['events', String(known.events)],
    ...(known.indexes === null ? [] : [['items', known.indexes.join(', ')]]),
    ['position', `events.dead/${known.dead_partition}/${known.dead_offset}`],
  ];
  return [
    ...facts.map(([name = '', value = '']) => `${name.padEnd(13)}${value}`),
    ...(deadLetter ? ['', ...bodyLines(deadLetter)] : []),
  ];
}

function bodyLines({ value }: DeadLetter): string[] {
  const failed = hasUnknownSchema(value) ? undefined : rawRecordOf(value)?.value;
  const record =
    failed && !hasUnknownSchema(failed) ? decodeIfReadable(rawRecordCodec, failed) : undefined;
  if (!record)
    return [
      `${countText(value.length)} bytes that are not a raw record, beginning with ${value.subarray(0, 32).toString('hex')}`,
    ];
  const { body, items, path, received_at, source } = record;
  const ids = items.slice(0, 5).map(({ message_id }) => message_id);
  return [
    `received ${timeText(received_at)} by ${source} ${path}, ${items.length} events: ${ids.join(', ')}`,
    body.subarray(0, SHOWN_BODY).toString('utf8'),
    ...(body.length > SHOWN_BODY ? [`… ${countText(body.length)} bytes in total`] : []),
  ];
}
