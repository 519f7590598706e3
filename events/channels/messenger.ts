import type { JsonObject } from '../json.ts';
import { channelChange, MESSENGERS, type ChannelChange, type Messenger } from './channel-change.ts';
import { optionalId, optionalText, RefusedChange, withinBytes } from './fields.ts';

const MAX_CHAT_ID_BYTES = 256;
const LINK = 'user_id, chat_id and a known platform are required';
const UNLINK = 'user_id and a known platform are required';

/**
 * Reads the body of POST /v1/messenger/link. Throws RefusedChange with the text for the client, and
 * MalformedEnvelope for a field of another JSON type.
 */
export function readLink(body: JsonObject): ChannelChange {
  const userId = optionalId(body, 'user_id');
  const platform = knownMessenger(body);
  const chatId = readChatId(body);
  if (userId === '' || chatId === '' || !platform) throw new RefusedChange(LINK);
  return channelChange({
    ...{ kind: 'messenger_linked', channel: platform },
    ...{ user_id: userId, address_id: chatId },
  });
}

/**
 * Reads the body of POST /v1/messenger/unlink: without a chat_id, all chats of the user on the
 * platform are unlinked. Throws as `readLink`.
 */
export function readUnlink(body: JsonObject): ChannelChange {
  const userId = optionalId(body, 'user_id');
  const platform = knownMessenger(body);
  if (userId === '' || !platform) throw new RefusedChange(UNLINK);
  return channelChange({
    ...{ kind: 'messenger_unlinked', channel: platform },
    ...{ user_id: userId, address_id: readChatId(body) },
  });
}

function knownMessenger(body: JsonObject): Messenger | undefined {
  const platform = optionalText(body, 'platform');
  return MESSENGERS.find((known) => known === platform);
}

/** Bots know chats by numbers or texts; a number is kept as its text. */
function readChatId(body: JsonObject): string {
  const sent = body['chat_id'];
  if (typeof sent !== 'number')
    return withinBytes(optionalText(body, 'chat_id'), {
      field: 'chat_id',
      bytes: MAX_CHAT_ID_BYTES,
    });
  if (!Number.isSafeInteger(sent))
    throw new RefusedChange('chat_id is not an exact integer: send it as a string');
  return String(sent);
}
