import type { TrackedRequest, TrackedRoute } from '../tracking/tracked-server.ts';
import { NOT_FOUND, type TextAnswer } from '../tracking/text-answer.ts';
import { UNAVAILABLE_PAGE } from './failure-pages.ts';
import { isAnswer, personOf, recordConsent, type PagePorts } from './page-requests.ts';
import { readForm, type FormFields } from './read-form.ts';
import { UNSUBSCRIBE_TEXT, unsubscribePage } from './unsubscribe-page.ts';

/** The version of the text when there was none: a mail program asked (RFC 8058). */
const ONE_CLICK = 'one-click';

/**
 * GET and POST /e/u/{token}. A GET changes nothing: link scanners and proxies fetch everything. A
 * POST unsubscribes from the marketing messages of the channel, whatever its body says: a person
 * or a mail program sent it, and nobody who wants to leave is kept for a malformed form.
 */
export function unsubscribeRoutes(ports: PagePorts): TrackedRoute[] {
  const route = { path: '/e/u/:token', purpose: 'unsubscribe', unavailable: UNAVAILABLE_PAGE };
  return [
    { ...route, method: 'GET', answer: (asked) => show(ports, asked) },
    { ...route, method: 'POST', answer: (asked) => unsubscribe(ports, asked) },
  ] as TrackedRoute[];
}

async function show(ports: PagePorts, { tracked }: TrackedRequest): Promise<TextAnswer> {
  if (!tracked) return NOT_FOUND;
  const person = await personOf(ports, tracked);
  if (isAnswer(person)) return person;
  const { channel, accountName, consents } = person;
  const stage = consents.get(channel) === 'unsubscribed' ? 'done_before' : 'asks';
  const preferences = ports.tokens.write('preferences', tracked);
  return unsubscribePage({ stage, channel, accountName, preferences });
}

async function unsubscribe(
  ports: PagePorts,
  asked: TrackedRequest,
): Promise<TextAnswer | undefined> {
  const { tracked, request } = asked;
  if (!tracked) return NOT_FOUND;
  const form = await readForm(request, { budget: ports.budget, accountId: tracked.accountId });
  if ('answer' in form) return form.answer;
  const person = await personOf(ports, tracked);
  if (isAnswer(person)) return person;
  const { userId, channel, accountName } = person;
  const textVersion = isOneClick(form.fields) ? ONE_CLICK : UNSUBSCRIBE_TEXT;
  const change = { userId, channel, state: 'unsubscribed', textVersion } as const;
  const isDurable = await recordConsent(ports, { ...asked, tracked }, change);
  const preferences = ports.tokens.write('preferences', tracked);
  const stage = isDurable ? 'done' : 'failed';
  return unsubscribePage({ stage, channel, accountName, preferences });
}

/** RFC 8058, 3.1. */
function isOneClick(fields: FormFields): boolean {
  const [, value = ''] =
    [...fields].find(([name]) => name.toLowerCase() === 'list-unsubscribe')?.flat() ?? [];
  return value.toLowerCase() === 'one-click';
}
