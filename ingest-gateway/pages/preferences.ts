import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import {
  chosenConsents,
  type ConsentState,
  type PreferenceForm,
} from '../../events/channels/chosen-consents.ts';
import type { TrackedRequest, TrackedRoute } from '../tracking/tracked-server.ts';
import { NOT_FOUND, type TextAnswer } from '../tracking/text-answer.ts';
import { INCOMPLETE_PAGE, UNAVAILABLE_PAGE } from './failure-pages.ts';
import { isAnswer, personOf, recordConsent, type PagePorts } from './page-requests.ts';
import { PREFERENCES_TEXT, preferencesPage } from './preferences-page.ts';
import { JUST_DONE } from './unsubscribe-page.ts';
import { readForm, type FormFields } from './read-form.ts';

/** GET and POST /e/p/{token}: the channels of the account, and whether the person wants them. */
export function preferencesRoutes(ports: PagePorts): TrackedRoute[] {
  const route = { path: '/e/p/:token', purpose: 'preferences', unavailable: UNAVAILABLE_PAGE };
  return [
    { ...route, method: 'GET', answer: (asked) => show(ports, asked) },
    { ...route, method: 'POST', answer: (asked) => save(ports, asked) },
  ] as TrackedRoute[];
}

async function show(ports: PagePorts, { tracked, request }: TrackedRequest): Promise<TextAnswer> {
  if (!tracked) return NOT_FOUND;
  const person = await personOf(ports, tracked);
  if (isAnswer(person)) return person;
  const { accountName, consents } = person;
  // A change that is durable becomes visible in PostgreSQL a moment later.
  const done = new URLSearchParams((request.url ?? '').split('?')[1]).getAll(JUST_DONE);
  const shown = new Map(
    [...consents].map(([channel, state]) => [
      channel,
      done.includes(channel) ? 'unsubscribed' : state,
    ]),
  );
  return preferencesPage({ stage: 'asks', accountName, shown, checked: subscribedOf(shown) });
}

async function save(ports: PagePorts, asked: TrackedRequest): Promise<TextAnswer | undefined> {
  const { tracked, request } = asked;
  if (!tracked) return NOT_FOUND;
  const sent = await readForm(request, { budget: ports.budget, accountId: tracked.accountId });
  if ('answer' in sent) return sent.answer;
  const form = preferenceForm(sent.fields);
  // An empty or foreign body would read as a form with nothing checked.
  if (form.shown.size === 0) return INCOMPLETE_PAGE;
  const person = await personOf(ports, tracked);
  if (isAnswer(person)) return person;
  const { accountName, consents, userId } = person;
  const changes = chosenConsents(consents, form);
  for (const [channel, state] of changes) {
    const change = { userId, channel, state, textVersion: PREFERENCES_TEXT };
    // What is durable already is the same again when the form is sent again.
    if (!(await recordConsent(ports, { ...asked, tracked }, change)))
      return preferencesPage({ stage: 'failed', accountName, ...form });
  }
  const shown = new Map([...consents, ...changes]);
  return preferencesPage({ stage: 'saved', accountName, shown, checked: subscribedOf(shown) });
}

function subscribedOf(states: ReadonlyMap<Channel, ConsentState>): Set<Channel> {
  return new Set([...states].filter(([, state]) => state === 'subscribed').map(([one]) => one));
}

/** What the form of preferences-page.ts sends. */
function preferenceForm(fields: FormFields): PreferenceForm {
  const shown = new Map<Channel, ConsentState>();
  for (const entry of fields.get('shown') ?? []) {
    const [name = '', state] = entry.split(':');
    if (isChannel(name) && (state === 'subscribed' || state === 'unsubscribed'))
      shown.set(name, state);
  }
  return { shown, checked: new Set((fields.get('on') ?? []).filter(isChannel)) };
}

function isChannel(name: string): name is Channel {
  return (CHANNELS as readonly string[]).includes(name);
}
