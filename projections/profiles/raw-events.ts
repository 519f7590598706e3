import { eventNameOf, idText } from '../../events/event-name.ts';
import { jsonObject } from '../../events/json.ts';
import type { ContextReader } from '../../events/normalise.ts';
import { readAmounts } from '../../events/property-bytes.ts';
import { wholeRows, type ItemToNormalise, type RowMaker } from '../../events/raw/decide.ts';
import { PLACE, PLACES } from '../../events/raw/scan-events.ts';
import { revenueOf } from '../../events/revenue.ts';
import { normaliseTraits } from '../../events/traits.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { ProfileEvent } from './profile.ts';

/** What a rebuild reads of an event of events.raw: with what identifies it. */
export type RawProfileEvent = ProfileEvent & Pick<EventRow, 'message_id' | '_dedupe_id'>;

/**
 * Makes what the fold reads of an event (PROFILE_EVENT_FIELDS), to the values that normaliseEvent
 * gives, and leaves the rest of the event as it is.
 */
export function profileEvents(contexts: ContextReader): RowMaker<RawProfileEvent> {
  const whole = wholeRows(contexts);
  return (item) => scannedEvent(item) ?? whole(item);
}

const NOTHING: Readonly<Record<string, never>> = {};

/** Undefined for an event that must be made a value first. */
function scannedEvent({ decoded, item, position }: ItemToNormalise): RawProfileEvent | undefined {
  const { record, scanned, bytes } = decoded;
  if (!scanned) return undefined;
  const { places } = scanned;
  const first = item.at * PLACES;
  const textAt = (place: number): string => {
    const end = places[first + place + 1] ?? 0;
    return end === 0 ? '' : bytes.toString('utf8', places[first + place], end);
  };
  const properties = places[first + PLACE.PROPERTIES] ?? 0;
  let revenue = 0;
  if (properties > 0 && item.type !== 'identify') {
    const amounts = readAmounts(bytes, properties);
    if (!amounts) return undefined;
    revenue = revenueOf(amounts);
  }
  const traitsStart = places[first + PLACE.TRAITS] ?? 0;
  const traitsEnd = places[first + PLACE.TRAITS + 1] ?? 0;
  const traits =
    traitsEnd - traitsStart > 2
      ? normaliseTraits(jsonObject(decoded.parse(traitsStart, traitsEnd)))
      : undefined;
  return {
    _epoch: position.epoch,
    _partition: position.partition,
    _offset: position.offset,
    _index: position.index,
    _dedupe_id: item.dedupe_id ?? '',
    account_id: record.account_id,
    message_id: item.message_id,
    event: eventNameOf(item.type, textAt(PLACE.EVENT)),
    user_id: idText(textAt(PLACE.USER_ID)),
    anonymous_id: idText(textAt(PLACE.ANONYMOUS_ID)),
    timestamp: item.timestamp,
    received_at: record.received_at,
    revenue,
    traits: traits?.text ?? NOTHING,
    trait_numbers: traits?.numbers ?? NOTHING,
    profile: traits?.columns ?? NOTHING,
  };
}
