import type { Schema } from '../../platform/http/openapi.ts';
import type { Operation } from './operation.ts';

const SERVED = 'Served when TRACKING_KEYS is set; no CORS headers.';
const token: Schema = { type: 'string', description: 'The token of the message, for this page' };
const PAGE_HEADERS: Record<string, Schema> = {
  'Cache-Control': { const: 'no-store' },
  'Content-Security-Policy': { type: 'string' },
};
const UNKNOWN = { 404: 'no such token' };
const FORM = { 400: 'the body cannot be decoded', 413: 'the body exceeds 64 KiB' };
const FORM_TYPE = 'application/x-www-form-urlencoded';
const PREFERENCES: Schema = {
  type: 'object',
  required: ['shown'],
  properties: {
    shown: {
      ...{ type: 'array', items: { type: 'string' } },
      description: 'The states that the page showed, as CHANNEL:subscribed or :unsubscribed',
    },
    on: {
      ...{ type: 'array', items: { type: 'string' } },
      description: 'The channels that are checked',
    },
  },
};
const RETRY = { 503: 'nothing can be read or recorded: a page that asks to try again' };

function page(
  facts: Pick<Operation, 'summary' | 'description' | 'plain' | 'pages' | 'accepts'>,
  done: string,
): Operation {
  return {
    ...facts,
    description: `${facts.description ?? ''} ${SERVED}`.trim(),
    auth: 'own',
    done: { status: 200, description: done, type: 'text/html', headers: PAGE_HEADERS },
    refusals: [],
    plain: { ...facts.plain, ...UNKNOWN },
    pages: { ...facts.pages, ...RETRY },
    path: { token },
  };
}

/** By method and path: pages of messages and the bounce intake (ingest 4.2, 4.8). */
export const TRACKING_OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /e/o/:token': {
    summary: 'The open pixel of a message',
    description: `The open is recorded after the answer; a HEAD is no open. ${SERVED}`,
    auth: 'own',
    done: {
      ...{ status: 200, description: 'an image of 43 bytes', type: 'image/gif' },
      headers: PAGE_HEADERS,
    },
    refusals: [],
    plain: { ...UNKNOWN, 503: 'temporarily unavailable, please retry' },
    path: { token },
  },
  'GET /e/u/:token': page(
    { summary: 'Asks whether a person wants to unsubscribe', description: 'Changes nothing.' },
    'a page with a form',
  ),
  'POST /e/u/:token': page(
    {
      summary: 'Unsubscribes a person from the marketing messages of a channel',
      description: 'Also the one click of RFC 8058, urlencoded or multipart.',
      accepts: {
        [FORM_TYPE]: { type: 'object', properties: { 'List-Unsubscribe': { const: 'One-Click' } } },
        'multipart/form-data': { type: 'object' },
      },
      plain: FORM,
    },
    'durable: a page that says so',
  ),
  'GET /e/p/:token': page(
    { summary: 'The preference centre of a person', description: 'Changes nothing.' },
    'a page with a form of the channels',
  ),
  'POST /e/p/:token': page(
    {
      summary: 'Saves the form of the preference centre',
      description: 'It unsubscribes from what is shown and not on.',
      accepts: { [FORM_TYPE]: PREFERENCES, 'multipart/form-data': PREFERENCES },
      plain: { 413: FORM[413] },
      pages: { 400: 'the body is no form of this page, or is not decodable; nothing changed' },
    },
    'durable: the page with the new state',
  ),
  'POST /v1/bounce/:local': {
    summary: 'Accepts a mail that came to a bounce address',
    description: `The body is the raw mail: a report, a complaint or an automatic reply. Hard bounces and complaints suppress the address, and so do five soft ones within 14 days. ${SERVED}`,
    auth: 'own',
    accepts: { 'message/rfc822': { type: 'string', description: 'At most 1 MiB' } },
    done: {
      ...{ status: 200, type: 'text/plain' },
      description: 'durable, or nothing to change: the text ok',
    },
    refusals: [],
    plain: {
      400: 'the mail cannot be read',
      404: 'no such local part',
      413: 'the mail exceeds 1 MiB',
      503: 'temporarily unavailable, please retry',
    },
    path: { local: { type: 'string', description: 'The local part of the bounce address' } },
  },
};
