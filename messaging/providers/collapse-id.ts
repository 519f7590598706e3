import { hash } from 'node:crypto';

/**
 * 32 base64url characters of the hash of a message id. Push services and devices replace a message
 * by a later one with the same id, so that a message that was sent twice is shown once. As a Topic
 * of web push it may not be longer (RFC 8030, 5.4).
 */
export function collapseId(messageId: string): string {
  return hash('sha256', messageId, 'base64url').slice(0, 32);
}
