import type { ChannelChange } from '../../events/channels/channel-change.ts';
import { readDevice, readUnregister, type DeviceWarning } from '../../events/channels/device.ts';
import { RefusedChange } from '../../events/channels/fields.ts';
import { readLink, readUnlink } from '../../events/channels/messenger.ts';
import { readSubscription, readUnsubscription } from '../../events/channels/web-push.ts';
import type { JsonObject } from '../../events/json.ts';
import { renderFailure, type Answer } from '../http/render.ts';
import type { ChannelRequest, ChannelRoute } from './channel-server.ts';
import type { CommandWriter } from '../../ingest/command-writer.ts';

interface RegistrationPorts {
  writer: Pick<CommandWriter, 'write'>;
  /** Push is configured in this installation; without it there is no POST /v1/devices. */
  hasPush: boolean;
}

/** What a body says, and what was stored differently. */
interface Read {
  change: ChannelChange;
  warnings?: readonly DeviceWarning[];
}

/** How a route writes its answers; that for devices has a shape of its own (ingest 7.1). */
interface AnswerShape {
  done: (warnings: readonly DeviceWarning[]) => Answer;
  refused: (text: string) => Answer;
  unavailable: Answer;
}

const OK: Answer = { status: 200, body: '{"status":"ok"}' };
const UNAVAILABLE_TEXT = 'temporarily unavailable, please retry';

const COMMON: AnswerShape = {
  done: () => OK,
  refused: (message) => renderFailure({ code: 'rejected', message }),
  unavailable: renderFailure({ code: 'unavailable' }),
};

const DEVICES: AnswerShape = {
  done: (warnings) => ({ status: 200, body: JSON.stringify({ status: 'ok', warnings }) }),
  refused: (error) => deviceFailure(400, error),
  unavailable: deviceFailure(503, UNAVAILABLE_TEXT),
};

/** The text stands under both names: those of this route, and of what refuses before a route. */
const MALFORMED_DEVICE: Answer = {
  status: 400,
  body: JSON.stringify({
    ...{ status: 'error', message: 'malformed JSON' },
    ...{ error: 'malformed JSON', warnings: [] },
  }),
};

function deviceFailure(status: number, error: string): Answer {
  return { status, body: JSON.stringify({ error, warnings: [] }) };
}

/** The routes that change by what people can be reached (ingest 4.2, 7.4). */
export function registrationRoutes({ writer, hasPush }: RegistrationPorts): ChannelRoute[] {
  const route = (
    path: string,
    fields: readonly string[],
    read: (body: JsonObject) => Read,
    shape: AnswerShape = COMMON,
  ): ChannelRoute => ({
    method: 'POST',
    path,
    fields,
    answer: (request) => register({ request, read, shape, writer }),
  });
  const plain = (read: (body: JsonObject) => ChannelChange) => (body: JsonObject) => ({
    change: read(body),
  });
  const devices: ChannelRoute = {
    ...route('/v1/devices', DEVICE_FIELDS, readDevice, DEVICES),
    malformed: MALFORMED_DEVICE,
  };
  const chat = ['user_id', 'platform', 'chat_id'];
  return [
    ...(hasPush ? [devices] : []),
    route('/v1/devices/unregister', ['device_id'], plain(readUnregister)),
    route('/v1/webpush/subscribe', ['user_id', 'subscription'], plain(readSubscription)),
    route('/v1/webpush/unsubscribe', ['endpoint'], plain(readUnsubscription)),
    route('/v1/messenger/link', chat, plain(readLink)),
    route('/v1/messenger/unlink', chat, plain(readUnlink)),
  ];
}

const DEVICE_FIELDS = [
  ...['device_id', 'user_id', 'anonymous_id', 'platform', 'push_token', 'push_provider'],
  ...['app_version', 'os_version', 'model', 'locale', 'timezone'],
];

async function register({
  request,
  read,
  shape,
  writer,
}: {
  request: ChannelRequest;
  read: (body: JsonObject) => Read;
  shape: AnswerShape;
  writer: Pick<CommandWriter, 'write'>;
}): Promise<Answer> {
  let found: Read;
  try {
    found = read(request.body);
  } catch (error) {
    if (error instanceof RefusedChange) return shape.refused(error.message);
    throw error;
  }
  const { principal, trace, receivedAt } = request;
  const facts = { principal, trace, receivedAt, source: 'sdk' };
  const isDurable = await writer.write(found.change, facts);
  return isDurable ? shape.done(found.warnings ?? []) : shape.unavailable;
}
