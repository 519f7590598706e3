import { hash } from 'node:crypto';
import { isJsonObject, jsonObject, type JsonObject } from '../json.ts';
import { textField } from './fields.ts';
import { present, skip, type MappedEvent, type SourceMapping } from './mapping.ts';
import { messageId } from './message-id.ts';
import { deliveryTime } from './times.ts';

const SOURCE = 'event_pipeline';

/**
 * The event of a pipeline call. Types that are not listed are dropped (alias and group among them).
 */
type Call = (
  item: JsonObject,
) => Pick<MappedEvent, 'type' | 'event' | 'properties' | 'traits' | 'context'>;

const CALLS: Readonly<Record<string, Call>> = {
  track: (item) => ({ type: 'track', event: textField(item, 'event'), ...propertiesOf(item) }),
  identify: (item) => ({ type: 'identify', ...traitsOfItem(item) }),
  page: (item) => ({
    type: 'page',
    event: textField(item, 'name') || 'page',
    ...propertiesOf(item),
    ...pageContext(item),
  }),
  screen: (item) => ({
    type: 'screen',
    event: textField(item, 'name') || 'screen',
    ...propertiesOf(item),
  }),
};

/**
 * Calls of the event pipeline, one or {batch: […]}. An item that is not an event, or has neither
 * userId nor anonymousId, is dropped; the others are accepted.
 */
export const mapEventPipeline: SourceMapping = (body) => {
  const { batch } = body;
  const items = Array.isArray(batch) ? batch : [body];
  const events = items.flatMap((item) => (isJsonObject(item) ? (mapItem(item, body) ?? []) : []));
  return events.length > 0 ? { outcome: 'events', events } : skip('no event in the body');
};

function mapItem(item: JsonObject, body: JsonObject): MappedEvent | undefined {
  const type = textField(item, 'type');
  const call = Object.hasOwn(CALLS, type) ? CALLS[type] : undefined;
  const userId = textField(item, 'userId');
  const anonymousId = textField(item, 'anonymousId');
  if (!call || (userId === '' && anonymousId === '')) return undefined;
  const context = jsonObject(item['context']) ?? jsonObject(body['context']);
  const mapped = call(item);
  const id = textField(item, 'messageId') || derivedId(mapped.type, item);
  if (id === undefined) return undefined;
  const timestamp = deliveryTime(textField(item, 'timestamp'));
  return {
    ...(context ? { context } : {}),
    ...mapped,
    ...(userId === '' ? {} : { user_id: userId }),
    ...(anonymousId === '' ? {} : { anonymous_id: anonymousId }),
    message_id: id,
    ...(timestamp === undefined ? {} : { timestamp }),
  };
}

const DERIVED_DIGITS = 32;

/**
 * The message id of an item without messageId, derived from its content so that a repeated delivery
 * is a duplicate. Undefined for an item that nests too deeply to be serialised.
 */
function derivedId(type: string, item: JsonObject): string | undefined {
  try {
    return messageId(
      SOURCE,
      type,
      hash('sha256', JSON.stringify(item), 'hex').slice(0, DERIVED_DIGITS),
    );
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function propertiesOf(item: JsonObject): { properties?: JsonObject } {
  const properties = jsonObject(item['properties']);
  return properties ? { properties } : {};
}

function traitsOfItem(item: JsonObject): { traits?: JsonObject } {
  const traits = jsonObject(item['traits']);
  return traits ? { traits } : {};
}

/** Reports read the page from context.page; servers and apps send it only among the properties. */
function pageContext(item: JsonObject): { context?: JsonObject } {
  const context = jsonObject(item['context']);
  const properties = jsonObject(item['properties']);
  if (!properties || jsonObject(context?.['page'])) return {};
  const fields = ['url', 'path', 'title', 'referrer'].map(
    (field) => [field, textField(properties, field)] as const,
  );
  const page = present(Object.fromEntries(fields));
  return Object.keys(page).length === 0 ? {} : { context: { ...context, page } };
}
